"""The connection to one of the endpoints, held on an asyncio loop that runs on Trio.

grpclib is an asyncio library. Functions here whose docstring begins with "asyncio side" are
awaited there only; `Transport.run` is the one crossing. Time is Trio's on both sides.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import trio
import trio_asyncio
from grpclib.client import Channel
from grpclib.config import Configuration
from grpclib.protocol import H2Protocol

from etcdq.client.backoff import Backoff
from etcdq.client.failures import translate
from etcdq.endpoint import Endpoint
from etcdq.errors import ClosedError, NotConnectedError

log = logging.getLogger("etcdq.client")

CONNECT_TIMEOUT_S: Final = 2.0
"""For one attempt at one endpoint: a host that swallows packets must not hide the next one."""

SILENCE_S: Final = 10.0
"""Between pings while something is open, and for the answer to one."""

T = TypeVar("T")


class Transport:
    """Calls to whichever endpoint answers.

    Args:
        loop: open as long as this lives.
        endpoints: tried in order, from the one that worked last.
        timeout_s: for a call, connecting included.
        rng: draws the jitter.
    """

    def __init__(
        self,
        loop: trio_asyncio.TrioEventLoop,
        endpoints: tuple[Endpoint, ...],
        timeout_s: float,
        rng: random.Random,
    ) -> None:
        self.loop = loop
        self.timeout_s = timeout_s
        self.rng = rng
        self._endpoints = endpoints
        self._channels: list[Channel] = []
        self._current = 0
        self._protocol: H2Protocol | None = None
        self._closed = False

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint in use."""
        return self._endpoints[self._current]

    async def run(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """Trio side: run an asyncio function and return what it returns.

        Raises:
            ClosedError: this was closed before, or meanwhile.
        """
        if self._closed:
            raise ClosedError("the client is closed")
        try:
            result: T = await self.loop.run_aio_coroutine(function(*args))
        except asyncio.CancelledError:
            raise ClosedError("the client was closed while a call was running") from None
        return result

    async def open(self) -> None:
        """asyncio side: connect, trying each endpoint once.

        Raises:
            NotConnectedError: none of them answers.
        """
        self._channels = [_channel(endpoint) for endpoint in self._endpoints]
        await self._connect_round()

    def close(self) -> None:
        """Close the connections; calls that run raise."""
        self._closed = True
        for channel in self._channels:
            channel.close()

    async def connected(self, deadline_s: float = float("inf")) -> Channel:
        """asyncio side: return a connected channel, connecting with back-off where needed.

        Args:
            deadline_s: on the loop's clock; there is always one attempt.

        Raises:
            NotConnectedError: no endpoint answered until then.
        """
        backoff = Backoff(self.rng)
        while True:
            try:
                return await self._connect_round()
            except NotConnectedError:
                wait_s = backoff.next_wait_s()
                if self.loop.time() + wait_s >= deadline_s:
                    raise
                await asyncio.sleep(wait_s)

    async def call(self, request: Callable[[Channel, float], Awaitable[T]]) -> T:
        """asyncio side: make one call, at most once.

        Args:
            request: awaited with a connected channel and the seconds that are left.

        Raises:
            EtcdqError: whatever came instead of an answer.
        """
        deadline_s = self.loop.time() + self.timeout_s
        channel = await self.connected(deadline_s)
        endpoint = self.endpoint
        try:
            return await request(channel, max(0.001, deadline_s - self.loop.time()))
        except Exception as error:  # grpclib raises many kinds; what is not the world's goes on
            ours = translate(error, endpoint)
            if ours is None:
                raise
            raise ours from error

    async def _connect_round(self) -> Channel:
        protocol = self._protocol
        if protocol is not None and not protocol.connection.is_closing():
            return self._channels[self._current]
        failures: list[str] = []
        for turn in range(len(self._endpoints)):
            place = (self._current + turn) % len(self._endpoints)
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    protocol = await self._channels[place].__connect__()
            except OSError as error:  # a TimeoutError is one
                failures.append(f"{self._endpoints[place]}: {_reason(error)}")
            else:
                self._current, self._protocol = place, protocol
                return self._channels[place]
        raise NotConnectedError(f"cannot connect to {'; '.join(failures)}")


def _channel(endpoint: Endpoint) -> Channel:
    # A server that vanished without a word (power, a pulled cable) must not be waited for forever.
    # While calls or watches are open: as rarely as etcd asks for, 5 s being its minimum.
    config = Configuration(
        _keepalive_time=SILENCE_S,
        _keepalive_timeout=SILENCE_S,
        _http2_max_pings_without_data=0,
        _http2_min_sent_ping_interval_without_data=SILENCE_S / 2,
    )
    if endpoint.path is not None:
        return Channel(path=endpoint.path, config=config)
    return Channel(endpoint.host, endpoint.port, config=config)


def _log_and_go_on(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # Such as a frame that grpclib does not know: its connection is closed, and calls on it are told
    # so. By default trio-asyncio would take the application down.
    log.error("%s", context.get("message"), exc_info=context.get("exception"))


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return "no answer"
    return error.strerror or str(error)


@asynccontextmanager
async def open_transport(
    endpoints: tuple[Endpoint, ...], timeout_s: float, rng: random.Random
) -> AsyncIterator[Transport]:
    """Open a loop of our own, connect, and close both at the end.

    The loop runs in a task of its own, so that the loop of an application that uses trio-asyncio
    itself stays the current one in its tasks; it is shielded, so that whoever leaves the body can
    still say goodbye. What the body raises comes out as it is, and not in exception groups.
    """
    ready, done = trio.Event(), trio.Event()
    loops: list[trio_asyncio.TrioEventLoop] = []

    async def run_loop() -> None:
        with trio.CancelScope(shield=True):
            async with trio_asyncio.open_loop() as loop:
                loop.set_exception_handler(_log_and_go_on)
                loops.append(loop)
                ready.set()
                await done.wait()

    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_loop)
            try:
                await ready.wait()
                transport = Transport(loops[0], endpoints, timeout_s, rng)
                try:
                    await transport.run(transport.open)
                    yield transport
                finally:
                    transport.close()
            except BaseException as error:  # raised below, outside of the nursery's group
                failure = error
            finally:
                done.set()
    except BaseException:
        # Of the scope around us, which the body's own error outweighs; or the loop has failed.
        if failure is None or isinstance(failure, trio.Cancelled):
            raise
    if failure is not None:
        raise failure
