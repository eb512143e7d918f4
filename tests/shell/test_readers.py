"""The task that reads all sockets: what is read together, who is told what, and when it looks."""

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from etcdq.actors import limits
from etcdq.actors.turns import Seat, Turns
from etcdq.server.readers import Readers
from tests.support.taker import Taker


class WatchedTurns(Turns):
    """Notes which packets were taken together."""

    def __init__(self) -> None:
        super().__init__(())
        self.taken: list[list[bytes]] = []

    def take(self, packets: Iterable[tuple[Seat, bytes]]) -> None:
        """Take them."""
        packets = list(packets)
        self.taken.append([data for _, data in packets])
        super().take(packets)


class WatchedReaders(Readers):
    """Notes how often it slept, and how many looks it meant to take then."""

    turns: WatchedTurns

    def __init__(self) -> None:
        super().__init__(WatchedTurns())
        self.looks: list[int] = []

    def _look(self, looks: int) -> list[tuple[int, int]]:
        ready = super()._look(1)  # nothing comes while we look: all are one task's sockets
        self.looks.append(looks)
        return ready


class Peer:
    """A socket that is read, and its other end."""

    def __init__(self, readers: Readers) -> None:
        self.readers = readers
        self.taker = Taker(readers)
        ours, theirs = trio.socket.socketpair()
        self.ours, self._theirs = ours, theirs
        self.ended: list[object] = []

    def send(self, data: bytes) -> None:
        """Send at once."""
        os.write(self._theirs.fileno(), data)

    async def read(self) -> None:
        """Read until the end, whatever that is."""
        try:
            on = await self.readers.read(self.ours, self.taker.seat, self.taker.read_on)
            self.ended.append(on)
        except Exception as error:
            self.ended.append(error)

    def close(self) -> None:
        """Close the other end."""
        self._theirs.close()

    def close_both(self) -> None:
        """Close both ends."""
        self.ours.close()
        self._theirs.close()


@asynccontextmanager
async def world(
    count: int, *, read: bool = True
) -> AsyncIterator[tuple[WatchedReaders, list[Peer]]]:
    """So many sockets that are read by one task."""
    readers = WatchedReaders()
    peers = [Peer(readers) for _ in range(count)]
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(readers.run)
            if read:
                for peer in peers:
                    nursery.start_soon(peer.read)
                await wait_all_tasks_blocked()
            yield readers, peers
            nursery.cancel_scope.cancel()
    finally:
        for peer in peers:
            peer.close_both()


async def test_what_came_in_the_meantime_is_one_turn() -> None:
    """However many sockets it came from; and each session gets its own."""
    async with world(3) as (readers, peers):
        for number, peer in enumerate(peers):
            peer.send(b"%d" % number)
        await wait_all_tasks_blocked()
        assert [sorted(taken) for taken in readers.turns.taken] == [[b"0", b"1", b"2"]]
        assert [peer.taker.got for peer in peers] == [[b"0"], [b"1"], [b"2"]]


async def test_so_many_sockets_in_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a crowd some are answered before the others are read, and nobody is passed over."""
    monkeypatch.setattr(limits, "READY_MAX", 4)
    async with world(10) as (readers, peers):
        for _ in range(2):
            for peer in peers:
                peer.send(b"x")
            await wait_all_tasks_blocked()
        assert {len(taken) for taken in readers.turns.taken} <= {2, 4}
        assert [b"".join(peer.taker.got) for peer in peers] == [b"xx"] * 10


async def test_the_end_of_one_is_its_own() -> None:
    """The peer closes: its read returns; the others are read on."""
    async with world(2) as (_, (one, two)):
        one.send(b"last")
        one.close()
        await wait_all_tasks_blocked()
        assert (one.taker.got, one.taker.ended, one.ended) == ([b"last"], True, [False])
        two.send(b"more")
        await wait_all_tasks_blocked()
        assert (two.taker.got, two.ended) == ([b"more"], [])


async def test_who_has_ended_hears_it_before_what_others_bring() -> None:
    """So nothing of that is given to who is gone."""
    async with world(3) as (readers, peers):
        peers[0].send(b"x")
        peers[1].close()
        peers[2].send(b"y")
        await wait_all_tasks_blocked()
        assert readers.turns.taken[0][0] == b""
        assert sorted(readers.turns.taken[0]) == [b"", b"x", b"y"]
        assert [peer.taker.ended for peer in peers] == [False, True, False]


async def test_an_error_of_one_is_its_own() -> None:
    """What a session raises afterwards comes out of its own read."""
    async with world(2) as (_, (one, two)):

        def fail() -> None:
            raise LookupError("bad")

        one.taker.after = fail
        one.send(b"x")
        two.send(b"y")
        await wait_all_tasks_blocked()
        assert [str(error) for error in one.ended] == ["bad"]
        two.send(b"z")
        await wait_all_tasks_blocked()
        assert (two.taker.got, two.ended) == ([b"y", b"z"], [])


async def test_a_socket_that_breaks() -> None:
    """The world's error comes out as Trio's, with its cause."""
    async with world(0, read=False) as (readers, _):
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with listener:
            port = listener.socket.getsockname()[1]
            ours = await trio.open_tcp_stream("127.0.0.1", port)
            theirs = await listener.accept()
        taker = Taker(readers)
        async with ours:
            await ours.send_all(b"unread")
            await theirs.aclose()  # with unread bytes: a reset
            with pytest.raises(trio.BrokenResourceError) as caught:
                await readers.read(ours.socket, taker.seat, taker.read_on)
        assert isinstance(caught.value.__cause__, ConnectionResetError)
        assert taker.ended


async def test_a_read_that_is_cancelled_leaves_nothing() -> None:
    """Its descriptor may be another socket's soon."""
    async with world(1, read=False) as (readers, (peer,)):
        with trio.move_on_after(0):
            await peer.read()
        peer.send(b"nobody reads this yet")
        await wait_all_tasks_blocked()
        assert (peer.taker.got, peer.ended) == ([], [])
        with trio.move_on_after(0.01):
            await peer.read()
        assert peer.taker.got == [b"nobody reads this yet"]
        assert readers._intakes == {}


async def test_reads_that_go_on_when_nobody_reads_any_more() -> None:
    """The node ends in whichever order: a session that is cancelled after its reader is none the
    worse."""
    readers = Readers(Turns(()))
    peer = Peer(readers)
    async with trio.open_nursery() as sessions:
        async with trio.open_nursery() as nursery:
            await nursery.start(readers.run)
            sessions.start_soon(peer.read)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        sessions.cancel_scope.cancel()
    peer.close_both()


# looking before sleeping --------------------------------------------------------------------


def answer_until(peer: Peer, packets: int) -> Callable[[], None]:
    """Let the peer send its next packet as soon as it has its answer, so many in all."""

    def after() -> None:
        if len(peer.taker.got) < packets:
            peer.send(b"x")

    return after


async def test_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However quickly packets come: after some time other tasks run, and then it goes on."""
    monkeypatch.setattr(limits, "READ_TURN_S", 0.0)
    async with world(1) as (readers, (peer,)):
        peer.taker.after = answer_until(peer, 5)
        ran: list[int] = []

        async def other() -> None:
            while True:
                ran.append(len(peer.taker.got))
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            peer.send(b"x")
            while len(peer.taker.got) < 5:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert len({1, 2, 3, 4} & set(ran)) >= 2
        assert len(readers.turns.taken) == 5


async def test_quick_packets_are_taken_without_a_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the turn lasts; the look after the last one is in vain."""
    monkeypatch.setattr(limits, "READ_TURN_S", 60.0)
    monkeypatch.setattr(limits, "QUICK_PEER_S", 60.0)
    async with world(1) as (readers, (peer,)):
        peer.taker.after = answer_until(peer, 5)
        peer.send(b"x")
        await wait_all_tasks_blocked()
        assert len(peer.taker.got) == 5
        assert readers.looks == [limits.LOOKS_MAX] * 6


async def test_after_looks_in_vain_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """For some packets: the peer may need the CPU that we run on."""
    monkeypatch.setattr(limits, "QUICK_PEER_S", 60.0)
    async with world(1) as (readers, (peer,)):
        for _ in range(limits.LOOKS_REST + 2):
            peer.send(b"x")
            await wait_all_tasks_blocked()
        many = [limits.LOOKS_MAX] * 2
        assert readers.looks == [*many, *([1, 1] * limits.LOOKS_REST), *many]


async def test_packets_that_come_slowly_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look finds what came while the last was answered; then it sleeps."""
    monkeypatch.setattr(limits, "QUICK_PEER_S", 0.0)
    async with world(1) as (readers, (peer,)):
        for _ in range(3):
            peer.send(b"x")
            await wait_all_tasks_blocked()
        assert readers.looks == [1] * 6
