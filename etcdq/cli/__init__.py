"""The command line `etcdq`; a command's module is imported when it is the one that runs."""

import importlib
import sys

import click

import etcdq

_COMMANDS = {
    "serve": "etcdq.cli.serve:serve",
    "demo": "etcdq.cli.demo:demo",
    "produce": "etcdq.cli.produce:produce",
    "consume": "etcdq.cli.consume:consume",
    "queue": "etcdq.cli.queue:queue",
}


class LazyGroup(click.Group):
    """A group whose commands are known by name and loaded when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which a newcomer meets them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        place = _COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(cls=LazyGroup)
@click.version_option(etcdq.__version__, prog_name="etcdq", message="%(prog)s %(version)s")
def cli() -> None:
    """A message queue that needs no client of its own: any etcd v3 client is one."""


def main() -> None:
    """Run the command line; what is wrong is told in one line, with click's exit codes."""
    try:
        sys.exit(cli.main(prog_name="etcdq", standalone_mode=False))
    except click.Abort:
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        command = getattr(error, "ctx", None)
        path = command.command_path if command is not None else "etcdq"
        text = " ".join(error.format_message().split())
        print(f"{path}: {text}", file=sys.stderr)
        sys.exit(error.exit_code)
