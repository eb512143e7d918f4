"""One queue: produce, consume, look and tend."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

from grpclib.client import Channel

from etcdq.client import hot
from etcdq.client.consume import Messages, open_messages
from etcdq.client.keys import QueueKeys, as_bytes
from etcdq.client.reading import WIRE_STATES, job, queue_statistics
from etcdq.client.records import Job, JobState, QueueStatistics
from etcdq.client.transport import Transport
from etcdq.errors import InvalidArgumentError
from etcdq.wire.etcdq import v1


class Queue:
    """A queue by name. Made by `Client.queue`; for what calls may raise, see `Client`.

    `statistics`, `peek`, `kick`, `purge` and `pause` raise `UnsupportedError` on a plain etcd.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._keys = QueueKeys(name)

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._keys.name

    async def put(self, body: str | bytes, key: str | bytes | None = None) -> bytes:
        """Put a message at the end of the line and return its key.

        Cancelled, or with its connection lost, it may still have happened: put again and the
        message may be there twice.

        Args:
            body: text is sent as UTF-8.
            key: one segment, without "/"; None draws a UUID. It need not be unique.

        Raises:
            OverLimitError: the queue or the node is full.
            InvalidArgumentError: a bad key, or a body over the server's limit.
        """
        chosen = _key(key)
        await self._transport.run(
            hot.put, self._transport, self._keys.producer(chosen), as_bytes(body)
        )
        return chosen

    async def put_many(self, bodies: Iterable[str | bytes]) -> list[bytes]:
        """Put messages in this order, without waiting for each answer, and return their keys.

        Raises:
            EtcdqError: of the first that failed. Those before it may be, those shortly after it
                may still have been, put.
        """
        keys: list[bytes] = []

        def pairs() -> Iterable[tuple[bytes, bytes]]:
            for body in bodies:
                keys.append(_key(None))
                yield self._keys.producer(keys[-1]), as_bytes(body)

        await self._transport.run(hot.put_in_order, self._transport, pairs())
        return keys

    @asynccontextmanager
    async def consume(
        self, consumer: UUID | None = None, *, credit: int | None = None
    ) -> AsyncIterator[Messages]:
        """Register a consumer: `async with queue.consume() as messages:`.

        It is registered when the body begins. The server hands over messages ahead of their
        acknowledgement, up to the consumer's credit (256 by default). A lost connection is made
        again, for as long as it takes, and the consumer registers under the same UUID; messages it
        got before can still be acknowledged.

        What was handed over and is not acknowledged when the body is left is not handed out again
        by itself: it is buried, can still be acknowledged, and returns to the line by a `kick`.

        Args:
            consumer: the identity; None draws one. A second consumer with the same UUID takes over.
            credit: unacknowledged messages it will hold at most; None for the node's default. With
                1 nothing is handed over ahead.

        Raises:
            ConsumerReplacedError: from the iteration, when another one took over.
        """
        if credit is not None and credit < 1:
            raise InvalidArgumentError(f"credit {credit}: at least one message")
        identity = consumer or uuid4()
        async with open_messages(self._transport, self._keys, identity, credit) as messages:
            yield messages

    async def statistics(self) -> QueueStatistics:
        """Return a snapshot of the queue.

        Raises:
            NotFoundError: there is no such queue.
        """
        request = v1.ShowRequest(name=self.name)

        async def attempt(channel: Channel, timeout_s: float) -> v1.ShowResponse:
            return await v1.QueuesStub(channel).show(request, timeout=timeout_s)

        return queue_statistics(await self._transport.run(self._transport.call, attempt))

    async def peek(self, state: JobState = JobState.READY, *, limit: int = 1) -> list[Job]:
        """Look at up to `limit` messages of one state, the next one first; they stay there."""
        if limit < 1:
            raise InvalidArgumentError(f"limit {limit}: at least one message")
        request = v1.PeekRequest(name=self.name, state=WIRE_STATES[state], limit=limit)

        async def attempt(channel: Channel, timeout_s: float) -> v1.PeekResponse:
            return await v1.QueuesStub(channel).peek(request, timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        return [job(one) for one in response.jobs]

    async def kick(self, bound: int) -> int:
        """Return up to `bound` buried messages (delayed ones, if none is buried) to the line.

        Returns:
            How many; each has a new index.
        """
        if bound < 0:
            raise InvalidArgumentError(f"bound {bound}: not a number of messages")
        request = v1.KickRequest(name=self.name, bound=bound)

        async def attempt(channel: Channel, timeout_s: float) -> v1.KickResponse:
            return await v1.QueuesStub(channel).kick(request, timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        return int(response.kicked)

    async def purge(self) -> int:
        """Delete every message, those held by consumers too; return how many there were."""
        request = v1.PurgeRequest(name=self.name)

        async def attempt(channel: Channel, timeout_s: float) -> v1.PurgeResponse:
            return await v1.QueuesStub(channel).purge(request, timeout=timeout_s)

        response = await self._transport.run(self._transport.call, attempt)
        return int(response.deleted)

    async def pause(self, pause_s: float) -> None:
        """Hand out nothing for `pause_s` seconds; 0 ends a pause."""
        if not 0 <= pause_s < float("inf"):
            raise InvalidArgumentError(f"pause_s {pause_s}: a number of seconds, 0 or more")
        request = v1.PauseRequest(name=self.name, pause_s=pause_s)

        async def attempt(channel: Channel, timeout_s: float) -> v1.PauseResponse:
            return await v1.QueuesStub(channel).pause(request, timeout=timeout_s)

        await self._transport.run(self._transport.call, attempt)


def _key(key: str | bytes | None) -> bytes:
    return str(uuid4()).encode() if key is None else as_bytes(key)
