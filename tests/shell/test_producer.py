"""The producer that reconnects, on memory streams: tubes, lost connections, deadlines, health."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from etcdq import beanstalk
from etcdq.beanstalk import UNKNOWN, Inserted, Producer, open_producer
from etcdq.beanstalk.background import open_background
from etcdq.endpoint import Endpoint
from tests.support.blocking_server import HANG_UP, SILENCE, Answer, answer_puts
from tests.support.processes import free_port

HERE = Endpoint("here", 11300)
TIMEOUT_S = 5.0
PUT = [b"put 1024 0 60 1\r\n", b"x\r\n"]
PUT_TAGGED = [b"put 1024 0 60 1 idp:k\r\n", b"x\r\n"]
PROBE = b"stats-group default\r\n"


class Place:
    """Where a server may be. `lines` is what each connection said, in order of their coming."""

    def __init__(self, answer: Answer, nursery: trio.Nursery) -> None:
        self.answer = answer
        self.lines: list[list[bytes]] = []
        self.streams: list[trio.abc.Stream] = []
        self.is_up = True
        self.takes_s = 0.0
        self.dialed_at: list[float] = []
        self._nursery = nursery

    async def dial(self, endpoint: Endpoint, timeout_s: float) -> trio.abc.Stream:
        """Connect, which takes `takes_s`."""
        self.dialed_at.append(trio.current_time())
        with trio.move_on_after(timeout_s) as limit:
            await trio.sleep(self.takes_s)
        if limit.cancelled_caught or not self.is_up:
            raise beanstalk.NotConnectedError(f"nobody at {endpoint}")
        ours, theirs = memory_stream_pair()
        self.lines.append([])
        self.streams.append(theirs)
        self._nursery.start_soon(self._serve, theirs, self.lines[-1])
        return ours

    async def hang_up(self) -> None:
        """End every connection."""
        for stream in list(self.streams):
            await trio.aclose_forcefully(stream)

    async def _serve(self, stream: trio.abc.Stream, said: list[bytes]) -> None:
        buffer = b""
        try:
            while data := await stream.receive_some(65_536):
                *lines, buffer = (buffer + data).split(b"\r\n")
                for line in lines:
                    said.append(line + b"\r\n")
                    answer = self.answer(line + b"\r\n")
                    if answer == HANG_UP:
                        await trio.aclose_forcefully(stream)
                        return
                    await stream.send_all(answer or b"")
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            pass


@asynccontextmanager
async def open_pair(answer: Answer = answer_puts) -> AsyncIterator[tuple[Producer, Place]]:
    """Give a producer, and the place that it connects to."""
    async with open_background() as nursery:
        place = Place(answer, nursery)
        yield Producer(HERE, TIMEOUT_S, place.dial, nursery), place


async def outcome(call: Callable[[], Awaitable[object]]) -> tuple[float, type[Exception] | None]:
    """Return how long a call took, and what it raised."""
    start_s = trio.current_time()
    kind = None
    try:
        await call()
    except beanstalk.EtcdqError as error:
        kind = type(error)
    return trio.current_time() - start_s, kind


async def test_connects_when_it_is_first_asked(autojump_clock: MockClock) -> None:
    """One connection for all; `use` is said when the tube changes."""
    async with open_pair() as (producer, place):
        assert place.dialed_at == []
        for tube in ("default", "mail", "mail"):
            assert await producer.put(tube, b"x") == Inserted(1)
        assert place.lines == [[*PUT, b"use mail\r\n", *PUT, *PUT]]


async def test_tasks_with_tubes_of_their_own(autojump_clock: MockClock) -> None:
    """Whoever puts into what at the same time: each job comes into its tube."""
    used = "default"
    came: list[tuple[str, bytes]] = []

    def answer(line: bytes) -> bytes | None:
        nonlocal used
        if line.startswith(b"use "):
            used = line[4:-2].decode()
            return b"USING x\r\n"
        if line.startswith(b"put"):
            return SILENCE
        came.append((used, line[:-2]))
        return b"INSERTED 1\r\n"

    async with open_pair(answer) as (producer, place), trio.open_nursery() as nursery:
        expected = [(tube, f"{tube}-{n}".encode()) for n in range(20) for tube in ("a", "b", "c")]
        for tube, body in expected:
            nursery.start_soon(partial(producer.put, tube, body))
    assert sorted(came) == sorted(expected)
    assert len(place.dialed_at) == 1


async def test_puts_into_one_tube_go_out_together(autojump_clock: MockClock) -> None:
    """Puts do not wait for each other's answers."""
    async with open_pair(lambda line: SILENCE) as (producer, place):
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(partial(producer.put, "default", b"x"))
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
        assert place.lines == [PUT * 10]


async def test_tags_are_asked_for_on_each_connection(autojump_clock: MockClock) -> None:
    """The server that is there after a restart may be another one."""

    def answer(line: bytes) -> bytes | None:
        return b"NOT_FOUND\r\n" if line == PROBE else answer_puts(line)

    async with open_pair(answer) as (producer, place):
        for _ in range(2):
            await producer.put("default", b"x", idp="k")
            await producer.put("default", b"x", idp="k")
            await place.hang_up()
        assert place.lines == [[PROBE, *PUT_TAGGED, *PUT_TAGGED]] * 2


async def test_a_put_cancelled_while_it_says_use(autojump_clock: MockClock) -> None:
    """The next put does not go into a tube that it did not name."""
    async with open_pair(lambda line: SILENCE) as (producer, place):
        with trio.move_on_after(1):
            await producer.put("mail", b"x")
        with trio.move_on_after(1):
            await producer.put("default", b"x")
        assert place.lines == [[b"use mail\r\n", b"use default\r\n"]]


# lost connections --------------------------------------------------------------------------


async def test_a_put_that_finds_its_connection_closed(autojump_clock: MockClock) -> None:
    """It is made on a new one at once, with its tube used again."""
    async with open_pair() as (producer, place):
        await producer.put("mail", b"x")
        await place.hang_up()
        assert await outcome(partial(producer.put, "mail", b"x")) == (0, None)
        assert place.lines == [[b"use mail\r\n", *PUT]] * 2


async def test_a_put_whose_answer_is_lost_twice(autojump_clock: MockClock) -> None:
    """It is made once more and no further."""

    def answer(line: bytes) -> bytes | None:
        return HANG_UP if line == b"x\r\n" else SILENCE

    async with open_pair(answer) as (producer, place):
        took_s, kind = await outcome(partial(producer.put, "default", b"x"))
        assert (took_s, kind) == (0, beanstalk.ConnectionLostError)
        assert place.lines == [PUT, PUT]


async def test_nobody_there(autojump_clock: MockClock) -> None:
    """Nothing was sent: the error says so at once, and the next call tries anew."""
    async with open_pair() as (producer, place):
        place.is_up = False
        for _ in range(2):
            took_s, kind = await outcome(partial(producer.put, "default", b"x"))
            assert (took_s, kind) == (0, beanstalk.NotConnectedError)
        place.is_up = True
        assert await producer.put("default", b"x") == Inserted(1)
        assert len(place.dialed_at) == 3


async def test_an_answer_lost_and_nobody_there_after(autojump_clock: MockClock) -> None:
    """The first failure is told, for it alone says that the put may have happened."""

    def answer(line: bytes) -> bytes | None:
        place.is_up = False
        return HANG_UP

    async with open_pair(answer) as (producer, place):
        with pytest.raises(beanstalk.ConnectionLostError) as caught:
            await producer.put("default", b"x")
        assert isinstance(caught.value.__cause__, beanstalk.NotConnectedError)


async def test_many_tasks_make_one_new_connection(autojump_clock: MockClock) -> None:
    """A hundred puts that lose their connection share the next one."""
    lost = False

    def answer(line: bytes) -> bytes | None:
        return answer_puts(line) if lost else SILENCE

    async with open_pair(answer) as (producer, place):
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(partial(producer.put, "default", b"x"))
            await trio.sleep(1)
            lost = True
            await place.hang_up()
        assert place.lines == [PUT * 100, PUT * 100]


async def test_many_tasks_and_nobody_there(autojump_clock: MockClock) -> None:
    """A hundred puts make one attempt, and each is told how it ended."""
    async with open_pair() as (producer, place):
        place.is_up, place.takes_s = False, 1
        kinds = []

        async def put() -> None:
            kinds.append((await outcome(partial(producer.put, "default", b"x")))[1])

        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(put)
        assert kinds == [beanstalk.NotConnectedError] * 100
        assert place.dialed_at == [0]


# deadlines ---------------------------------------------------------------------------------


async def test_a_silent_server(autojump_clock: MockClock) -> None:
    """No put takes longer than the deadline, and the next one has a new connection."""
    async with open_pair(lambda line: SILENCE) as (producer, place):
        for _ in range(2):
            took_s, kind = await outcome(partial(producer.put, "default", b"x"))
            assert (took_s, kind) == (TIMEOUT_S, beanstalk.DeadlineExceededError)
        assert place.lines == [PUT, PUT]


async def test_who_came_later_to_a_silent_server(autojump_clock: MockClock) -> None:
    """When the first one's deadline is over, the others ask anew: they need not wait for theirs."""
    answers = {0: SILENCE, 1: b"INSERTED 1\r\n"}

    def answer(line: bytes) -> bytes | None:
        return answers[len(place.lines) - 1] if line == b"x\r\n" else SILENCE

    async with open_pair(answer) as (producer, place), trio.open_nursery() as nursery:
        nursery.start_soon(outcome, partial(producer.put, "default", b"x"))
        await trio.sleep(2)
        took_s, kind = await outcome(partial(producer.put, "default", b"x"))

        assert (took_s, kind) == (3, None)


async def test_a_server_that_takes_no_connection(autojump_clock: MockClock) -> None:
    """Connecting has the same deadline; nothing was sent then."""
    async with open_pair() as (producer, place):
        place.takes_s = 100
        took_s, kind = await outcome(partial(producer.put, "default", b"x"))
        assert (took_s, kind) == (TIMEOUT_S, beanstalk.NotConnectedError)


async def test_lost_and_then_no_connection(autojump_clock: MockClock) -> None:
    """Both attempts share one deadline, and what is told is that it may have happened."""

    def answer(line: bytes) -> bytes | None:
        place.takes_s = 100
        return HANG_UP

    async with open_pair(answer) as (producer, place):
        took_s, kind = await outcome(partial(producer.put, "default", b"x"))
        assert (took_s, kind) == (TIMEOUT_S, beanstalk.ConnectionLostError)


async def test_a_callers_own_deadline(autojump_clock: MockClock) -> None:
    """Who gives up earlier leaves the connection as it is: others wait on it."""
    async with open_pair(lambda line: SILENCE) as (producer, place):
        with trio.move_on_after(1):
            await producer.put("default", b"x")
        with trio.move_on_after(1):
            await producer.put("default", b"x")
        assert place.lines == [[*PUT, *PUT]]


# health, and the end -----------------------------------------------------------------------


@pytest.mark.parametrize("reply", [SILENCE, HANG_UP, b"220 hello\r\n", b"INTERNAL_ERROR\r\n"])
async def test_away_is_not_empty(reply: bytes | None, autojump_clock: MockClock) -> None:
    """Whatever is wrong with the server, nothing raises and nothing reads as empty."""
    async with open_pair(lambda line: reply) as (producer, place):
        for is_up in (True, False):
            place.is_up = is_up
            assert not await producer.reachable()
            assert await producer.queue_depth() is UNKNOWN
            assert await producer.queue_depth("mail") is UNKNOWN
            assert not (await producer.queue_depths()).known


async def test_left(autojump_clock: MockClock) -> None:
    """A producer that was left says so to everybody, also to those who wait."""
    kinds = []

    async def put(producer: Producer) -> None:
        kinds.append((await outcome(partial(producer.put, "default", b"x")))[1])

    async with trio.open_nursery() as nursery:
        with pytest.raises(ValueError, match="mine"):  # in no group
            async with open_producer(f"127.0.0.1:{free_port()}") as producer:
                raise ValueError("mine")
        with pytest.raises(beanstalk.ClosedError):
            await producer.reachable()
        async with open_pair(lambda line: SILENCE) as (producer, _):
            nursery.start_soon(put, producer)
            await trio.sleep(1)
    assert kinds == [beanstalk.ClosedError]


async def test_what_cannot_be_said_is_not_sent(autojump_clock: MockClock) -> None:
    """A value that no server reads is refused before anything is sent."""
    async with open_pair() as (producer, place):
        for call in (
            partial(producer.put, "no tube", b""),
            partial(producer.put, "mail", b"", priority=-1),
            partial(producer.queue_depth, "no tube"),
        ):
            with pytest.raises(beanstalk.InvalidArgumentError):
                await call()
        assert place.dialed_at == []
