"""One connection: commands out, replies to whoever asked, in the order of the commands.

What tasks ask while another one's bytes are on their way goes out together in the next write. A
caller that is cancelled before its command was written leaves no trace; after that the answer is
awaited all the same, and dropped, so the stream never gets out of step.
"""

import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import trio

from etcdq.beanstalk.background import open_background
from etcdq.beanstalk.replies import Reply, ReplyReader
from etcdq.endpoint import Endpoint
from etcdq.errors import (
    ClosedError,
    ConnectionLostError,
    EtcdqError,
    NotConnectedError,
    RemoteProtocolError,
)

READ_BYTES: Final = 65_536


Then = Callable[[Sequence[Reply]], None]
"""Called with the replies to commands, or with fewer where the connection ended before them."""


class _Ask:
    """Commands that are written together, and what came back so far.

    `then` is called in the end, `settled` is set for whoever waits.
    """

    __slots__ = ("commands", "error", "replies", "settled", "then")

    def __init__(self, commands: Sequence[bytes], then: Then | None = None) -> None:
        self.commands = commands
        self.then = then
        self.replies: list[Reply] = []
        self.error: EtcdqError | None = None
        self.settled = trio.Event()

    def settle(self) -> None:
        """There is nothing more to wait for."""
        self.settled.set()
        if self.then is not None:
            self.then(self.replies)


class Connection:
    """Made by `open_connection`. Tasks may share it.

    Args:
        stream: owned by this.
        endpoint: the other side, for texts.

    Attributes:
        ended: set once it is lost or closed: then nothing more can be asked.
    """

    def __init__(self, stream: trio.abc.Stream, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.ended = trio.Event()
        self._stream = stream
        self._reader = ReplyReader()
        self._unwritten: dict[_Ask, None] = {}
        self._due: deque[_Ask] = deque()  # written, and not all replies are here
        self._wake = trio.Event()
        self._end: Callable[[type[EtcdqError]], EtcdqError] | None = None

    async def ask(self, command: bytes, inherit: Callable[[], Then] | None = None) -> Reply:
        """Send a command and return its reply.

        Args:
            command: with its body, if it has one.
            inherit: called if the caller is cancelled after the command was written; what it
                returns is called when the reply is there.

        Raises:
            NotConnectedError: the connection was lost before, the command was not sent.
            ConnectionLostError: it was lost meanwhile, the command may have been carried out.
            RemoteProtocolError: the server sends what is no reply.
            ClosedError: this was closed.
        """
        return (await self.ask_all([command], inherit))[0]

    async def ask_all(
        self, commands: Sequence[bytes], inherit: Callable[[], Then] | None = None
    ) -> list[Reply]:
        """Send commands with nobody else's in between, and return their replies.

        Raises:
            EtcdqError: as `ask`.
        """
        if not commands:
            await trio.lowlevel.checkpoint()
            return []
        ask = _Ask(commands)
        self._enqueue(ask)
        try:
            await ask.settled.wait()
        except trio.Cancelled:
            if ask in self._unwritten:
                del self._unwritten[ask]
            elif inherit is not None:
                ask.then = inherit()
                if ask.settled.is_set():
                    ask.settle()
            raise
        if ask.error is not None:
            raise ask.error
        return ask.replies

    def post(self, command: bytes, then: Then) -> None:
        """Send a command for nobody; `then` is called with its reply, or without one."""
        if self._end is None:
            self._enqueue(_Ask([command], then))
        else:
            then(())

    def close(self) -> None:
        """Close: whoever waits is told, and so is whoever comes later."""
        self._finish(lambda _kind: ClosedError(f"the connection to {self.endpoint} is closed"))

    def lose(self, reason: str, cause: BaseException | None = None) -> None:
        """End it as lost: whoever waits is told that what was asked may have been carried out."""

        def error(kind: type[EtcdqError]) -> EtcdqError:
            lost = kind(f"the connection to {self.endpoint} is lost: {reason}")
            lost.__cause__ = cause
            return lost

        self._finish(error)

    def _enqueue(self, ask: _Ask) -> None:
        if self._end is not None:
            raise self._end(NotConnectedError)
        self._unwritten[ask] = None
        self._wake.set()

    async def write(self) -> None:
        """Write what is asked, until the connection ends."""
        while self._end is None:
            await self._wake.wait()
            self._wake = trio.Event()
            asks = list(self._unwritten)
            self._unwritten.clear()
            self._due.extend(asks)
            data = b"".join([command for ask in asks for command in ask.commands])
            try:
                await self._stream.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                self.lose(_reason(error), error)

    async def read(self) -> None:
        """Read replies, until the connection ends."""
        try:
            while data := await self._stream.receive_some(READ_BYTES):
                self._reader.feed(data)
                replies: list[Reply] = []
                try:
                    self._reader.read_into(replies)
                finally:
                    self._take(replies)  # those before one that is none, too
            self.lose("the server closed it")
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self.lose(_reason(error), error)
        except RemoteProtocolError as error:
            text = f"{self.endpoint}: {error.text}"
            self._finish(lambda _kind: RemoteProtocolError(text))

    def _take(self, replies: Sequence[Reply]) -> None:
        """Give replies to those who asked, each one all that it waits for at once."""
        place = 0
        while place < len(replies):
            if not self._due:
                raise RemoteProtocolError(f"{replies[place].word} to no command")
            ask = self._due[0]
            taken = replies[place : place + len(ask.commands) - len(ask.replies)]
            ask.replies += taken
            place += len(taken)
            if len(ask.replies) == len(ask.commands):
                self._due.popleft()
                ask.settle()

    def _finish(self, end: Callable[[type[EtcdqError]], EtcdqError]) -> None:
        """End it: what was written may have been carried out, what was not was not."""
        if self._end is not None:
            return
        self._end = end
        self.ended.set()
        due, unwritten = list(self._due), list(self._unwritten)
        self._due.clear()
        self._unwritten.clear()
        for asks, kind in ((due, ConnectionLostError), (unwritten, NotConnectedError)):
            for ask in asks:
                ask.error = end(kind)
                ask.settle()
        self._wake.set()


@asynccontextmanager
async def open_connection(stream: trio.abc.Stream, endpoint: Endpoint) -> AsyncIterator[Connection]:
    """Use a stream, and close it at the end. What the body raises comes out as it is, in no group.

    Args:
        stream: fresh; owned by this.
        endpoint: the other side, for texts.
    """
    connection = Connection(stream, endpoint)
    try:
        async with open_background() as nursery:
            nursery.start_soon(connection.read)
            nursery.start_soon(connection.write)
            try:
                yield connection
            finally:
                connection.close()
    finally:
        await trio.aclose_forcefully(stream)


async def dial(endpoint: Endpoint, timeout_s: float) -> trio.SocketStream:
    """Return a stream to a server.

    Raises:
        NotConnectedError: nobody answers there within the timeout.
    """
    try:
        with trio.fail_after(timeout_s):
            if endpoint.path is not None:
                return await trio.open_unix_socket(endpoint.path)
            return await trio.open_tcp_stream(endpoint.host, endpoint.port)
    except trio.TooSlowError as error:
        raise NotConnectedError(f"cannot connect to {endpoint}: no answer") from error
    except OSError as error:
        raise NotConnectedError(f"cannot connect to {endpoint}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Return why in a few words: those of the system's own error, below what was made of it."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            break
    text = str(error)
    if isinstance(error, OSError):
        number = error.errno or 0  # negative where a name could not be looked up
        text = os.strerror(number) if number > 0 else error.strerror or text
    return text[:1].lower() + text[1:]
