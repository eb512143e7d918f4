"""A watch that outlives its connections.

A task on the asyncio side reads responses and hands what they carry to the Trio side, which so
crosses over once per batch and not once per message. It reads ahead, within a bound: what the
server has handed over is here, and can be acknowledged, even when the connection is lost later.
"""

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

import trio
from grpclib.const import Cardinality
from grpclib.exceptions import StreamTerminatedError

from etcdq.client.backoff import Backoff
from etcdq.client.failures import translate
from etcdq.client.transport import Transport
from etcdq.errors import ClosedError, DeadlineExceededError, EtcdqError, UnavailableError
from etcdq.wire.upb import rpc_pb2

WATCH_PATH: Final = "/etcdserverpb.Watch/Watch"

READ_AHEAD_MAX: Final = 1024
"""Items that wait for the application before reading pauses: four times a consumer's credit."""

log = logging.getLogger("etcdq.client")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Plan(Protocol[T_co]):
    """What one kind of watch says to the server and makes of its responses."""

    def request(self) -> rpc_pb2.WatchRequest:
        """Return the request of the next registration; the first one or a later one."""
        ...

    def read(self, response: rpc_pb2.WatchResponse) -> Sequence[T_co]:
        """Return what a response carries, in order."""
        ...

    def cancellation(self, response: rpc_pb2.WatchResponse) -> EtcdqError:
        """Return what a canceled watch means; after an UnavailableError it registers again."""
        ...


class WatchStream(Generic[T]):
    """The items of one watch, in order. Several tasks may receive.

    Args:
        transport: open as long as this lives.
        plan: what to watch.
        metadata: gRPC metadata of each registration.
    """

    def __init__(
        self, transport: Transport, plan: Plan[T], metadata: Mapping[str, str] | None = None
    ) -> None:
        self._transport = transport
        self._plan = plan
        self._metadata = metadata
        self._send, self._receive = trio.open_memory_channel[T](math.inf)
        self._room = asyncio.Event()
        self._registered = trio.Event()
        self._failure: Exception | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    async def open(self) -> None:
        """Register.

        Raises:
            EtcdqError: the server refuses, or did not confirm within the transport's timeout.
        """
        self._task = self._transport.loop.create_task(self._pump())
        with trio.move_on_after(self._transport.timeout_s):
            await self._registered.wait()
        if self._failure is not None:
            raise self._failure
        if not self._registered.is_set():
            text = f"{self._transport.endpoint} did not confirm a watch in time"
            raise DeadlineExceededError(text)

    async def aclose(self) -> None:
        """End the watch; what was not received is gone."""
        self._receive.close()
        # ClosedError: the client was left first, and its loop ended the task.
        with trio.CancelScope(shield=True), suppress(ClosedError):
            await self._transport.run(self._stop)

    async def receive(self) -> T:
        """Return the next item.

        Raises:
            ClosedError: this was closed.
            EtcdqError: the watch ended for good; the text says why.
        """
        try:
            item = await self._receive.receive()
        except trio.EndOfChannel:
            raise self._failure or ClosedError("the client was closed") from None
        except trio.ClosedResourceError:
            raise ClosedError("the watch was left") from None
        if not self._room.is_set() and self._buffered < READ_AHEAD_MAX // 2:
            self._room.set()
        return item

    @property
    def _buffered(self) -> int:
        return self._receive.statistics().current_buffer_used

    async def _stop(self) -> None:
        if self._task is not None:
            # A connection that is lost at this moment cancels the task as well, and grpclib makes
            # one error of both: the task would not know that it was ours.
            self._stopping = True
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _pump(self) -> None:
        """asyncio side: watch, and watch again, until it is refused."""
        backoff = Backoff(self._transport.rng)
        try:
            while True:
                try:
                    await self._watch_once(backoff)
                except UnavailableError as error:
                    if self._stopping or not self._registered.is_set():
                        raise
                    wait_s = backoff.next_wait_s()
                    log.warning("%s; watching again in %.2f s", error, wait_s)
                    await asyncio.sleep(wait_s)
        except Exception as error:  # whoever receives next is told, whatever it is
            self._failure = error
        finally:
            self._registered.set()
            self._send.close()

    async def _watch_once(self, backoff: Backoff) -> None:
        first = not self._registered.is_set()
        wait_s = self._transport.timeout_s if first else math.inf
        channel = await self._transport.connected(self._transport.loop.time() + wait_s)
        endpoint = self._transport.endpoint
        try:
            async with channel.request(
                WATCH_PATH,
                Cardinality.STREAM_STREAM,
                rpc_pb2.WatchRequest,
                rpc_pb2.WatchResponse,
                metadata=self._metadata,
            ) as stream:
                await stream.send_message(self._plan.request())
                while (response := await stream.recv_message()) is not None:
                    await self._take(response, backoff)
                raise StreamTerminatedError("the server ended the watch")
        except Exception as error:  # grpclib raises many kinds; what is not the world's goes on
            ours = translate(error, endpoint)
            if ours is None:
                raise
            raise ours from error

    async def _take(self, response: rpc_pb2.WatchResponse, backoff: Backoff) -> None:
        if response.canceled:
            raise self._plan.cancellation(response)
        for item in self._plan.read(response):
            self._send.send_nowait(item)
        if response.created:
            backoff.reset()
            self._registered.set()
        if self._buffered >= READ_AHEAD_MAX:
            self._room.clear()
            await self._room.wait()
