"""The two kinds of watch: what a consumer is sent and reports, how news of keys are passed on."""

from typing import Any

from etcdq.actors.message import Address
from etcdq.actors.node import messages as keys
from etcdq.actors.queue import messages as queue
from etcdq.server.etcd.pb import rpc_pb2
from tests.support.door_host import DoorHost
from tests.support.etcd_client import ONE, WATCH
from tests.support.etcd_peer import Call

INDEX = 1764525600000001


def offered(watch: Address, *bodies: bytes) -> queue.Offer:
    """An offer of jobs with these bodies."""
    deliveries = [queue.Delivery(INDEX + n, b"k%d" % n, body) for n, body in enumerate(bodies)]
    return queue.Offer(watch, tuple(deliveries))


def consumer(host: DoorHost, key: str = f"/q/jobs/c/{ONE}") -> tuple[Call, Address]:
    """Register a consumer; only its `created` fits the window of a host that has little."""
    call = host.peer.open(WATCH)
    create = rpc_pb2.WatchCreateRequest(key=key.encode())
    host.send(call, rpc_pb2.WatchRequest(create_request=create))
    registration = host.queue().take()
    host.reply(registration.to, queue.Registered())
    return call, registration.watch


def events(call: Call) -> list[Any]:
    """All events that came."""
    responses = [rpc_pb2.WatchResponse.FromString(one) for one in call.messages]
    return [event for response in responses for event in response.events]


def test_an_offer_is_sent_and_taken() -> None:
    """What is written at once is reported as taken, and comes under its delivery keys."""
    host = DoorHost()
    call, watch = consumer(host, f"/queue/jobs/consumer/{ONE}")

    host.tell(offered(watch, b"a", b"b"))

    assert host.queue().take() == queue.Accepted(watch, (INDEX, INDEX + 1))
    first, second = events(call)
    assert first.kv.key == b"/queue/jobs/%d/k0" % INDEX
    assert (second.kv.value, second.kv.version, second.kv.mod_revision) == (b"b", 1, 7)


def test_what_has_no_room_is_declined() -> None:
    """What fits is taken, one more stalls, the rest is declined."""
    host = DoorHost(window=700, reading=False)
    call, watch = consumer(host)

    host.tell(offered(watch, b"a" * 300, b"b" * 300, b"c" * 300, b"d" * 300))

    accepted = host.queue().take()
    assert accepted == queue.Accepted(watch, (INDEX,), (INDEX + 1,), (INDEX + 2, INDEX + 3))
    host.peer.widen(10_000, call)
    host.pump()
    assert host.queue().take() == queue.Taken(watch, (INDEX + 1,))
    assert [event.kv.value[:1] for event in events(call)] == [b"a", b"b"]


def test_a_stuck_socket_has_no_room() -> None:
    """While the socket takes nothing, one message stalls and the rest is declined."""
    host = DoorHost()
    _, watch = consumer(host)
    host.socket_takes = False
    host.peer.h2.ping(b"12345678")
    host.pump()

    host.tell(offered(watch, b"a", b"b"))

    assert host.queue().take() == queue.Accepted(watch, (), (INDEX,), (INDEX + 1,))
    host.socket_takes = True
    host.pump()
    assert host.queue().take() == queue.Taken(watch, (INDEX,))


def test_dropped_after_the_accept_timeout() -> None:
    """No progress for that long: the message is taken back, and the queue is told."""
    host = DoorHost(window=100, reading=False, accept_timeout_s=2.0)
    call, watch = consumer(host)
    call.messages.clear()
    host.tell(offered(watch, b"x" * 500))
    host.queue().take()
    host.at(1.9)
    assert host.queue().heard == []
    assert host.session.next_deadline_s() == 2.0

    host.at(2.0)

    assert host.queue().take() == queue.Ended(watch, (), dropped=True)
    assert call.reset == 7
    assert host.session.next_deadline_s() > 2.0


def test_news_of_keys() -> None:
    """Changes become events; when they are written the key space may tell more."""
    host = DoorHost(window=10_000, reading=False)
    call, asked = keys_watch(host)
    new = keys.KeyValue(b"key", b"new", 3, 9, 2)
    old = keys.KeyValue(b"key", b"old", 3, 3, 1)
    gone = keys.KeyValue(b"key", b"", 0, 10, 0)

    host.tell(
        keys.Changes(asked.watch, (keys.Change(new, False, old), keys.Change(gone, True, new)), 10)
    )

    put, delete = events(call)
    assert (put.type, put.kv.value, put.prev_kv.value) == (0, b"new", b"old")
    assert (delete.type, delete.kv.mod_revision, delete.prev_kv.value) == (1, 10, b"new")
    assert host.keys.take() == keys.Drained(asked.watch)


def test_a_slow_reader_of_keys_is_told_nothing_more() -> None:
    """While a response is not written whole, no more is asked for; and nothing is due."""
    host = DoorHost(window=200, reading=False)
    call, asked = keys_watch(host)
    record = keys.KeyValue(b"key", b"x" * 300, 8, 8, 1)
    host.tell(keys.Changes(asked.watch, (keys.Change(record, False),), 8))
    assert host.keys.heard == []

    host.at(1_000.0)
    host.peer.widen(1_000, call)
    host.pump()

    assert host.keys.take() == keys.Drained(asked.watch)
    assert len(events(call)) == 1


def test_signs_of_progress() -> None:
    """Changes without any change are a sign of progress: a response without events."""
    host = DoorHost()
    call, asked = keys_watch(host)
    host.tell(keys.Changes(asked.watch, (), 30))
    response = rpc_pb2.WatchResponse.FromString(call.messages[-1])
    assert (response.header.revision, len(response.events), response.watch_id) == (30, 0, 0)


def test_fragments() -> None:
    """A response over the limit comes in fragments where that was asked for, else whole."""
    for fragment in (True, False):
        host = DoorHost(request_bytes_max=1_000)
        call, asked = keys_watch(host, fragment=fragment)
        changes = tuple(
            keys.Change(keys.KeyValue(b"key%d" % n, b"x" * 400, 9, 9, 1), False) for n in range(5)
        )
        call.messages.clear()
        host.tell(keys.Changes(asked.watch, changes, 9))
        responses = [rpc_pb2.WatchResponse.FromString(one) for one in call.messages]
        told = [len(response.events) for response in responses]
        assert told == ([2, 2, 1] if fragment else [5])
        more = [response.fragment for response in responses]
        assert more == ([True, True, False] if fragment else [False])
        assert [event.kv.key for event in events(call)] == [b"key%d" % n for n in range(5)]


def keys_watch(host: DoorHost, **fields: Any) -> tuple[Call, Any]:
    """Watch an ordinary key."""
    call = host.peer.open(WATCH)
    create = rpc_pb2.WatchCreateRequest(key=b"key", **fields)
    host.send(call, rpc_pb2.WatchRequest(create_request=create))
    asked = host.keys.take()
    host.reply(asked.to, keys.WatchingKeys(7))
    return call, asked
