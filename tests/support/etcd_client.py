"""What a transcript says to a node: calls and watches of an etcd client, in any world."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etcdq.server.etcd.pb import queues_pb2, rpc_pb2
from tests.support.etcd_peer import PREFIX, Call, Peer

if TYPE_CHECKING:
    from tests.support.world import Link, World

ONE = "8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"
TWO = "c9f0f895-fb98-4b91-99f5-1fd0297e236d"
THREE = "45c48cce-2e2d-4fbd-aa1a-fc51c7c6ad26"
"""Three consumers, as tests name them."""

KV = "/etcdserverpb.KV/"
WATCH = "/etcdserverpb.Watch/Watch"
QUEUES = "/etcdq.v1.Queues/"

Text = str | bytes


class CallFailed(Exception):
    """A call ended with a status that is not OK, or with a reset (`code` None)."""

    def __init__(self, code: int | None, text: str, reset: int | None = None) -> None:
        super().__init__(code, text, reset)
        self.code = code
        self.text = text
        self.reset = reset


@dataclass(frozen=True)
class Event:
    """One event of a watch; texts where they are UTF-8."""

    kind: str
    key: str
    value: str
    kv: Any
    prev: Any = None


def raw(text: Text) -> bytes:
    """Return bytes for what a test writes as text."""
    return text.encode() if isinstance(text, str) else text


def index_of(key: str) -> int:
    """Return the index in a delivery key."""
    return int(key.split("/")[-2])


def prefix_end(prefix: Text) -> bytes:
    """Return the range_end of all keys with a prefix."""
    prefix = raw(prefix)
    return prefix[:-1] + bytes((prefix[-1] + 1,))


class Client:
    """One connection. A unary call must be answered at once, in no time of the world's clock."""

    def __init__(self, world: World, link: Link) -> None:
        self.world = world
        self.link = link

    @property
    def peer(self) -> Peer:
        """Its end of the connection."""
        return self.link.peer

    def cut(self) -> None:
        """The connection is gone, without a word."""
        self.link.cut()

    # any call ---------------------------------------------------------------------------

    def begin(self, path: str, request: Any, *headers: tuple[str, str]) -> Call:
        """Send a unary call, whole, without waiting for anything."""
        call = self.peer.open(path, *headers)
        data = request if isinstance(request, bytes) else request.SerializeToString()
        self.peer.send(call, data, end=True)
        self.link.flush()
        return call

    async def finish(self, call: Call, reply_type: Any) -> Any:
        """Return the answer to a call, which must be there at once.

        Raises:
            CallFailed: it has a status, or was reset.
        """
        await self.world.until_now(lambda: call.ended, f"the answer to call {call.stream_id}")
        return self.answer(call, reply_type)

    def answer(self, call: Call, reply_type: Any) -> Any:
        """Return the answer of a call that is over, or raise `CallFailed`."""
        assert call.ended, "the call is not over"
        if call.status != 0:
            raise CallFailed(call.status, call.text, call.reset)
        (message,) = call.messages
        return reply_type.FromString(message)

    async def call(
        self, path: str, request: Any, reply_type: Any, *headers: tuple[str, str]
    ) -> Any:
        """Make a unary call."""
        return await self.finish(self.begin(path, request, *headers), reply_type)

    # KV ---------------------------------------------------------------------------------

    async def put(self, key: Text, value: Text = "", **fields: Any) -> Any:
        """Put a key."""
        request = rpc_pb2.PutRequest(key=raw(key), value=raw(value), **fields)
        return await self.call(KV + "Put", request, rpc_pb2.PutResponse)

    async def range(self, key: Text, end: Text = "", **fields: Any) -> Any:
        """Read keys."""
        request = rpc_pb2.RangeRequest(key=raw(key), range_end=raw(end), **fields)
        return await self.call(KV + "Range", request, rpc_pb2.RangeResponse)

    async def list(self, prefix: Text, **fields: Any) -> list[tuple[str, str]]:
        """Read all keys with a prefix: pairs of key and value."""
        response = await self.range(prefix, prefix_end(prefix), **fields)
        return [(kv.key.decode(), kv.value.decode()) for kv in response.kvs]

    async def get(self, key: Text) -> str | None:
        """Read one key's value; None if there is no such key."""
        response = await self.range(key)
        assert response.count == len(response.kvs) <= 1
        return response.kvs[0].value.decode() if response.kvs else None

    async def delete(self, key: Text, end: Text = "", **fields: Any) -> int:
        """Delete keys; return how many there were."""
        return int((await self.delete_full(key, end, **fields)).deleted)

    async def delete_full(self, key: Text, end: Text = "", **fields: Any) -> Any:
        """Delete keys; return the whole answer."""
        request = rpc_pb2.DeleteRangeRequest(key=raw(key), range_end=raw(end), **fields)
        return await self.call(KV + "DeleteRange", request, rpc_pb2.DeleteRangeResponse)

    # watches ----------------------------------------------------------------------------

    def open_watches(self, *headers: tuple[str, str]) -> WatchCall:
        """Open a Watch call with no watch on it yet."""
        return WatchCall(self, self.peer.open(WATCH, *headers))

    async def watch(self, key: Text, end: Text = "", **fields: Any) -> Watch:
        """Open a Watch call and create one watch on it, which must succeed at once."""
        return await self.open_watches().create(key, end, **fields)

    async def stuck_watch(self, key: Text) -> Watch:
        """Watch on a call that has no window left; the connection has `window=0, reading=False`."""
        return await self.open_watches().create_stuck(key)

    async def refused_watch(self, key: Text, end: Text = "", **fields: Any) -> str:
        """Ask for a watch that must be refused; return the reason."""
        call = self.open_watches()
        call.ask(key, end, **fields)
        response = await call.control()
        assert response.created, response
        assert response.canceled, response
        assert response.watch_id == -1
        return str(response.cancel_reason)

    # etcdq.v1.Queues ----------------------------------------------------------------------

    async def queues(self, method: str, **fields: Any) -> Any:
        """Call a method of the Queues service."""
        request = getattr(queues_pb2, f"{method}Request")(**fields)
        return await self.call(QUEUES + method, request, getattr(queues_pb2, f"{method}Response"))

    async def show(self, name: str) -> Any:
        """Show one queue."""
        return await self.queues("Show", name=name)

    async def counts(self, name: str) -> tuple[int, int, int]:
        """Return how many jobs of a queue are ready, reserved, buried."""
        summary = (await self.show(name)).summary
        return summary.ready, summary.reserved, summary.buried


class WatchCall:
    """One Watch call; sorts what comes by watch."""

    def __init__(self, client: Client, call: Call) -> None:
        self.client = client
        self.call = call
        self.watches: dict[int, Watch] = {}
        self._controls: deque[Any] = deque()

    def send(self, request: Any) -> None:
        """Send one message, without waiting."""
        data = request if isinstance(request, bytes) else request.SerializeToString()
        self.client.peer.send(self.call, data, end=False)
        self.client.link.flush()

    def ask(self, key: Text, end: Text = "", **fields: Any) -> None:
        """Ask for a watch, without waiting."""
        create = rpc_pb2.WatchCreateRequest(key=raw(key), range_end=raw(end), **fields)
        self.send(rpc_pb2.WatchRequest(create_request=create))

    async def create(self, key: Text, end: Text = "", **fields: Any) -> Watch:
        """Create a watch, which must succeed at once."""
        self.ask(key, end, **fields)
        response = await self.control()
        assert response.created, response
        assert not response.canceled, response
        assert not response.events, response
        return self.watches[response.watch_id]

    def cancel(self, watch_id: int) -> None:
        """Cancel a watch, without waiting."""
        cancel = rpc_pb2.WatchCancelRequest(watch_id=watch_id)
        self.send(rpc_pb2.WatchRequest(cancel_request=cancel))

    async def progress(self) -> Any:
        """Ask for progress; return the answer."""
        self.send(rpc_pb2.WatchRequest(progress_request=rpc_pb2.WatchProgressRequest()))
        response = await self.control()
        assert response.watch_id == -1
        assert not response.created
        return response

    def half_close(self) -> None:
        """Say that no more requests come."""
        self.client.peer.end(self.call)
        self.client.link.flush()

    def reset(self) -> None:
        """Reset the call."""
        self.client.peer.reset(self.call)
        self.client.link.flush()

    async def let_one_through(self) -> None:
        """Give window for exactly one message, on a call that has none left."""
        peer, call = self.client.peer, self.call
        assert not call.half_received_bytes, "a message is half through already"
        for size in (PREFIX.size, 0):
            if not size:
                _, size = PREFIX.unpack(call.buffer)
            peer.widen(size, call)
            self.client.link.flush()
            await self.client.world.settle()

    async def create_stuck(self, key: Text) -> Watch:
        """Create a watch on a call without any window: only its `created` gets through."""
        self.ask(key)
        await self.client.world.settle()
        await self.let_one_through()
        response = await self.control()
        assert response.created, response
        return self.watches[response.watch_id]

    async def widen(self, size: int) -> None:
        """Give window for so many bytes."""
        self.client.peer.widen(size, self.call)
        self.client.link.flush()
        await self.client.world.settle()

    async def read_on(self) -> None:
        """Read again what comes, and give back the window of what came meanwhile."""
        self.client.peer.read_on(self.call)
        self.client.link.flush()
        await self.client.world.settle()

    async def control(self) -> Any:
        """Return the next response that creates a watch, or speaks of none."""
        await self.client.world.settle()
        self.sort()
        assert self._controls, f"no answer; call over: {self.call.ended}, {self.call.text}"
        return self._controls.popleft()

    def sort(self) -> None:
        """Give each watch what came for it."""
        while self.call.messages:
            response = rpc_pb2.WatchResponse.FromString(self.call.messages.popleft())
            if response.created or response.watch_id == -1:
                self._controls.append(response)
                if response.created and not response.canceled:
                    watch_id = response.watch_id
                    self.watches[watch_id] = Watch(self, watch_id, response)
            else:
                self.watches[response.watch_id].take(response)


class Watch:
    """One watch."""

    def __init__(self, call: WatchCall, watch_id: int, created: Any) -> None:
        self.call = call
        self.watch_id = watch_id
        self.created = created
        self.reason: str | None = None
        """Why it was cancelled; None while it is not."""
        self.cancelled: Any = None
        self.responses: list[Any] = []
        self._events: deque[Event] = deque()

    @property
    def world(self) -> World:
        """The world it lives in."""
        return self.call.client.world

    def take(self, response: Any) -> None:
        """Take a response that is for this watch."""
        assert self.reason is None, f"something comes after canceled: {response}"
        self.responses.append(response)
        for event in response.events:
            kind = "DELETE" if event.type else "PUT"
            prev = event.prev_kv if event.HasField("prev_kv") else None
            key = event.kv.key.decode("utf-8", "backslashreplace")
            value = event.kv.value.decode("utf-8", "backslashreplace")
            self._events.append(Event(kind, key, value, event.kv, prev))
        if response.canceled:
            self.reason = response.cancel_reason
            self.cancelled = response

    @property
    def waiting(self) -> int:
        """How many events have come and were not looked at."""
        self.call.sort()
        return len(self._events)

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        self.call.sort()
        return self.reason is not None

    async def event(self) -> Event:
        """Return the next event, which must be there at once."""
        await self.world.until_now(lambda: self.waiting, f"the next event of {self.watch_id}")
        return self._events.popleft()

    async def events(self, count: int) -> list[Event]:
        """Return the next events."""
        return [await self.event() for _ in range(count)]

    async def values(self) -> list[str]:
        """Return the values of all events that have come."""
        await self.world.settle()
        return [self._events.popleft().value for _ in range(self.waiting)]

    async def is_silent(self) -> bool:
        """Whether nothing has come that was not looked at."""
        await self.world.settle()
        return not self.waiting

    async def cancel(self) -> Any:
        """Cancel it; return the answer."""
        self.call.cancel(self.watch_id)
        await self.world.until_now(lambda: self.is_cancelled, "canceled")
        return self.cancelled

    async def cancelled_now(self) -> str:
        """Return the reason it was cancelled for, which must be there at once."""
        await self.world.until_now(lambda: self.is_cancelled, "canceled")
        assert self.reason is not None
        return self.reason
