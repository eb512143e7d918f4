"""The session as a core: calls to messages, replies to answers, and what it remembers."""

from typing import Any

import pytest

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.errors import OverLimitError
from etcdq.actors.node import messages as keys
from etcdq.actors.queue import messages as queue
from etcdq.server.etcd.pb import rpc_pb2
from tests.support.door_host import DoorHost
from tests.support.etcd_client import KV, ONE, WATCH
from tests.support.etcd_peer import Call

PUT = rpc_pb2.PutRequest(key=b"/q/jobs/p/k", value=b"body")
RANGE = rpc_pb2.RangeRequest(key=b"key")
FOUND = keys.KeyRange(9, (keys.KeyValue(b"key", b"value", 1, 1, 1),), False, 1)
UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = 14, 4, 8
REFUSED_STREAM = 7


def watch_request(key: str, **fields: Any) -> Any:
    """A create request."""
    create = rpc_pb2.WatchCreateRequest(key=key.encode(), **fields)
    return rpc_pb2.WatchRequest(create_request=create)


def consume(host: DoorHost) -> tuple[Call, Any]:
    """Open a Watch call with one consumer; return it with the Register message."""
    call = host.peer.open(WATCH)
    host.send(call, watch_request(f"/q/jobs/c/{ONE}"))
    registration = host.queue().take()
    host.reply(registration.to, queue.Registered())
    return call, registration


def test_a_call_is_one_message() -> None:
    """A call becomes one message; the reply to it becomes its answer."""
    host = DoorHost()
    call = host.call(KV + "Put", PUT)
    asked = host.queue().take()
    assert (asked.key, asked.tail, asked.body) == (b"k", b"k", b"body")
    assert call.status is None

    host.reply(asked.to, queue.Inserted(1, 2))

    assert call.status == 0
    response = rpc_pb2.PutResponse.FromString(call.messages[0])
    assert (response.header.revision, response.header.member_id) == (7, 12)


def test_replies_come_in_any_order() -> None:
    """Each reply finds its call."""
    host = DoorHost()
    first, second = host.call(KV + "Range", RANGE), host.call(KV + "Range", RANGE)
    one, two = host.keys.heard

    host.reply(two.to, FOUND)
    assert (first.ended, second.ended) == (False, True)
    host.reply(one.to, FOUND)
    assert first.ended


def test_a_refusal_is_a_status() -> None:
    """A reply that is an error becomes its status and text."""
    host = DoorHost()
    call = host.call(KV + "Put", PUT)
    host.reply(host.queue().take().to, OverLimitError("no room"))
    assert (call.status, call.text) == (RESOURCE_EXHAUSTED, "no room")


def test_a_reply_to_a_call_that_was_reset() -> None:
    """What was asked for a call that its client reset is forgotten; its reply goes nowhere."""
    host = DoorHost()
    call = host.call(KV + "Put", PUT)
    asked = host.queue().take()
    host.peer.reset(call)
    host.pump()

    host.reply(asked.to, queue.Inserted(1, 2))

    assert not call.messages
    assert host.session.transport.open_streams == 0


def test_deadlines() -> None:
    """A call's deadline is the session's; a reply that comes later goes nowhere."""
    host = DoorHost()
    call = host.call(KV + "Range", RANGE, ("grpc-timeout", "2S"))
    other = host.call(KV + "Range", RANGE, ("grpc-timeout", "3S"))
    asked, _ = host.keys.heard
    assert host.session.next_deadline_s() == 2.0

    host.at(2.0)

    assert call.status == DEADLINE_EXCEEDED
    assert host.session.next_deadline_s() == 3.0
    host.reply(asked.to, FOUND)
    assert not call.messages
    host.reply(host.keys.heard[1].to, FOUND)
    assert other.status == 0
    assert host.session._deadlines == {}


def test_deadlines_of_calls_that_were_reset() -> None:
    """The deadline of a call that its client reset is forgotten with it."""
    host = DoorHost()
    unary = host.call(KV + "Range", RANGE, ("grpc-timeout", "2S"))
    watch = host.peer.open(WATCH, ("grpc-timeout", "2S"))
    host.pump()
    assert len(host.session._deadlines) == 2

    host.peer.reset(unary)
    host.peer.reset(watch)
    host.pump()

    assert host.session._deadlines == {}


def test_an_idle_session_has_no_deadline() -> None:
    """Without calls and consumers there is nothing to wake up for."""
    host = DoorHost()
    host.call(KV + "Put", PUT)
    host.reply(host.queue().take().to, queue.Inserted(1, 2))
    assert host.session.next_deadline_s() == NEVER_S


def test_silence_is_counted_while_it_has_consumers() -> None:
    """With a consumer a ping is due 5 s after the last byte, the end 5 s after that."""
    host = DoorHost()
    call, _ = consume(host)
    assert host.session.next_deadline_s() == limits.SILENCE_S
    host.peer.mute = True
    host.at(5.0)
    assert host.peer.pings == 1
    assert host.session.next_deadline_s() == 10.0

    host.at(10.0)

    assert "ping" in host.session.aborted
    assert not call.ended


def test_any_byte_is_life() -> None:
    """What comes after the ping puts the end off, also if it is not the answer."""
    host = DoorHost()
    consume(host)
    session = host.session
    host.peer.mute = True
    host.at(5.0)
    session.receive(b"\0\0\4\3\0\0\0\0\1\0\0\0\1"[:5], 8.0)
    assert session.next_deadline_s() == 13.0
    host.at(12.9)
    assert session.aborted == ""
    host.at(13.0)
    assert session.aborted


def test_identity_for() -> None:
    """Without a UUID a consumer is told by connection and segment."""
    host = DoorHost()
    assert host.session.identity_for(b"a") == host.session.identity_for(b"a")
    assert host.session.identity_for(b"a") != host.session.identity_for(b"b")


def test_end_tells_the_queues() -> None:
    """When the connection is over, every watch ends and nothing is remembered."""
    host = DoorHost()
    _, registration = consume(host)
    host.call(KV + "Range", RANGE, ("grpc-timeout", "2S"))

    host.session.end(1.0)

    assert host.queue().take() == queue.Ended(registration.watch)
    assert (len(host.session._watches), len(host.session._calls)) == (0, 0)


def test_words_for_a_watch_that_is_gone() -> None:
    """An offer that comes after its watch ended is ignored: its end has answered it."""
    host = DoorHost()
    call, registration = consume(host)
    host.peer.reset(call)
    host.pump()
    assert host.queue().take() == queue.Ended(registration.watch)

    delivery = queue.Delivery(1764525600000001, b"k", b"body")
    host.tell(queue.Offer(registration.watch, (delivery,)))
    host.tell(queue.Superseded(registration.watch))

    assert host.queue().heard == []


def test_drain() -> None:
    """Draining ends watches with a status and refuses calls; then it is finished."""
    host = DoorHost()
    watch, registration = consume(host)
    call = host.call(KV + "Range", RANGE)
    host.session.drain(1.0)
    host.pump()

    assert watch.status == UNAVAILABLE
    assert host.queue().take() == queue.Ended(registration.watch)
    assert not host.session.finished
    late = host.call(KV + "Range", RANGE)
    assert late.reset == REFUSED_STREAM
    host.reply(host.keys.take().to, FOUND)
    assert call.status == 0
    assert host.session.finished


def test_byte_by_byte() -> None:
    """The same bytes in single pieces make the same messages and the same answers."""
    answers = []
    for size in (1, 7, 10_000):
        host = DoorHost()
        call = host.peer.open(KV + "Put")
        host.peer.send(call, PUT.SerializeToString(), end=True)
        watch = host.peer.open(WATCH)
        host.peer.send(watch, watch_request(f"/q/jobs/c/{ONE}").SerializeToString(), end=False)
        data = host.peer.take()
        for start in range(0, len(data), size):
            host.session.receive(data[start : start + size], 0.0)
        put, registration = host.queue().heard
        host.reply(put.to, queue.Inserted(1, 2))
        host.reply(registration.to, queue.Registered())
        answers.append((call.status, list(call.messages), list(watch.messages)))

    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] == 0


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff"])
def test_no_message(data: bytes) -> None:
    """A call whose message cannot be parsed is INTERNAL."""
    host = DoorHost()
    call = host.peer.open(KV + "Put")
    host.peer.send(call, data, end=True)
    host.pump()
    assert call.status == 13
    assert "unmarshalling" in call.text
