"""`etcdq worker`: run an application's consumers."""

import logging
import random
import sys
from functools import partial
from pathlib import Path

import click
import structlog
import trio

from etcdq.cli.beanstalk import address_option
from etcdq.endpoint import Endpoint, read_authority
from etcdq.errors import InvalidArgumentError
from etcdq.worker.link import Server
from etcdq.worker.parent import Parent
from etcdq.worker.process import WorkerProcess
from etcdq.worker.roles import ALL, load_consumers

_UNITS = {"s": 1, "m": 60, "h": 3600}


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Read a time: 30, 30s, 5m or 1h."""
    unit = _UNITS.get(value[-1:])
    try:
        seconds = float(value[:-1] if unit else value) * (unit or 1)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise click.BadParameter(f"{value!r} is no time such as 30s, 5m or 1h")
    return seconds


def _endpoint(ctx: click.Context, param: click.Parameter, value: str | None) -> Endpoint | None:
    """Read PORT or HOST:PORT."""
    if value is None:
        return None
    endpoint = read_authority(f"127.0.0.1:{value}" if value.isdecimal() else value, 0)
    if endpoint is None:
        raise click.BadParameter(f"{value!r} is not of the form PORT or HOST:PORT")
    return endpoint


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
    callback=_seconds,
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
    callback=_endpoint,
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
    _set_up_logs()
    try:
        server = Server(address)
        if processes > 1 or reload:
            options = ["--role", role, "--grace", f"{grace_s}", "--addr", str(server.endpoint)]
            if connect_tries is not None:
                options += ["--connect-tries", str(connect_tries)]
            command = partial(_child, [*options, "--", module], health)
            watched = Path.cwd() if reload else None
            parent = Parent(command, processes, grace_s, random.Random(), watched)
            return trio.run(parent.run)
        sys.path.insert(0, str(Path.cwd()))
        consumers = load_consumers(module, role, Path.cwd())
    except InvalidArgumentError as error:
        raise click.UsageError(error.text, click.get_current_context()) from error
    process = WorkerProcess(consumers, server, grace_s, connect_tries, health)

    async def run() -> int:
        return await process.run(parent=child)

    return trio.run(run)


def _child(options: list[str], health: Endpoint | None, place: int) -> list[str]:
    """Return the command of the child at a place."""
    probes: list[str] = []
    if health is not None:
        probes = ["--health", str(Endpoint(health.host, health.port + place))]
    return [sys.executable, "-m", "etcdq", "worker", "--child", *probes, *options]


def _set_up_logs() -> None:
    """Write a line for each event to the standard error; an application may have its own way."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
