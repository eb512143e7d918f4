"""What a watch asks for, and where it goes on."""

from typing import Any

from etcdq import EventKind, OutOfRangeError, WatchCanceledError
from etcdq.client.watch import KeysPlan
from etcdq.wire.upb import kv_pb2, rpc_pb2


def response(*revisions: int, header: int = 0, **fields: Any) -> rpc_pb2.WatchResponse:
    """A response with a put of b"k" at each of the revisions."""
    events = [
        kv_pb2.Event(kv=kv_pb2.KeyValue(key=b"k", value=b"v", mod_revision=revision))
        for revision in revisions
    ]
    return rpc_pb2.WatchResponse(
        header=rpc_pb2.ResponseHeader(revision=header), events=events, **fields
    )


def test_request() -> None:
    """Everything that was asked for is in the request."""
    create = KeysPlan(b"k", b"l", 7, prev_kv=True).request().create_request

    assert (create.key, create.range_end, create.start_revision) == (b"k", b"l", 7)
    assert create.prev_kv


def test_goes_on_after_the_last_event() -> None:
    """The next registration begins one revision after the last event, whatever the header says."""
    plan = KeysPlan(b"k", b"", 5, prev_kv=False)

    assert plan.read(response(created=True, header=90)) == []
    assert plan.request().create_request.start_revision == 5
    assert [event.kv.mod_revision for event in plan.read(response(6, 8, header=90))] == [6, 8]
    assert plan.request().create_request.start_revision == 9


def test_from_now_on_has_a_place_too() -> None:
    """A watch from now on, cut before its first event, misses nothing: `created` says where."""
    plan = KeysPlan(b"k", b"", 0, prev_kv=False)

    plan.read(response(created=True, header=41))

    assert plan.request().create_request.start_revision == 42


def test_second_created_changes_nothing() -> None:
    """When it registers again, the server's revision has moved on, and ours must not."""
    plan = KeysPlan(b"k", b"", 0, prev_kv=False)
    plan.read(response(created=True, header=41))

    plan.read(response(created=True, header=99))

    assert plan.request().create_request.start_revision == 42


def test_kinds_and_prev_kv() -> None:
    """Puts and deletes are told apart, and prev_kv is there only if it came."""
    deleted = kv_pb2.Event(
        type=kv_pb2.Event.DELETE,
        kv=kv_pb2.KeyValue(key=b"k", mod_revision=3),
        prev_kv=kv_pb2.KeyValue(key=b"k", value=b"old", version=2),
    )
    plan = KeysPlan(b"k", b"", 1, prev_kv=True)

    put, delete = plan.read(rpc_pb2.WatchResponse(events=[*response(2).events, deleted]))

    assert (put.kind, put.prev_kv) == (EventKind.PUT, None)
    assert delete.kind is EventKind.DELETE
    assert delete.prev_kv is not None
    assert (delete.prev_kv.value, delete.prev_kv.version) == (b"old", 2)


def test_cancellation() -> None:
    """Compacted revisions have an error of their own; any other end has the server's words."""
    plan = KeysPlan(b"k", b"", 4, prev_kv=False)

    compacted = plan.cancellation(response(canceled=True, compact_revision=10))
    assert type(compacted) is OutOfRangeError
    assert "revision 4 is compacted" in compacted.text
    assert "10" in compacted.text
    refused = plan.cancellation(response(canceled=True, cancel_reason="no such thing"))
    assert type(refused) is WatchCanceledError
    assert refused.text == "no such thing"
