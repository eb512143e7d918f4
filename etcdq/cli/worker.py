"""`etcdq worker`: run an application's consumers."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from etcdq.cli.beanstalk import address_option
from etcdq.endpoint import Endpoint
from etcdq.errors import InvalidArgumentError
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.launch import Launch, read_probe, read_seconds, set_up_logs
from etcdq.worker.link import Server
from etcdq.worker.roles import ALL, load_consumers

T = TypeVar("T")


def _read(reader: Callable[[str], T]) -> Callable[..., T | None]:
    """Make what reads the value of an option, and tells what is wrong with it."""

    def callback(ctx: click.Context, param: click.Parameter, value: str | None) -> T | None:
        try:
            return None if value is None else reader(value)
        except InvalidArgumentError as error:
            raise click.BadParameter(error.text) from error

    return callback


@click.command()
@click.argument("module", metavar="MODULE[:OBJECT]")
@click.option("--role", default=ALL, show_default=True, help="Run the consumers of this role.")
@click.option(
    "--processes",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many processes; each runs all consumers of the role.",
)
@click.option(
    "--grace",
    "grace_s",
    default="30s",
    show_default=True,
    callback=_read(read_seconds),
    help="How long what runs may take to end when the worker stops.",
)
@click.option(
    "--connect-tries",
    type=click.IntRange(min=1),
    help="Give up after so many attempts to connect in a row.  [default: never]",
)
@click.option(
    "--health",
    metavar="[HOST:]PORT",
    callback=_read(read_probe),
    help="Answer probes there: /live, /ready and /metrics; each further process, one port higher."
    "  [default: nowhere]",
)
@click.option("--reload", is_flag=True, help="Begin anew when a Python file here changes.")
@click.option("--child", is_flag=True, hidden=True, help="A parent holds the standard input.")
@address_option
def worker(
    module: str,
    role: str,
    processes: int,
    grace_s: float,
    connect_tries: int | None,
    health: Endpoint | None,
    reload: bool,
    child: bool,
    address: str | None,
) -> int:
    """Run the consumers of MODULE: subclasses of TubeConsumer, and decorated functions.

    A role is a list of consumers in ROLES of the module, or in [tool.etcdq.roles] of
    pyproject.toml.

    SIGTERM or SIGINT: nothing more is reserved, what has not started is handed back, what runs
    has --grace to end. A second signal hands back what runs, and ends now.

    Exit codes: 0 stopped by a signal and all finished, 1 the server could not be reached or used,
    or the worker failed, 2 wrong usage, 3 a process kept dying, 4 the grace was over before all
    had finished, 130 or 143 a second signal (SIGINT, SIGTERM).
    """
    set_up_logs()
    launch = Launch(
        processes=processes,
        grace_s=grace_s,
        connect_tries=connect_tries,
        health=health,
        reload=reload,
        child=child,
    )

    def load() -> list[TubeConsumer]:
        sys.path.insert(0, str(Path.cwd()))
        return load_consumers(module, role, Path.cwd())

    try:
        server = Server(address)
        options = ["--role", role, "--addr", str(server.endpoint)]
        command = [sys.executable, "-m", "etcdq", "worker"]
        return launch.run(load, server, lambda flags: [*command, *flags, *options, "--", module])
    except InvalidArgumentError as error:
        raise click.UsageError(error.text, click.get_current_context()) from error
