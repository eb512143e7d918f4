"""What a consumer is said to have got when its connection or its call ends by a fault."""

from etcdq.actors.queue import messages as queue
from etcdq.server.etcd.transport import frames
from tests.support.door_host import DoorHost
from tests.unit.server.etcd.test_watches import INDEX, consumer, events, offered

BROKEN = frames.frame(frames.DATA, 0, 0, b"")
"""DATA on stream 0: the end of a connection."""


def test_an_offer_after_the_end_of_the_connection_is_not_taken() -> None:
    """The server has said GOAWAY when an offer arrives: nothing of it is sent, nothing taken."""
    host = DoorHost()
    call, watch = consumer(host)
    host.peer.raw(BROKEN)
    host.pump()
    assert host.session.transport.closing

    host.tell(offered(watch, b"a"))
    host.session.end(host.now_s)

    assert events(call) == []
    said = host.queue().heard
    assert sum(len(one.taken) for one in said) == 0
    assert type(said[-1]) is queue.Ended


def test_what_a_socket_takes_after_the_end_is_taken() -> None:
    """Framed whole before the server said GOAWAY, and written after it: it was handed over."""
    host = DoorHost()
    call, watch = consumer(host)
    host.socket_takes = False
    host.tell(offered(watch, b"a"))
    assert host.queue().take() == queue.Accepted(watch, (), (INDEX,))
    host.peer.raw(BROKEN)
    host.pump()

    host.socket_takes = True
    host.pump()
    host.session.end(host.now_s)

    assert [event.kv.value for event in events(call)] == [b"a"]
    assert host.queue().heard == [queue.Taken(watch, (INDEX,)), queue.Ended(watch)]
