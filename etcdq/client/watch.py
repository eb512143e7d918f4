"""Watches on ordinary keys."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from etcdq.client.reading import key_value
from etcdq.client.records import Event, EventKind
from etcdq.client.stream import WatchStream
from etcdq.client.transport import Transport
from etcdq.errors import EtcdqError, OutOfRangeError, WatchCanceledError
from etcdq.wire.upb import kv_pb2, rpc_pb2


class KeysPlan:
    """Watch [key, range_end) from `next_revision` on, 0 being now. See `stream.Plan`."""

    def __init__(self, key: bytes, range_end: bytes, next_revision: int, *, prev_kv: bool) -> None:
        self._key = key
        self._range_end = range_end
        self._prev_kv = prev_kv
        self.next_revision = next_revision

    def request(self) -> rpc_pb2.WatchRequest:
        """Ask for everything that was not seen yet."""
        create = rpc_pb2.WatchCreateRequest(
            key=self._key,
            range_end=self._range_end,
            start_revision=self.next_revision,
            prev_kv=self._prev_kv,
        )
        return rpc_pb2.WatchRequest(create_request=create)

    def read(self, response: rpc_pb2.WatchResponse) -> list[Event]:
        """Read the events, and note where to go on.

        All events of one revision come in one response, so the next one is always safe. Only
        `created` tells by its header: a watch that catches up runs behind the header's revision.
        """
        if response.created and self.next_revision == 0:
            self.next_revision = response.header.revision + 1
        if response.events:
            self.next_revision = response.events[-1].kv.mod_revision + 1
        return [_event(event) for event in response.events]

    def cancellation(self, response: rpc_pb2.WatchResponse) -> EtcdqError:
        """The server does not end such a watch without need: give up, and say why."""
        if response.compact_revision:
            return OutOfRangeError(
                f"revision {self.next_revision} is compacted; the oldest one that can be watched"
                f" from is {response.compact_revision}"
            )
        return WatchCanceledError(response.cancel_reason or "the server canceled the watch")


class Watch:
    """The changes of one key or range: `async for event in events:`. Made by `Client.watch`."""

    def __init__(self, stream: WatchStream[Event]) -> None:
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return await self._stream.receive()


@asynccontextmanager
async def open_watch(
    transport: Transport, key: bytes, range_end: bytes, *, start_revision: int, prev_kv: bool
) -> AsyncIterator[Watch]:
    """Register a watch, and end it when the body is left."""
    stream = WatchStream(transport, KeysPlan(key, range_end, start_revision, prev_kv=prev_kv))
    try:
        await stream.open()
        yield Watch(stream)
    finally:
        await stream.aclose()


def _event(event: kv_pb2.Event) -> Event:
    kind = EventKind.DELETE if event.type == kv_pb2.Event.DELETE else EventKind.PUT
    prev = key_value(event.prev_kv) if event.HasField("prev_kv") else None
    return Event(kind, key_value(event.kv), prev)
