"""The beanstalk client on memory streams: order, cancellation, what a lost connection tells."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from etcdq import beanstalk
from etcdq.beanstalk import Client, Job
from etcdq.beanstalk.connection import open_connection
from etcdq.endpoint import Endpoint

HERE = Endpoint("here", 11300)
PRIORITY_7 = b"OK 11\r\n---\npri: 7\n\r\n"


class Server:
    """The other end: what was written to it, and what it says."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream

    async def heard(self) -> bytes:
        """Return what has come since the last time, once everybody waits."""
        await wait_all_tasks_blocked()
        with trio.move_on_after(0.001):
            return bytes(await self.stream.receive_some(1_000_000))
        return b""

    async def say(self, data: bytes) -> None:
        """Send bytes, and let them be read."""
        await self.stream.send_all(data)
        await wait_all_tasks_blocked()

    async def answer(self, command: bytes, reply: bytes) -> None:
        """Expect exactly this command, and reply."""
        assert await self.heard() == command
        await self.say(reply)


@asynccontextmanager
async def open_pair() -> AsyncIterator[tuple[Client, Server]]:
    """Give a client and the server's side of its stream."""
    ours, theirs = memory_stream_pair()
    async with open_connection(ours, HERE) as connection:
        yield Client(connection), Server(theirs)


class Call:
    """A call in a task of its own, and how it ended."""

    def __init__(self, nursery: trio.Nursery, function: Callable[[], Awaitable[object]]) -> None:
        self.scope = trio.CancelScope()
        self.result: object = None
        nursery.start_soon(self._run, function)

    async def _run(self, function: Callable[[], Awaitable[object]]) -> None:
        with self.scope:
            try:
                self.result = await function()
            except beanstalk.EtcdqError as error:
                self.result = error


# order --------------------------------------------------------------------------------------


async def test_what_is_asked_at_once_is_written_at_once(autojump_clock: MockClock) -> None:
    """Commands of several tasks go out together, and each gets its own answer."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        first = Call(nursery, partial(client.delete, 1))
        await wait_all_tasks_blocked()
        others = {tube: Call(nursery, partial(client.stats_tube, tube)) for tube in ("a", "b")}

        written = await server.heard()
        assert written.startswith(b"delete 1\r\n")
        order = [line.split()[1].decode() for line in written.splitlines()[1:]]
        await server.say(b"DELETED\r\nOK 12\r\n---\nname: x\n\r\nNOT_FOUND\r\n")

        assert first.result is None
        assert isinstance(others[order[0]].result, beanstalk.Statistics)
        assert isinstance(others[order[1]].result, beanstalk.NotFoundError)


async def test_put_many_keeps_its_order(autojump_clock: MockClock) -> None:
    """The puts stand in one write with nothing in between; a refusal stands in its place."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        call = Call(nursery, partial(client.put_many, [b"a", b"b", b"c"], priority=1))
        await server.answer(
            b"put 1 0 60 1\r\na\r\nput 1 0 60 1\r\nb\r\nput 1 0 60 1\r\nc\r\n",
            b"INSERTED 1\r\nOUT_OF_MEMORY\r\nINSERTED 2 READY 5\r\n",
        )

        assert isinstance(call.result, list)
        first, second, third = call.result
        assert first == beanstalk.Inserted(1)
        assert isinstance(second, beanstalk.OutOfMemoryError)
        assert third == beanstalk.Inserted(2, "READY", 5)


async def test_nothing_to_put(autojump_clock: MockClock) -> None:
    """No bodies, no commands."""
    async with open_pair() as (client, server):
        assert await client.put_many([]) == []
        assert await server.heard() == b""


# tags ---------------------------------------------------------------------------------------


async def test_tags_are_asked_for_once(autojump_clock: MockClock) -> None:
    """Before the first put with a tag, the server has to know a command of tuber's."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        for reply in (b"NOT_FOUND\r\n", None):
            Call(nursery, partial(client.put, b"x", idp="k"))
            if reply is not None:
                await server.answer(b"stats-group default\r\n", reply)
            await server.answer(b"put 1024 0 60 1 idp:k\r\nx\r\n", b"INSERTED 1\r\n")


@pytest.mark.parametrize("word", [b"BAD_FORMAT", b"UNKNOWN_COMMAND"])
async def test_no_tags_for_a_plain_beanstalkd(word: bytes, autojump_clock: MockClock) -> None:
    """A server without tags would carry out the body of such a put: it never sees one."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        call = Call(nursery, partial(client.put, b"delete 5", con="k"))
        await server.answer(b"stats-group default\r\n", word + b"\r\n")

        assert isinstance(call.result, beanstalk.UnsupportedError)
        assert await server.heard() == b""


# cancellation -------------------------------------------------------------------------------


async def test_cancelled_before_it_is_written(autojump_clock: MockClock) -> None:
    """A command whose turn to be written did not come leaves no trace."""
    async with open_pair() as (client, server):
        with trio.CancelScope() as scope:
            scope.cancel()
            await client.delete(5)

        assert scope.cancelled_caught
        assert await server.heard() == b""


async def test_cancelled_while_the_answer_is_due(autojump_clock: MockClock) -> None:
    """The answer to a cancelled call is taken and dropped: the next one gets its own."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        cancelled = Call(nursery, partial(client.delete, 1))
        await server.answer(b"delete 1\r\n", b"")
        cancelled.scope.cancel()
        other = Call(nursery, partial(client.kick, 5))
        await server.answer(b"kick 5\r\n", b"DELETED\r\nKICKED 3\r\n")

        assert cancelled.result is None
        assert other.result == 3


@pytest.mark.parametrize(
    ("reserve", "command", "reply"),
    [
        (Client.reserve, b"reserve\r\n", b"RESERVED 5 1\r\nx\r\n"),
        (
            partial(Client.reserve_batch, count=2),
            b"reserve-batch 2\r\n",
            b"RESERVED_BATCH 1\r\nRESERVED 5 1\r\nx\r\n",
        ),
        (partial(Client.reserve_job, job_id=5), b"reserve-job 5\r\n", b"RESERVED 5 1\r\nx\r\n"),
    ],
)
async def test_job_of_a_cancelled_reserve_goes_back(
    reserve: Callable[[Client], Awaitable[object]],
    command: bytes,
    reply: bytes,
    autojump_clock: MockClock,
) -> None:
    """It is released with its own priority, and only then the next reserve is sent."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        cancelled = Call(nursery, partial(reserve, client))
        await server.answer(command, b"")
        cancelled.scope.cancel()
        following = Call(nursery, partial(client.reserve, 3))

        await server.answer(b"", reply)
        await server.answer(b"stats-job 5\r\n", PRIORITY_7)
        await server.answer(b"release 5 7 0\r\n", b"RELEASED\r\n")
        await server.answer(b"reserve-with-timeout 3\r\n", b"RESERVED 5 1\r\nx\r\n")

        assert cancelled.result is None
        assert following.result == Job(5, b"x")


@pytest.mark.parametrize("turn", range(10))
async def test_job_that_comes_with_the_cancellation(turn: int, autojump_clock: MockClock) -> None:
    """Also when answer and cancellation meet, in either order, the job goes back."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        call = Call(nursery, client.reserve)
        await server.answer(b"reserve\r\n", b"")
        await server.stream.send_all(b"RESERVED 5 1\r\nx\r\n")
        call.scope.cancel()

        await server.answer(b"stats-job 5\r\n", PRIORITY_7)
        await server.answer(b"release 5 7 0\r\n", b"RELEASED\r\n")
        assert call.result is None


@pytest.mark.parametrize("turn", range(10))
async def test_timeout_that_comes_with_the_cancellation(
    turn: int, autojump_clock: MockClock
) -> None:
    """Where there is no job to give back, the next reserve is sent."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        call = Call(nursery, client.reserve)
        await server.answer(b"reserve\r\n", b"")
        await server.stream.send_all(b"TIMED_OUT\r\n")
        call.scope.cancel()
        await wait_all_tasks_blocked()
        Call(nursery, client.reserve)

        await server.answer(b"reserve\r\n", b"TIMED_OUT\r\n")


async def test_one_reserve_at_a_time(autojump_clock: MockClock) -> None:
    """A second task's reserve is sent when the first one is answered: what is between can pass."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        first = Call(nursery, client.reserve)
        await server.answer(b"reserve\r\n", b"")
        second = Call(nursery, client.reserve)
        Call(nursery, partial(client.touch, 1))
        await server.answer(b"touch 1\r\n", b"RESERVED 5 1\r\nx\r\nTOUCHED\r\n")
        await server.answer(b"reserve\r\n", b"TIMED_OUT\r\n")

        assert first.result == Job(5, b"x")
        assert isinstance(second.result, beanstalk.TimedOutError)


async def test_cancelled_reserve_that_was_not_written(autojump_clock: MockClock) -> None:
    """It holds up no other one."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        with trio.move_on_after(0):
            await client.reserve()
        Call(nursery, client.reserve)

        await server.answer(b"reserve\r\n", b"TIMED_OUT\r\n")


@pytest.mark.parametrize("reply", [b"TIMED_OUT\r\n", b"RESERVED 5 1\r\nx\r\n"])
async def test_nothing_left_to_give_back(reply: bytes, autojump_clock: MockClock) -> None:
    """A reserve that timed out, or a job that is gone meanwhile, holds up nothing."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        cancelled = Call(nursery, client.reserve)
        await server.answer(b"reserve\r\n", b"")
        cancelled.scope.cancel()
        following = Call(nursery, client.reserve)
        await server.answer(b"", reply)
        if reply.startswith(b"RESERVED"):
            await server.answer(b"stats-job 5\r\n", b"NOT_FOUND\r\n")
        await server.answer(b"reserve\r\n", b"RESERVED 6 1\r\ny\r\n")

        assert following.result == Job(6, b"y")


async def test_connection_lost_before_the_job_went_back(autojump_clock: MockClock) -> None:
    """Then the server gives it back, and whoever waits for that is told of the loss."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        cancelled = Call(nursery, client.reserve)
        await server.answer(b"reserve\r\n", b"")
        cancelled.scope.cancel()
        following = Call(nursery, client.reserve)
        await server.answer(b"", b"RESERVED 5 1\r\nx\r\n")
        await server.stream.aclose()
        await wait_all_tasks_blocked()

        assert isinstance(following.result, beanstalk.NotConnectedError)


# how it ends --------------------------------------------------------------------------------


async def test_server_closes(autojump_clock: MockClock) -> None:
    """Who waits learns that it may have happened, who comes later that it did not."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        calls = [Call(nursery, partial(client.delete, number)) for number in range(3)]
        await server.heard()
        await server.stream.aclose()
        await wait_all_tasks_blocked()

        for call in calls:
            assert isinstance(call.result, beanstalk.ConnectionLostError)
        assert len({id(call.result) for call in calls}) == 3
        with pytest.raises(beanstalk.NotConnectedError, match="here:11300 is lost: the server"):
            await client.delete(4)


@pytest.mark.parametrize("data", [b"HTTP/1.1 400 Bad Request\r\n", b"DELETED\r\nDELETED\r\n"])
async def test_server_of_another_kind(data: bytes, autojump_clock: MockClock) -> None:
    """What is no reply, or a reply to nothing, is the server's fault, also for those who follow."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        Call(nursery, partial(client.delete, 1))
        await server.heard()
        await server.say(data)

        for _ in range(2):
            with pytest.raises(beanstalk.RemoteProtocolError, match="here:11300: "):
                await client.delete(2)


async def test_wrong_answer(autojump_clock: MockClock) -> None:
    """A reply that does not fit the command is told, and the next command goes on."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        wrong = Call(nursery, partial(client.delete, 1))
        await server.answer(b"delete 1\r\n", b"TOUCHED\r\n")
        put = Call(nursery, partial(client.put_many, [b"x"]))
        await server.answer(b"put 1024 0 60 1\r\nx\r\n", b"TOUCHED\r\n")

        for call in (wrong, put):
            assert isinstance(call.result, beanstalk.RemoteProtocolError)


async def test_left(autojump_clock: MockClock) -> None:
    """After the block calls say that it is closed, also those that waited."""
    async with trio.open_nursery() as nursery:
        async with open_pair() as (client, server):
            call = Call(nursery, client.reserve)
            await server.heard()
        await wait_all_tasks_blocked()

        assert isinstance(call.result, beanstalk.ClosedError)
        with pytest.raises(beanstalk.ClosedError, match="here:11300 is closed"):
            await client.stats()
        with pytest.raises(trio.BrokenResourceError):
            await server.stream.send_all(b"x")


async def test_errors_of_the_block_come_out_as_they_are(autojump_clock: MockClock) -> None:
    """Neither an error nor a cancellation of the body is wrapped in a group."""
    with pytest.raises(KeyError):
        async with open_pair():
            raise KeyError("x")
    with trio.move_on_after(1) as scope:
        async with open_pair() as (client, _server):
            await client.reserve()

    assert scope.cancelled_caught


# connecting ---------------------------------------------------------------------------------


async def test_nobody_listens(autojump_clock: MockClock) -> None:
    """A refused connection is one clear line."""
    with pytest.raises(beanstalk.NotConnectedError) as caught:
        async with beanstalk.connect("127.0.0.1:1"):
            pass

    assert caught.value.text == "cannot connect to 127.0.0.1:1: connection refused"


async def test_no_such_socket(autojump_clock: MockClock) -> None:
    """Neither is there a unix socket that does not exist."""
    with pytest.raises(beanstalk.NotConnectedError, match="no such file or directory"):
        async with beanstalk.connect("unix:/no/where.sock"):
            pass


async def test_no_address() -> None:
    """An address of no known form is told before anything is tried."""
    with pytest.raises(beanstalk.InvalidArgumentError, match="http://x"):
        async with beanstalk.connect("http://x"):
            pass
