"""What a watch has sent and its peer has not got: positions, progress, taking back."""

from etcdq.server.etcd.outgoing import Outgoing
from tests.support.door_host import DoorHost
from tests.support.etcd_client import WATCH
from tests.support.etcd_peer import Call


class Stream:
    """A Watch call of a session, two Outgoings on it, and its client."""

    def __init__(self, window: int = 65_535) -> None:
        self.host = DoorHost(window=window, reading=False)
        self.call: Call = self.host.peer.open(WATCH)
        self.host.pump()
        transport = self.host.session.transport
        self.first = Outgoing(transport, self.call.stream_id)
        self.second = Outgoing(transport, self.call.stream_id)

    def look(self, outgoing: Outgoing) -> tuple[int, bool]:
        """Write what can be written, and look."""
        self.host.pump()
        return outgoing.look(self.host.written)

    def widen(self, size: int) -> None:
        """Give window."""
        self.host.peer.widen(size, self.call)
        self.host.pump()


def test_written_at_once() -> None:
    """What window and socket take is written, each response counted once."""
    stream = Stream()
    stream.first.send(b"one")
    stream.first.send(b"two")

    assert stream.look(stream.first) == (2, False)
    assert stream.look(stream.first) == (0, False)
    assert list(stream.call.messages) == [b"one", b"two"]


def test_not_written_before_the_socket_took_it() -> None:
    """Framed is not written: the socket must have taken the bytes."""
    stream = Stream()
    stream.host.socket_takes = False
    stream.first.send(b"one")
    assert stream.look(stream.first)[0] == 0
    assert stream.first.is_framed

    stream.host.socket_takes = True

    assert stream.look(stream.first) == (1, False)
    assert not stream.first.is_framed


def test_window_is_progress() -> None:
    """Each byte framed is progress, told once."""
    stream = Stream(window=0)
    stream.first.send(b"x" * 100)
    assert stream.look(stream.first) == (0, False)
    stream.widen(10)
    assert stream.look(stream.first) == (0, True)
    assert stream.look(stream.first) == (0, False)
    stream.widen(1)
    assert stream.look(stream.first) == (0, True)
    stream.widen(94)
    assert stream.look(stream.first) == (1, False)


def test_what_others_write_is_no_progress() -> None:
    """A half-sent response makes no progress by bytes of other streams."""
    stream = Stream(window=10)
    stream.first.send(b"x" * 100)
    stream.look(stream.first)
    assert stream.look(stream.first) == (0, False)
    for _ in range(3):
        stream.host.peer.h2.ping(b"12345678")
        assert stream.look(stream.first) == (0, False)


def test_the_socket_is_progress() -> None:
    """Bytes framed earlier that the socket takes bit by bit are progress, up to their end."""
    stream = Stream()
    stream.host.socket_takes = False
    stream.first.send(b"x" * 30_000)
    stream.host.pump()
    start, end = stream.host.written, stream.host.written + len(stream.host.backlog)
    assert stream.first.look(start) == (0, True)
    assert stream.first.look(start) == (0, False)
    assert stream.first.look(start + 100) == (0, True)
    assert stream.first.look(start + 100) == (0, False)
    assert stream.first.look(end) == (1, False)


def test_withdraw() -> None:
    """What has not begun is taken back, and what others sent behind it moves up."""
    stream = Stream(window=0)
    stream.first.send(b"one")
    stream.second.send(b"second")
    stream.first.send(b"two")
    ranges = stream.first.withdraw()
    assert ranges is not None
    stream.second.move_up(ranges)

    stream.widen(100)

    assert stream.look(stream.second) == (1, False)
    assert stream.look(stream.first) == (0, False)
    assert list(stream.call.messages) == [b"second"]


def test_withdraw_of_nothing() -> None:
    """Nothing sent: nothing to take back, nothing in the way."""
    assert Stream().first.withdraw() == []


def test_withdraw_too_late() -> None:
    """A response of which a byte is framed cannot be taken back."""
    stream = Stream(window=1)
    stream.first.send(b"one")
    stream.host.pump()

    assert stream.first.withdraw() is None
    assert not stream.first.is_framed


def test_moved_up_positions_hold() -> None:
    """After others were taken back, a response is written when its own bytes are, not before."""
    stream = Stream(window=0)
    stream.first.send(b"x" * 50)
    stream.second.send(b"y" * 50)
    stream.second.send(b"z" * 50)
    ranges = stream.first.withdraw()
    assert ranges == [(0, 55)]
    stream.second.move_up(ranges)

    stream.widen(54)
    assert stream.look(stream.second) == (0, True)
    stream.widen(1)
    assert stream.look(stream.second) == (1, False)
    stream.widen(55)
    assert stream.look(stream.second) == (1, False)
    assert list(stream.call.messages) == [b"y" * 50, b"z" * 50]
