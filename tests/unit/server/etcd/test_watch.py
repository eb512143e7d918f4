"""A Watch call: what its requests ask the actors for, and what it answers."""

from typing import Any

import pytest

from etcdq.actors import limits
from etcdq.actors.message import Address
from etcdq.actors.node import messages as keys
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue.messages import Credit
from etcdq.server.etcd.pb import rpc_pb2
from tests.support.door_host import DoorHost
from tests.support.etcd_client import ONE, WATCH
from tests.support.etcd_peer import Call

NOPUT, NODELETE = rpc_pb2.WatchCreateRequest.NOPUT, rpc_pb2.WatchCreateRequest.NODELETE


class WatchHost(DoorHost):
    """A session with one Watch call."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.stream: Call = self.peer.open(WATCH)

    def create(self, key: str, end: str = "", **fields: Any) -> None:
        """Ask for a watch."""
        create = rpc_pb2.WatchCreateRequest(key=key.encode(), range_end=end.encode(), **fields)
        self.send(self.stream, rpc_pb2.WatchRequest(create_request=create))

    def cancel(self, watch_id: int) -> None:
        """Cancel a watch."""
        cancel = rpc_pb2.WatchCancelRequest(watch_id=watch_id)
        self.send(self.stream, rpc_pb2.WatchRequest(cancel_request=cancel))

    def ask_progress(self) -> None:
        """Ask for progress."""
        progress = rpc_pb2.WatchProgressRequest()
        self.send(self.stream, rpc_pb2.WatchRequest(progress_request=progress))

    def response(self) -> Any:
        """Return the one response that came since."""
        (message,) = self.stream.messages
        self.stream.messages.clear()
        return rpc_pb2.WatchResponse.FromString(message)


def test_a_consumer_registers() -> None:
    """A watch on one consumer key registers at the queue, and is created when that answers."""
    host = WatchHost(credit=Credit(3, 4))
    host.create(f"/queue/jobs/consumer/{ONE.upper()}", start_revision=99, prev_kv=True)

    registration = host.queue().take()
    assert registration.to == registration.watch
    assert isinstance(registration.to, Address)
    assert (registration.consumer, registration.peer) == (ONE, "peer")
    assert registration.credit == Credit(3, 4)
    assert not host.stream.messages

    host.reply(registration.to, queue.Registered())
    response = host.response()
    assert (response.created, response.watch_id, response.header.revision) == (True, 0, 7)


def test_a_watch_on_keys() -> None:
    """Any other watch goes to the key space with all that it asks for."""
    host = WatchHost()
    host.create("a", "b", start_revision=3, prev_kv=True, progress_notify=True, filters=[NOPUT])

    asked = host.keys.take()
    assert asked == keys.WatchKeys(asked.to, asked.to, b"a", b"b", 3, True, False, True, True)
    host.reply(asked.to, keys.WatchingKeys(12))
    assert host.response().header.revision == 12


@pytest.mark.parametrize(
    ("key", "end", "start", "upto"),
    [
        ("", "", b"\0", b""),
        ("key", "\0", b"key", b"\0"),
        ("/q/jobs", "", b"/q/jobs", b""),
        ("/queue/jobs", "", b"/q/jobs", b""),
        ("/q/jobs/word", "", b"/q/jobs/word", b""),
        ("/q/jobs/p/k", "", b"/q/jobs/p/k", b""),
        (f"/q/jobs/c/{ONE}", "\0", f"/q/jobs/c/{ONE}".encode(), b"\0"),
        ("/queue/", "/queue0", b"/q/", b"/q0"),
        ("/queue/jobs/consumer/", "/queue/jobs/consumer0", b"/q/jobs/c/", b"/q/jobs/c0"),
    ],
)
def test_where_a_watch_looks(key: str, end: str, start: bytes, upto: bytes) -> None:
    """Registry keys are watched in the canonical spelling; the rest as it is."""
    host = WatchHost()
    host.create(key, end)
    asked = host.keys.take()
    assert (asked.start, asked.end) == (start, upto)


def test_news_are_spelled_as_asked() -> None:
    """Events of registry keys come in the spelling of the watch."""
    host = WatchHost()
    host.create("/queue/jobs/consumer/", "/queue/jobs/consumer0")
    asked = host.keys.take()
    host.reply(asked.to, keys.WatchingKeys(7))
    host.stream.messages.clear()
    record = keys.KeyValue(b"/q/jobs/c/x", b"node", 8, 8, 1)

    host.tell(keys.Changes(asked.watch, (keys.Change(record, False),), 8))

    assert host.response().events[0].kv.key == b"/queue/jobs/consumer/x"
    assert host.keys.take() == keys.Drained(asked.watch)


def test_noput_is_refused_for_consumers_only() -> None:
    """A consumer that filters PUT out would get nothing: refused, nobody is asked."""
    host = WatchHost()
    host.create(f"/q/jobs/c/{ONE}", filters=[NODELETE, NOPUT])
    response = host.response()
    assert (response.created, response.canceled, response.watch_id) == (True, True, -1)
    assert host.queue().heard == []


def test_cancel() -> None:
    """A cancelled watch tells its actor, and its client, once."""
    host = WatchHost()
    host.create("key", watch_id=5)
    asked = host.keys.take()
    host.reply(asked.to, keys.WatchingKeys(7))
    host.stream.messages.clear()

    host.cancel(5)
    host.cancel(5)

    assert host.keys.take() == keys.UnwatchKeys(asked.watch)
    response = host.response()
    assert (response.canceled, response.watch_id) == (True, 5)


def test_cancel_before_created() -> None:
    """A watch that is cancelled before its actor answered is created first."""
    host = WatchHost()
    host.create("key", watch_id=5)
    asked = host.keys.take()
    host.cancel(5)
    told = [rpc_pb2.WatchResponse.FromString(one) for one in host.stream.messages]
    assert [(one.created, one.canceled) for one in told] == [(True, False), (False, True)]

    host.reply(asked.to, keys.WatchingKeys(7))
    assert len(host.stream.messages) == 2


def test_compacted() -> None:
    """A watch that starts in the compacted past is cancelled with what is left."""
    host = WatchHost()
    host.create("key", start_revision=2)
    asked = host.keys.take()
    host.reply(asked.to, keys.WatchingKeys(7))
    host.stream.messages.clear()

    host.tell(keys.WatchRefused(asked.watch, 5))

    response = host.response()
    assert (response.canceled, response.compact_revision, response.watch_id) == (True, 5, 0)
    assert response.cancel_reason == "etcdserver: mvcc: required revision has been compacted"


def test_progress_is_asked_once_at_a_time() -> None:
    """While an answer is awaited, further questions wait together for one more."""
    host = WatchHost()
    for _ in range(3):
        host.ask_progress()
    first = host.keys.take()
    assert first == keys.AskProgress(first.to, ())

    host.reply(first.to, keys.Progress(7))
    second = host.keys.take()
    host.reply(second.to, keys.Progress(8))

    told = [rpc_pb2.WatchResponse.FromString(one) for one in host.stream.messages]
    assert [(one.watch_id, one.header.revision) for one in told] == [(-1, 7), (-1, 8)]
    assert host.keys.heard == []


def test_who_reads_may_ask_for_ever() -> None:
    """Requests are only counted while their answers are not read."""
    host = WatchHost()
    data = rpc_pb2.WatchRequest(
        cancel_request=rpc_pb2.WatchCancelRequest(watch_id=9)
    ).SerializeToString()
    host.pump()
    stream = host.session._streams[host.stream.stream_id]
    for _ in range(limits.UNREAD_WATCH_REQUESTS_MAX + 10):
        stream.take(data, 0.0)
    host.pump()
    assert not host.stream.ended


def test_reset_ends_all() -> None:
    """A reset of the call ends every watch of it."""
    host = WatchHost()
    host.create("key")
    host.create(f"/q/jobs/c/{ONE}")
    asked, registration = host.keys.take(), host.queue().take()
    host.peer.reset(host.stream)
    host.pump()
    assert host.keys.take() == keys.UnwatchKeys(asked.watch)
    assert host.queue().take() == queue.Ended(registration.watch)
