"""KV: every request is one message to one actor, an answer at once, or an error of the table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors.errors import EtcdqError, InvalidArgumentError, InvalidKeyError
from etcdq.actors.message import Address
from etcdq.actors.node import messages as keys
from etcdq.actors.node.mvcc.errors import FutureRevisionError
from etcdq.actors.queue import messages as queue
from etcdq.server.etcd import kv
from etcdq.server.etcd.context import Ask, Context
from etcdq.server.etcd.errors import CODES
from etcdq.server.etcd.pb import rpc_pb2
from tests.support.door_host import Listener, a_door

UUID = "8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"
TO = Address(Listener(), 1)
CONTEXT = Context(a_door())
JOB = queue.JobView(1, 1764525600000001, b"k", b"k", b"body", 1024, queue.JobState.READY)

SEGMENT = st.sampled_from(
    ["", "q", "queue", "jobs", "p", "i", "c", "k", UUID, "1764525600000001", "9", "x" * 201, "\0"]
)
KEY = st.lists(SEGMENT, max_size=7).map(lambda segments: "/".join(["", *segments]).encode())
END = st.one_of(st.just(b""), st.just(b"\0"), KEY)
INT = st.integers(-(2**63), 2**63 - 1)


def translated(ask: Any, request: Any) -> None:
    """Check that a request is translated, or refused with an error that the table knows."""
    try:
        found = ask(CONTEXT, request, TO)
    except EtcdqError as error:
        found = error
    if isinstance(found, EtcdqError):
        assert type(found) in CODES
        assert found.text
    elif isinstance(found, Ask):
        assert found.message.to == TO
    else:
        assert isinstance(found, bytes)


@given(KEY, st.binary(max_size=20), INT, st.tuples(*[st.booleans()] * 3))
def test_any_put(key: bytes, value: bytes, lease: int, flags: tuple[bool, bool, bool]) -> None:
    """Any put is translated or refused."""
    prev_kv, ignore_value, ignore_lease = flags
    request = rpc_pb2.PutRequest(
        key=key,
        value=value,
        lease=lease,
        prev_kv=prev_kv,
        ignore_value=ignore_value,
        ignore_lease=ignore_lease,
    )
    translated(kv.ask_put, request)


@given(KEY, END, INT, INT, st.tuples(*[st.integers(-1, 9)] * 2), st.booleans())
def test_any_range(
    key: bytes, end: bytes, limit: int, revision: int, sort: tuple[int, int], count_only: bool
) -> None:
    """Any range is translated or refused."""
    order, target = sort
    request = rpc_pb2.RangeRequest(
        key=key,
        range_end=end,
        limit=limit,
        revision=revision,
        sort_order=order,
        sort_target=target,
        count_only=count_only,
    )
    translated(kv.ask_range, request)


@given(KEY, END, st.booleans())
def test_any_delete(key: bytes, end: bytes, prev_kv: bool) -> None:
    """Any delete is translated or refused."""
    request = rpc_pb2.DeleteRangeRequest(key=key, range_end=end, prev_kv=prev_kv)
    translated(kv.ask_delete, request)


def put(key: str, **fields: Any) -> Any:
    """Translate a put."""
    return kv.ask_put(CONTEXT, rpc_pb2.PutRequest(key=key.encode(), **fields), TO)


def read(key: str, end: str = "", **fields: Any) -> Any:
    """Translate a range."""
    request = rpc_pb2.RangeRequest(key=key.encode(), range_end=end.encode(), **fields)
    return kv.ask_range(CONTEXT, request, TO)


def delete(key: str, end: str = "", **fields: Any) -> Any:
    """Translate a delete."""
    request = rpc_pb2.DeleteRangeRequest(key=key.encode(), range_end=end.encode(), **fields)
    return kv.ask_delete(CONTEXT, request, TO)


def test_put_of_a_message() -> None:
    """A put on a producer key is a message to its queue."""
    asked = put("/q/jobs/i/shop/k", value=b"body")
    assert asked.handle is CONTEXT.door.queue(b"jobs")
    assert asked.message == queue.Put(TO, b"shop/k", b"k", b"body")
    answer = asked.answer(CONTEXT, queue.Inserted(1, 2), asked)
    response = rpc_pb2.PutResponse.FromString(answer)
    assert (response.header.revision, response.HasField("prev_kv")) == (7, False)


def test_put_of_a_key() -> None:
    """A put on an ordinary key goes to the key space, with all its options."""
    asked = put("k", value=b"v", lease=3, prev_kv=True)
    assert asked.handle is CONTEXT.door.keys
    assert asked.message == keys.PutKey(TO, b"k", b"v", 3, True)
    value = keys.KeyPut(9, keys.KeyValue(b"k", b"old", 1, 2, 3, 4))
    response = rpc_pb2.PutResponse.FromString(asked.answer(CONTEXT, value, asked))
    assert response.header.revision == 9
    prev = response.prev_kv
    assert (prev.key, prev.value, prev.create_revision) == (b"k", b"old", 1)
    assert (prev.mod_revision, prev.version, prev.lease) == (2, 3, 4)


def test_put_on_a_registry_key() -> None:
    """A put on a registry key only reads it: with an owner it is answered, else refused."""
    asked = put(f"/queue/jobs/consumer/{UUID.upper()}", prev_kv=True)
    assert asked.message == keys.RangeKeys(TO, f"/q/jobs/c/{UUID}".encode())
    owned = keys.KeyRange(7, (keys.KeyValue(b"k", b"node", 1, 1, 1),), False, 1)
    response = rpc_pb2.PutResponse.FromString(asked.answer(CONTEXT, owned, asked))
    assert response.prev_kv.value == b"node"
    with pytest.raises(InvalidKeyError, match="no living owner"):
        asked.answer(CONTEXT, keys.KeyRange(7, (), False, 0), asked)


@pytest.mark.parametrize("fields", [{"lease": 1}, {"ignore_value": True}, {"ignore_lease": True}])
def test_put_options_on_a_producer_key(fields: dict[str, Any]) -> None:
    """Options that mean nothing for a message are refused."""
    with pytest.raises(InvalidArgumentError):
        put("/q/jobs/p/k", **fields)


def test_range_of_one() -> None:
    """A range of one key goes where the key lives."""
    assert read("k").message == keys.RangeKeys(TO, b"k")
    assert read("/q/jobs/p/k").message == queue.ReadKey(TO, b"k")
    assert read("/q/jobs").message == keys.RangeKeys(TO, b"/q/jobs")
    one = read("/q/jobs/1764525600000001/k").message
    assert one == queue.ReadDelivery(TO, 1764525600000001, b"k")
    held = read(f"/q/jobs/c/{UUID.upper()}/1764525600000001/k").message
    assert held == queue.ReadDelivery(TO, 1764525600000001, b"k", UUID)
    assert rpc_pb2.RangeResponse.FromString(read("/q/jobs/word")).count == 0


def test_range_of_jobs() -> None:
    """A range inside a queue is a look; no more jobs are asked for than are shown."""
    asked = read("/q/jobs/", "/q/jobs0")
    assert asked.message == queue.Look(TO)
    assert read("/q/jobs/", "/q/jobs0", limit=3).message.limit == 4
    assert read("/q/jobs/", "/q/jobs0", limit=3, sort_order=2).message.limit == 0
    held = read(f"/q/jobs/c/{UUID}/", f"/q/jobs/c/{UUID}0").message
    assert held.holder == UUID
    answer = asked.answer(CONTEXT, queue.Listing((JOB,), 5), asked)
    response = rpc_pb2.RangeResponse.FromString(answer)
    (one,) = response.kvs
    assert (one.key, one.value) == (b"/q/jobs/1764525600000001/k", b"body")
    assert (one.version, one.create_revision, one.mod_revision) == (1, 7, 7)
    assert (response.count, response.more) == (5, False)


def test_range_of_jobs_in_the_future() -> None:
    """A revision that is not yet is refused, as for keys."""
    asked = read("/q/jobs/", "/q/jobs0", revision=8)
    with pytest.raises(FutureRevisionError):
        asked.answer(CONTEXT, queue.Listing((), 0), asked)


def test_range_of_registry_keys_is_spelled_back() -> None:
    """What is asked for in another spelling is answered in it."""
    asked = read("/queue/jobs/consumer/", "/queue/jobs/consumer0")
    assert asked.message == keys.RangeKeys(TO, b"/q/jobs/c/", b"/q/jobs/c0")
    found = keys.KeyRange(7, (keys.KeyValue(b"/q/jobs/c/x", b"node", 1, 1, 1),), False, 1)
    response = rpc_pb2.RangeResponse.FromString(asked.answer(CONTEXT, found, asked))
    assert response.kvs[0].key == b"/queue/jobs/consumer/x"


def test_delete_of_one() -> None:
    """A delete of one key: an acknowledgement, waiting jobs, a key."""
    key = "/q/jobs/1764525600000001/k"
    assert delete(key).message == queue.Acknowledge(TO, 1764525600000001, b"k", shown=False)
    assert delete(key, prev_kv=True).message.shown
    assert delete("/q/jobs/p/k").message == queue.DeleteKey(TO, b"k", shown=False)
    assert delete("k", prev_kv=True).message == keys.DeleteKeys(TO, b"k", b"", True)
    assert delete("/queue/jobs").message == keys.DeleteKeys(TO, b"/q/jobs")


def test_delete_of_ranges() -> None:
    """A delete of a range: a purge inside a queue, keys elsewhere, nothing where nothing can be."""
    assert delete("/q/jobs/", "/q/jobs0").message == queue.Purge(TO, shown=False)
    assert delete("/q/jobs/", "/q/jobs0", prev_kv=True).message.shown
    assert delete("\0", "\0").message == keys.DeleteKeys(TO, b"\0", b"\0")
    nothing = rpc_pb2.DeleteRangeResponse.FromString(delete("/q/jobs/2", "/q/jobs/1"))
    assert (nothing.deleted, nothing.header.revision) == (0, 7)


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("prev_kv", [False, True])
def test_answer_to_a_delete(count: int, prev_kv: bool) -> None:
    """The number of jobs that went, and themselves where that was asked for."""
    asked = delete("/q/jobs/", "/q/jobs0", prev_kv=prev_kv)
    answer = asked.answer(CONTEXT, queue.Deleted((JOB,) * count if prev_kv else (), count), asked)
    response = rpc_pb2.DeleteRangeResponse.FromString(answer)
    assert (response.deleted, response.header.revision) == (count, 7)
    assert [one.value for one in response.prev_kvs] == [b"body"] * (count if prev_kv else 0)
