"""The calls that queues make often: upb messages instead of betterproto's, at twice the rate.

Everything here is asyncio side.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, TypeVar

from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.const import Cardinality

from etcdq.client.transport import Transport
from etcdq.errors import EtcdqError, RemoteProtocolError
from etcdq.wire.upb import rpc_pb2

T = TypeVar("T")

PUT_PATH: Final = "/etcdserverpb.KV/Put"
DELETE_PATH: Final = "/etcdserverpb.KV/DeleteRange"

IN_FLIGHT_MAX: Final = 256
"""Puts of one `put_in_order` that wait for their answer: below every server's stream limit."""


async def put(transport: Transport, key: bytes, value: bytes) -> None:
    """Put one key."""
    request = rpc_pb2.PutRequest(key=key, value=value)

    async def attempt(channel: Channel, timeout_s: float) -> rpc_pb2.PutResponse:
        method = UnaryUnaryMethod(channel, PUT_PATH, rpc_pb2.PutRequest, rpc_pb2.PutResponse)
        return _given(await method(request, timeout=timeout_s))

    await transport.call(attempt)


async def delete(transport: Transport, key: bytes) -> int:
    """Delete one key and return how many were there."""
    request = rpc_pb2.DeleteRangeRequest(key=key)

    async def attempt(channel: Channel, timeout_s: float) -> rpc_pb2.DeleteRangeResponse:
        method = UnaryUnaryMethod(
            channel, DELETE_PATH, rpc_pb2.DeleteRangeRequest, rpc_pb2.DeleteRangeResponse
        )
        return _given(await method(request, timeout=timeout_s))

    response = await transport.call(attempt)
    return int(response.deleted)


async def put_in_order(transport: Transport, pairs: Iterable[tuple[bytes, bytes]]) -> None:
    """Put keys so that they arrive in this order, without waiting for each answer.

    Raises:
        EtcdqError: of the first put that failed; nothing was sent after it was known.
    """
    order, slots = asyncio.Lock(), asyncio.Semaphore(IN_FLIGHT_MAX)
    failures: list[EtcdqError] = []

    async def put_one(key: bytes, value: bytes) -> None:
        request = rpc_pb2.PutRequest(key=key, value=value)

        async def attempt(channel: Channel, timeout_s: float) -> None:
            async with channel.request(
                PUT_PATH,
                Cardinality.UNARY_UNARY,
                rpc_pb2.PutRequest,
                rpc_pb2.PutResponse,
                timeout=timeout_s,
            ) as stream:
                async with order:  # a lock lets its waiters in by the order they came in
                    await stream.send_message(request, end=True)
                _given(await stream.recv_message())

        try:
            await transport.call(attempt)
        except EtcdqError as error:
            failures.append(error)
        finally:
            slots.release()

    async with asyncio.TaskGroup() as group:
        for key, value in pairs:
            await slots.acquire()
            if failures:
                break
            group.create_task(put_one(key, value))
    if failures:
        raise failures[0]


def _given(response: T | None) -> T:
    if response is None:
        raise RemoteProtocolError("the server ended a call without an answer")
    return response
