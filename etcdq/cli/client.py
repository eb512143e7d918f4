"""What the commands that talk to a server have in common."""

import signal
from collections.abc import Awaitable, Callable
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

    return run_told(connected)


def run_told(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run `function(*args)` on Trio, and tell its errors in one line.

    Raises:
        click.ClickException: any `EtcdqError`: exit code 1, or 2 for a wrong value.
        click.Abort: it was interrupted.
    """
    try:
        return run_trio(function, *args)
    except etcdq.InvalidArgumentError as error:
        raise click.UsageError(_plain(error), click.get_current_context()) from error
    except etcdq.EtcdqError as error:
        raise click.ClickException(_plain(error)) from error


def run_trio(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run `function(*args)` on Trio; the first Ctrl-C cancels it, a second one hits where it may.

    Left to itself Trio raises KeyboardInterrupt in whatever runs just then, asyncio's callbacks
    among it, after which a connection may never end.

    Raises:
        click.Abort: it was interrupted.
    """

    interrupted = False

    async def cancelled_by_interrupt() -> T:
        token = trio.lowlevel.current_trio_token()

        def interrupt(*_: object) -> None:
            nonlocal interrupted
            interrupted = True
            signal.signal(signal.SIGINT, before)
            token.run_sync_soon(scope.cancel)

        with trio.CancelScope() as scope:
            before = signal.signal(signal.SIGINT, interrupt)
            try:
                result = await function(*args)
            finally:
                signal.signal(signal.SIGINT, before)
        if interrupted:
            raise click.Abort
        return result

    try:
        return trio.run(cancelled_by_interrupt)
    except KeyboardInterrupt:
        raise click.Abort from None
    except BaseExceptionGroup as group:
        if group.split(KeyboardInterrupt)[1] is not None:
            raise
        raise click.Abort from None


def _plain(error: etcdq.EtcdqError) -> str:
    return error.text.removeprefix("etcdq: ")  # a server names itself, and so do we
