"""What a consumer asks for, and what the end of its registration means."""

from typing import Any, cast

import pytest

import etcdq
from etcdq.actors.consumer.core import ConsumerCore
from etcdq.client.consume import ConsumePlan
from etcdq.client.transport import Transport
from etcdq.wire.upb import kv_pb2, rpc_pb2

NO_TRANSPORT = cast(Transport, None)


def plan() -> ConsumePlan:
    """A consumer's plan; nothing here sends."""
    return ConsumePlan(NO_TRANSPORT, b"/q/jobs/c/u")


def ended(reason: str, *, created: bool = False) -> rpc_pb2.WatchResponse:
    """The server's word that the watch is over."""
    return rpc_pb2.WatchResponse(canceled=True, created=created, cancel_reason=reason)


def test_registers_with_the_same_key() -> None:
    """Every registration watches exactly the consumer key, without range_end and revision."""
    one = plan()
    one.read(
        rpc_pb2.WatchResponse(
            events=[kv_pb2.Event(kv=kv_pb2.KeyValue(key=b"/q/jobs/7/k", mod_revision=3))]
        )
    )

    create = one.request().create_request

    assert create == rpc_pb2.WatchCreateRequest(key=b"/q/jobs/c/u")


def test_messages() -> None:
    """An event is a message: body, key and index, and the delivery key as it came."""
    kv = kv_pb2.KeyValue(key=b"/q/jobs/1764525600000001/job-1", value=b"\xff\0")

    (message,) = plan().read(rpc_pb2.WatchResponse(events=[kv_pb2.Event(kv=kv)]))

    assert (message.body, message.key, message.index) == (b"\xff\0", b"job-1", 1764525600000001)
    assert message.delivery_key == kv.key


def test_a_plain_etcd_is_told() -> None:
    """A put on the watched key itself, which only a plain etcd delivers, is no message."""
    event = kv_pb2.Event(kv=kv_pb2.KeyValue(key=b"/q/jobs/c/u"))

    with pytest.raises(etcdq.RemoteProtocolError, match="plain etcd"):
        plan().read(rpc_pb2.WatchResponse(events=[event]))


def test_replaced() -> None:
    """The reason that our server gives to an older watch is understood."""
    core: Any = ConsumerCore("the-uuid", cast(Any, None), cast(Any, None), 5.0)

    error = plan().cancellation(ended(core._takeover().reason))

    assert type(error) is etcdq.ConsumerReplacedError
    assert "the-uuid" in error.text


def test_dropped_comes_back() -> None:
    """A consumer that was dropped for being slow registers again; a refused one does not."""
    reason = "consumer x was dropped: no progress with a message for 5 s"

    assert isinstance(plan().cancellation(ended(reason)), etcdq.UnavailableError)
    assert type(plan().cancellation(ended(reason, created=True))) is etcdq.WatchCanceledError
