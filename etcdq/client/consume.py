"""Consuming: messages as a queue hands them over, and their acknowledgement."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

from etcdq.client import hot
from etcdq.client.keys import QueueKeys, split_delivery
from etcdq.client.stream import WatchStream
from etcdq.client.transport import Transport
from etcdq.errors import (
    ConsumerReplacedError,
    EtcdqError,
    RemoteProtocolError,
    ServerUnavailableError,
    WatchCanceledError,
)
from etcdq.wire.upb import kv_pb2, rpc_pb2

_REPLACED = "newer watch"
"""Part of the reason that the server gives to the older watch of a consumer."""


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message that was handed to this consumer, and to nobody else.

    `key` is its producer key (its last segment), `index` its place in the line, `delivery_key`
    what has to be deleted to acknowledge it.
    """

    body: bytes
    key: bytes
    index: int
    delivery_key: bytes
    _transport: Transport = field(repr=False)

    async def ack(self) -> bool:
        """Acknowledge: delete the message for ever.

        Works after the connection was lost and after the consumer ended, until the message is
        handed out again.

        Returns:
            True: it was deleted by this call. False: it was gone, or handed out again, already.

        Raises:
            ConnectionLostError, DeadlineExceededError: it may have been deleted. Acknowledge
                again; False then very likely means that the first try worked.
        """
        return await self._transport.run(hot.delete, self._transport, self.delivery_key) > 0


class ConsumePlan:
    """Watch a consumer key, the same one each time: its UUID is the consumer. See `stream.Plan`."""

    def __init__(self, transport: Transport, key: bytes) -> None:
        self._transport = transport
        self._key = key

    def request(self) -> rpc_pb2.WatchRequest:
        """Register, or take over from the registration that lost its connection."""
        return rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(key=self._key))

    def read(self, response: rpc_pb2.WatchResponse) -> list[Message]:
        """Read the messages that were handed over."""
        return [self._message(event.kv) for event in response.events]

    def cancellation(self, response: rpc_pb2.WatchResponse) -> EtcdqError:
        """A newer watch of our UUID wins; dropped for being slow, we come back."""
        reason = response.cancel_reason or "the server ended the registration"
        if _REPLACED in reason:
            return ConsumerReplacedError(reason)
        if response.created:
            return WatchCanceledError(reason)
        return ServerUnavailableError(reason)

    def _message(self, kv: kv_pb2.KeyValue) -> Message:
        try:
            index, key = split_delivery(kv.key)
        except ValueError as error:
            text = f"{kv.key!r} is no delivery key: is the server a plain etcd?"
            raise RemoteProtocolError(text) from error
        return Message(kv.value, key, index, kv.key, self._transport)


class Messages:
    """The messages of one consumer: `async for message in messages:`. Made by `Queue.consume`.

    Several tasks may iterate; each message goes to one of them.
    """

    def __init__(self, stream: WatchStream[Message], consumer: UUID) -> None:
        self._stream = stream
        self.consumer = consumer

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return await self._stream.receive()


@asynccontextmanager
async def open_messages(
    transport: Transport, keys: QueueKeys, consumer: UUID, credit: int | None
) -> AsyncIterator[Messages]:
    """Register a consumer, and end it when the body is left."""
    metadata = None if credit is None else {"etcdq-credit": str(credit)}
    stream = WatchStream(transport, ConsumePlan(transport, keys.consumer(consumer)), metadata)
    try:
        await stream.open()
        yield Messages(stream, consumer)
    finally:
        await stream.aclose()
