"""What the commands that talk to a server have in common."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
import trio

import etcdq

T = TypeVar("T")

ENDPOINTS_HELP = (
    "Servers to try, separated by commas: HOST:PORT, http://HOST:PORT or unix://PATH."
    "  [default: 127.0.0.1:2379]"
)

endpoints_option = click.option(
    "--endpoints",
    metavar="ENDPOINTS",
    envvar="ETCDQ_ENDPOINTS",
    show_envvar=True,
    help=ENDPOINTS_HELP,
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def run(function: Callable[..., Awaitable[T]], endpoints: str | None, *args: Any) -> T:
    """Connect, await `function(client, *args)`, and return what it returns.

    Raises:
        click.ClickException: any `EtcdqError`: one line, exit code 1, or 2 for a wrong value.
    """

    async def connected() -> T:
        async with etcdq.connect(*([endpoints] if endpoints else [])) as client:
            return await function(client, *args)

    try:
        with interrupt_aborts():
            return trio.run(connected)
    except etcdq.InvalidArgumentError as error:
        raise click.UsageError(_plain(error), click.get_current_context()) from error
    except etcdq.EtcdqError as error:
        raise click.ClickException(_plain(error)) from error


@contextmanager
def interrupt_aborts() -> Iterator[None]:
    """Turn Ctrl-C into click.Abort, also where it hit a task and comes in exception groups."""
    try:
        yield
    except KeyboardInterrupt:
        raise click.Abort from None
    except BaseExceptionGroup as group:
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        raise click.Abort from None


def _plain(error: etcdq.EtcdqError) -> str:
    return error.text.removeprefix("etcdq: ")  # a server names itself, and so do we
