"""What the commands that talk to a beanstalk server have in common."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
import trio

from etcdq import beanstalk
from etcdq.beanstalk.address import DEFAULT_ADDRESS, ENVIRONMENT_NAMES
from etcdq.cli.client import run_told
from etcdq.errors import DeadlineExceededError

T = TypeVar("T")

ANSWER_S = 10.0
"""How long a server may take to answer what it need not wait for."""
DEFAULT_TUBE = "default"

address_option = click.option(
    "-a",
    "--addr",
    "address",
    metavar="ADDRESS",
    envvar=ENVIRONMENT_NAMES,
    show_envvar=True,
    help=f"Server: HOST:PORT, beanstalk://HOST:PORT or unix:PATH.  [default: {DEFAULT_ADDRESS}]",
)
tube_option = click.option(
    "-t", "--tube", default=DEFAULT_TUBE, show_default=True, help="Name of the tube."
)


def run(function: Callable[..., Awaitable[T]], address: str | None, *args: Any) -> T:
    """Connect, await `function(client, *args)`, and return what it returns.

    Raises:
        click.ClickException: any `EtcdqError`: one line, exit code 1, or 2 for a wrong value.
    """

    async def connected() -> T:
        async with beanstalk.connect(address) as client:
            return await function(client, *args)

    return run_told(connected)


def ask(function: Callable[..., Awaitable[T]], address: str | None, *args: Any) -> T:
    """Do as `run` does, for what a server answers at once."""

    async def in_time(client: beanstalk.Client) -> T:
        with answer_due(client):
            return await function(client, *args)

    return run(in_time, address)


@contextmanager
def answer_due(client: beanstalk.Client, wait_s: float = 0.0) -> Iterator[None]:
    """Let what is awaited in this block take no longer than a server may.

    Args:
        client: for the text.
        wait_s: how long the server was told that it may wait first, in seconds.

    Raises:
        DeadlineExceededError: it did.
    """
    limit_s = wait_s + ANSWER_S
    try:
        with trio.fail_after(limit_s):
            yield
    except trio.TooSlowError as error:
        text = f"no answer from {client.address} within {limit_s:g} s"
        raise DeadlineExceededError(text) from error
