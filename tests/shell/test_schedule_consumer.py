"""The consumer of scheduled jobs, on a node in this process: once, or not at all."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from etcdq.beanstalk import Client
from etcdq.errors import InvalidArgumentError
from etcdq.schedule.consumer import DispatchConsumer
from etcdq.schedule.dispatch import DispatchError
from etcdq.worker import ReservedJob
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.worker_world import at_work, client_of, put, until

ran: list[Any] = []


class Poller:
    """A class with a plain `perform`."""

    def perform(self, *args: Any) -> None:
        ran.append(("Poller", *args))


class Fetcher:
    """A class with an async `perform`."""

    async def perform(self) -> None:
        await trio.lowlevel.checkpoint()
        ran.append("Fetcher")


async def fetch(url: str) -> None:
    """An async function."""
    await trio.lowlevel.checkpoint()
    ran.append(("fetch", url))


def fail() -> None:
    """Fails."""
    ran.append("fail")
    raise ConnectionError("never")


class Dispatch(DispatchConsumer):
    """Notes what it gives up."""

    tubes = ("t",)
    allowed: Mapping[str, Callable[..., Any]] = {
        "Poller": Poller,
        "Fetcher": Fetcher,
        "fetch": fetch,
        "fail": fail,
    }

    def __init__(self) -> None:
        super().__init__()
        self.given_up: list[BaseException] = []

    async def on_give_up(self, job: ReservedJob, error: BaseException) -> None:
        self.given_up.append(error)


@asynccontextmanager
async def dispatching(
    world: BeanstalkWorld, *bodies: bytes
) -> AsyncIterator[tuple[Dispatch, Client]]:
    """Let bodies be dispatched, until none of them is there any more."""
    ran.clear()
    async with client_of(world) as client:
        await put(client, *bodies)
        dispatch = Dispatch()
        async with at_work(world, dispatch):
            await until(lambda: dispatch.statistics().done + len(dispatch.given_up) == len(bodies))
            yield dispatch, client


@with_a_node
async def test_what_is_allowed_runs(world: BeanstalkWorld) -> None:
    """Classes and functions, plain and async, with their arguments."""
    bodies = (
        b'{"class":"Poller","args":[1,"a"],"slot":"2026-06-01T12:00:00Z"}',
        b'{"class":"Fetcher"}',
        b'{"task":"fetch","args":["http://here"],"late":true}',
    )
    async with dispatching(world, *bodies) as (dispatch, _):
        assert ran == [("Poller", 1, "a"), "Fetcher", ("fetch", "http://here")]
        assert dispatch.statistics().done == 3


@with_a_node
async def test_a_failure_is_not_tried_again(world: BeanstalkWorld) -> None:
    """A job that failed is given up and deleted: no key of it holds the next slot back."""
    async with dispatching(world, b'{"task":"fail"}') as (dispatch, client):
        await trio.sleep(1000)
        assert ran == ["fail"]
        assert [str(error) for error in dispatch.given_up] == ["never"]
        figures = await client.stats_tube("t")
        assert figures.count("cmd-delete") == 1
        assert figures.count("current-jobs-buried") == 0


@with_a_node
async def test_what_is_not_allowed_does_not_run(world: BeanstalkWorld) -> None:
    """Whoever may put into the tube cannot run what is not on the list."""
    async with dispatching(world, b'{"task":"os.getpid"}', b"no JSON") as (dispatch, _):
        assert ran == []
        assert [type(error) for error in dispatch.given_up] == [DispatchError] * 2


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        ({}, "Wrong: allowed is empty"),
        ({"a": int}, "Wrong: allowed 'a' has no perform"),
        ({"a": "os.getpid"}, "Wrong: allowed 'a' has no perform"),
    ],
)
def test_a_list_that_is_wrong(allowed: Any, told: str) -> None:
    """A worker says at its start what could never run."""
    wrong = type("Wrong", (DispatchConsumer,), {"tubes": ("t",), "allowed": allowed})

    with pytest.raises(InvalidArgumentError, match=told):
        wrong().check()
    Dispatch().check()
