"""The command line `etcdq`; a command's module is imported when it is the one that runs."""

import importlib
import sys

import click

import etcdq

_COMMANDS = {
    "serve": ("etcdq.cli.serve:serve", "Run a node."),
    "demo": ("etcdq.cli.demo:demo", "Show a node at work."),
    "produce": ("etcdq.cli.produce:produce", "Put messages into a queue."),
    "consume": ("etcdq.cli.consume:consume", "Take messages from a queue."),
    "queue": ("etcdq.cli.queue:queue", "Look at queues and tend them."),
    "put": ("etcdq.cli.put:put", "Put jobs into a tube."),
    "work": ("etcdq.cli.work:work", "Run the jobs of a tube as shell commands."),
    "schedule": ("etcdq.cli.schedule:schedule", "Put the jobs of a schedule file in time."),
    "worker": ("etcdq.cli.worker:worker", "Run an application's consumers."),
    "tubes": ("etcdq.cli.tubes:tubes", "List the tubes and how many jobs they have."),
    "stats": ("etcdq.cli.tubes:stats", "Show the statistics of a server or of a tube."),
    "top": ("etcdq.cli.top:top", "Watch the tubes of a server: rates, depths, timings."),
    "peek": ("etcdq.cli.tend:peek", "Look at a job."),
    "kick": ("etcdq.cli.tend:kick", "Make buried or delayed jobs ready."),
    "drain": ("etcdq.cli.tend:drain", "Let a server take no more jobs."),
    "undrain": ("etcdq.cli.tend:undrain", "Let a draining server take jobs again."),
}
"""Where a command is, and what it is in a line: for `--help`, which so loads none of them."""


class LazyGroup(click.Group):
    """A group whose commands are known by name and loaded when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which a newcomer meets them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


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
