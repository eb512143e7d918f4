"""A producer that reconnects, on Trio: one connection for all tasks, made anew when it is lost."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar, Unpack

import trio

from etcdq.beanstalk import commands, health, talks
from etcdq.beanstalk.address import choose_address
from etcdq.beanstalk.answers import expect, inserted
from etcdq.beanstalk.background import open_background
from etcdq.beanstalk.commands import PutOptions, name
from etcdq.beanstalk.connection import Connection, dial, open_connection
from etcdq.beanstalk.health import UNKNOWN, Depth, Depths
from etcdq.beanstalk.records import Inserted
from etcdq.beanstalk.talks import Standing, Talk
from etcdq.endpoint import Endpoint
from etcdq.errors import (
    ClosedError,
    ConnectionLostError,
    DeadlineExceededError,
    EtcdqError,
    NotConnectedError,
)

T = TypeVar("T")

TIMEOUT_S: Final = 5.0

Dial = Callable[[Endpoint, float], Awaitable[trio.abc.Stream]]
"""Connects to a server within so many seconds, or raises `NotConnectedError`."""


class _Line:
    """A connection and what is known of it. `way` is held by who changes the used tube."""

    __slots__ = ("connection", "standing", "way")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.standing = Standing()
        self.way = trio.Lock()

    async def carry_out(self, talk: Talk[T]) -> T:
        try:
            asked = next(talk)
            while True:
                asked = talk.send(await self.connection.ask_all(asked))
        except StopIteration as end:
            result: T = end.value
            return result


class _Dialing:
    """An attempt to connect, for all who wait for it."""

    __slots__ = ("done", "error", "line")

    def __init__(self) -> None:
        self.done = trio.Event()
        self.line: _Line | None = None
        self.error: EtcdqError | None = None


class Producer:
    """Made by `open_producer`. Any number of tasks may share one.

    Connects when something is first asked, and again when the connection was lost. A call whose
    connection is found dead is made once more, on a new one; if that fails as well, or none can be
    had, it raises. No call takes longer than `timeout_s`.

    Every call may raise `NotConnectedError` (nothing happened), `ConnectionLostError`,
    `DeadlineExceededError` (it may have been, or may yet be, carried out), `RemoteProtocolError`,
    or `ClosedError`: `open_producer` was left.
    """

    def __init__(
        self, endpoint: Endpoint, timeout_s: float, dial: Dial, nursery: trio.Nursery
    ) -> None:
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._dial = dial
        self._nursery = nursery
        self._line: _Line | None = None
        self._dialing: _Dialing | None = None
        self._is_closed = False

    @property
    def address(self) -> str:
        """The server, as HOST:PORT or unix://PATH."""
        return str(self._endpoint)

    async def put(self, tube: str, body: bytes, **options: Unpack[PutOptions]) -> Inserted:
        """Put a job into a tube, whatever tubes other tasks put into.

        A put whose answer was lost is made once more, and may then be there twice; whatever this
        raises but a refusal and `NotConnectedError`, and where it is cancelled, it may be there
        once. With `idp` (etcdq, tuber) it is there once.

        Args:
            tube: its name.
            body: any bytes.
            options: see `PutOptions`.

        Raises:
            InvalidArgumentError, JobTooBigError: a value, or the size of the body.
            DrainingError, OutOfMemoryError, OutOfStorageError: no job was made.
            BuriedError: a job was made, and buried.
            UnsupportedError: a tag was given, and the server is a plain beanstalkd.
        """
        name(tube)
        command = commands.put(body, options)

        async def put(line: _Line) -> Inserted:
            await line.way.acquire()
            try:
                await line.carry_out(talks.make_way(line.standing, tube, options))
            finally:
                line.way.release()
            # There is no checkpoint from here to where the put takes its place among commands.
            reply = await line.connection.ask(command)
            return inserted(expect(reply, "INSERTED", command))

        return await self._call(put)

    async def reachable(self) -> bool:
        """Return whether the server answers, be it full or empty. Raises nothing if it does not."""
        return await self._unless_away(health.reach, False)

    async def queue_depth(self, tube: str | None = None) -> Depth:
        """Return how many jobs are ready in a tube, or in all: what waits for a worker.

        Returns:
            `UNKNOWN` if the server cannot be asked: that is no 0, and raises nothing.
        """
        if tube is not None:
            name(tube)
        unknown: Depth = UNKNOWN
        return await self._unless_away(lambda: health.depth(tube), unknown)

    async def queue_depths(self) -> Depths:
        """Return how many jobs are ready in each tube; see `Depths` for a server that is away."""
        return await self._unless_away(health.depths, Depths(None))

    def close(self) -> None:
        """Take no more calls."""
        self._is_closed = True

    # ----------------------------------------------------------------------------------------

    async def _unless_away(self, talk: Callable[[], Talk[T]], otherwise: T) -> T:
        try:
            return await self._call(lambda line: line.carry_out(talk()))
        except ClosedError:
            raise
        except EtcdqError:
            return otherwise

    async def _call(self, ask: Callable[[_Line], Awaitable[T]]) -> T:
        """Ask on the connection there is, and once more on a new one if that is found dead."""
        line: _Line | None = None
        lost: EtcdqError | None = None
        with trio.move_on_after(self._timeout_s):
            line = await self._connected()
            try:
                return await ask(line)
            except NotConnectedError:
                pass  # nothing was sent
            except ConnectionLostError as error:
                lost = error
            line = None
            try:
                line = await self._connected()
            except NotConnectedError as error:
                if lost is None:
                    raise
                raise lost from error  # which tells that it may have been carried out
            return await ask(line)
        if line is not None:
            text = f"no answer within {self._timeout_s:g} s"
            line.connection.lose(text)  # others ask anew rather than wait for it, too
            raise DeadlineExceededError(f"{text} from {self._endpoint}")
        raise lost or NotConnectedError(f"cannot connect to {self._endpoint}: no answer")

    async def _connected(self) -> _Line:
        """Return a connection; who comes while one is being made waits for that."""
        if self._is_closed:
            raise ClosedError(f"the producer of {self._endpoint} was left")
        if self._line is not None and not self._line.connection.ended.is_set():
            return self._line
        dialing = self._dialing
        if dialing is None:
            dialing = self._dialing = _Dialing()
            self._nursery.start_soon(self._keep, dialing)
        await dialing.done.wait()
        if dialing.line is not None:
            return dialing.line
        if dialing.error is None:
            raise ClosedError(f"the producer of {self._endpoint} was left")
        raise NotConnectedError(dialing.error.text) from dialing.error

    async def _keep(self, dialing: _Dialing) -> None:
        """Connect, and keep the connection until it ends."""
        try:
            stream = await self._dial(self._endpoint, self._timeout_s)
            async with open_connection(stream, self._endpoint) as connection:
                self._line = dialing.line = _Line(connection)
                self._dialing = None
                dialing.done.set()
                await connection.ended.wait()
        except NotConnectedError as error:
            dialing.error = error
        finally:
            if self._dialing is dialing:
                self._dialing = None
            dialing.done.set()


@asynccontextmanager
async def open_producer(
    address: str | None = None, *, timeout_s: float = TIMEOUT_S
) -> AsyncIterator[Producer]:
    """Open a producer: `async with beanstalk.open_producer() as producer:`.

    The server need not be there yet. Runs under Trio only.

    Args:
        address: as in `etcdq.beanstalk.connect`.
        timeout_s: for each call, in seconds, connecting and trying again included.

    Raises:
        InvalidArgumentError: an address of no known form.
    """
    endpoint = choose_address(address)
    async with open_background() as nursery:
        producer = Producer(endpoint, timeout_s, dial, nursery)
        try:
            yield producer
        finally:
            producer.close()
