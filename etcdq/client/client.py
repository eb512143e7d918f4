"""The client: keys, watches and queues of whichever endpoint answers."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from grpclib.client import Channel

from etcdq.client.endpoints import choose_endpoints
from etcdq.client.keys import as_bytes, range_of
from etcdq.client.queue import Queue
from etcdq.client.reading import key_value, queue_summary
from etcdq.client.records import KeyRange, QueueSummary
from etcdq.client.transport import Transport, open_transport
from etcdq.client.watch import Watch, open_watch
from etcdq.wire.etcdq import v1
from etcdq.wire.etcdserverpb import (
    DeleteRangeRequest,
    DeleteRangeResponse,
    KvStub,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
)

CALL_TIMEOUT_S = 5.0


class Client:
    """Made by `connect`. Tasks may share one; all of its calls go over one connection.

    Keys and values are bytes; text is taken as UTF-8. Every call may raise any `EtcdqError`:

    - `NotConnectedError`: no endpoint could be reached within the timeout, nothing happened;
    - `ConnectionLostError`, `DeadlineExceededError`: the call may have been carried out. No call
      is repeated behind your back;
    - a `RequestError`: the server refused, and its text says why.

    Cancelling a call has the last meaning but one: a cancelled put may still have happened.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def endpoint(self) -> str:
        """The endpoint in use, as HOST:PORT or unix://PATH."""
        return str(self._transport.endpoint)

    async def get(
        self,
        key: str | bytes,
        *,
        range_end: str | bytes | None = None,
        prefix: bool = False,
        limit: int = 0,
        revision: int = 0,
    ) -> KeyRange:
        """Read one key, the keys in [key, range_end), or with `prefix` all that begin with `key`.

        Args:
            key: the key; with `prefix`, "" means all keys.
            range_end: exclusive; b"\\0" means every key from `key` on.
            prefix: instead of a range_end.
            limit: of keys returned; 0 is no limit.
            revision: read as of then; 0 is now.

        Raises:
            OutOfRangeError: the revision is compacted, or yet to come.
        """
        start, end = range_of(as_bytes(key), _optional(range_end), prefix=prefix)
        request = RangeRequest(key=start, range_end=end, limit=limit, revision=revision)

        async def attempt(channel: Channel, timeout_s: float) -> RangeResponse:
            return await KvStub(channel).range(request, timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        kvs = tuple(key_value(kv) for kv in response.kvs)
        return KeyRange(kvs, response.count, response.more, response.header.revision)

    async def put(self, key: str | bytes, value: str | bytes, *, lease: int = 0) -> int:
        """Set a key and return the store's revision.

        Cancelled, or with its connection lost, it may still have happened.
        """
        request = PutRequest(key=as_bytes(key), value=as_bytes(value), lease=lease)

        async def attempt(channel: Channel, timeout_s: float) -> PutResponse:
            return await KvStub(channel).put(request, timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        return int(response.header.revision)

    async def delete(
        self, key: str | bytes, *, range_end: str | bytes | None = None, prefix: bool = False
    ) -> int:
        """Delete one key or a range, chosen as in `get`, and return how many there were."""
        start, end = range_of(as_bytes(key), _optional(range_end), prefix=prefix)
        request = DeleteRangeRequest(key=start, range_end=end)

        async def attempt(channel: Channel, timeout_s: float) -> DeleteRangeResponse:
            return await KvStub(channel).delete_range(request, timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        return int(response.deleted)

    @asynccontextmanager
    async def watch(
        self,
        key: str | bytes,
        *,
        range_end: str | bytes | None = None,
        prefix: bool = False,
        start_revision: int = 0,
        prev_kv: bool = False,
    ) -> AsyncIterator[Watch]:
        """Watch one key or a range, chosen as in `get`: `async with client.watch("k") as events:`.

        It is in force when the body begins. Iterating gives each change once, in order; after a
        lost connection the watch goes on from the last revision it saw, for as long as it takes.

        Args:
            key: the key; see `get` for it, `range_end` and `prefix`.
            start_revision: the first revision to hear of; 0 is from now on.
            prev_kv: whether events carry what the key was before.

        Raises:
            OutOfRangeError: from the iteration, when revisions still needed are compacted.
            WatchCanceledError: from either, when the server ends the watch for another reason.
        """
        start, end = range_of(as_bytes(key), _optional(range_end), prefix=prefix)
        async with open_watch(
            self._transport, start, end, start_revision=start_revision, prev_kv=prev_kv
        ) as watch:
            yield watch

    def queue(self, name: str) -> Queue:
        """Return a queue by name. Nothing is sent; the first put or consumer creates it.

        Raises:
            InvalidArgumentError: no queue can have this name.
        """
        return Queue(self._transport, name)

    async def queues(self) -> list[QueueSummary]:
        """List the queues of this node, by name.

        Raises:
            UnsupportedError: the server is a plain etcd.
        """

        async def attempt(channel: Channel, timeout_s: float) -> v1.ListResponse:
            return await v1.QueuesStub(channel).list(v1.ListRequest(), timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        return [queue_summary(one) for one in response.queues]


@asynccontextmanager
async def connect(
    *endpoints: str, timeout_s: float = CALL_TIMEOUT_S, rng: random.Random | None = None
) -> AsyncIterator[Client]:
    """Connect: `async with etcdq.connect("127.0.0.1:2379") as client:`.

    A connection that is lost is made again by the next call or watch that needs it, to the first
    endpoint that answers, with exponential back-off and full jitter. Leaving ends everything that
    is still open. Runs under Trio only.

    Args:
        endpoints: `HOST:PORT`, `http://HOST:PORT` or `unix://PATH`; without any, those of the
            environment variable ETCDQ_ENDPOINTS (separated by commas), else 127.0.0.1:2379.
        timeout_s: for each call, connecting included, in seconds.
        rng: draws the jitter; give a seeded one to make it repeatable.

    Raises:
        InvalidArgumentError: an endpoint of no known form.
        NotConnectedError: each endpoint was tried once, and none answers.
    """
    chosen = choose_endpoints(endpoints)
    async with open_transport(chosen, timeout_s, rng or random.Random()) as transport:
        yield Client(transport)


def _optional(value: str | bytes | None) -> bytes | None:
    return None if value is None else as_bytes(value)
