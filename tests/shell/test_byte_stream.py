"""What lies under a session: sockets without a wasted system call, and any other Trio stream."""

import os
from collections.abc import AsyncIterator
from functools import partial

import pytest
import trio
from trio.testing import memory_stream_pair

from etcdq.actors import limits
from etcdq.server.byte_stream import SocketByteStream, TrioByteStream, byte_stream_of


@pytest.fixture
async def sockets() -> AsyncIterator[tuple[trio.SocketStream, trio.SocketStream]]:
    """Two ends of a TCP connection."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        ours = await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1])
        theirs = await listener.accept()
    async with ours, theirs:
        yield ours, theirs


async def test_which_stream(sockets: tuple[trio.SocketStream, trio.SocketStream]) -> None:
    """A socket has a byte stream of its own, any other Trio stream the common one."""
    assert isinstance(byte_stream_of(sockets[0]), SocketByteStream)
    assert isinstance(byte_stream_of(memory_stream_pair()[0]), TrioByteStream)


async def test_socket_receives(sockets: tuple[trio.SocketStream, trio.SocketStream]) -> None:
    """Bytes come as they are there, and nothing at the end."""
    ours, theirs = sockets
    end = byte_stream_of(ours)
    await theirs.send_all(b"hello")
    assert await end.receive() == b"hello"
    await theirs.aclose()
    assert await end.receive() == b""


async def test_socket_waits(sockets: tuple[trio.SocketStream, trio.SocketStream]) -> None:
    """Receive waits until there is something."""
    ours, theirs = sockets
    end = byte_stream_of(ours)
    heard: list[bytes] = []

    async def hear() -> None:
        heard.append(await end.receive())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hear)
        await trio.testing.wait_all_tasks_blocked()
        assert heard == []
        await theirs.send_all(b"late")

    assert heard == [b"late"]


async def test_socket_writes_what_fits(
    sockets: tuple[trio.SocketStream, trio.SocketStream],
) -> None:
    """A full socket takes nothing at once, and more when its peer reads."""
    ours, theirs = sockets
    end = byte_stream_of(ours)
    piece = b"x" * 1_000_000
    written = 0
    while taken := end.write_now(piece):
        written += taken
    assert written > 0

    async def read() -> None:
        nonlocal written
        while written > 0:
            written -= len(await theirs.receive_some(1_000_000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        more = await end.write_some(piece)
        written += more
    assert 0 < more <= len(piece)


async def test_socket_that_broke(sockets: tuple[trio.SocketStream, trio.SocketStream]) -> None:
    """What the world does to a socket comes out as Trio's own error."""
    ours, theirs = sockets
    end = byte_stream_of(ours)
    await ours.send_all(b"unread")
    await theirs.aclose()  # with unread bytes: a reset
    with pytest.raises(trio.BrokenResourceError):
        await end.receive()
    with pytest.raises(trio.BrokenResourceError):
        end.write_now(b"x")
    with pytest.raises(trio.BrokenResourceError):
        await end.write_some(b"x")


# a peer that asks one thing at a time -------------------------------------------------------


class Talk:
    """One that asks and is answered, over a socket that passes bytes on at once."""

    def __init__(self, ours: trio.SocketStream, theirs: trio.SocketStream) -> None:
        self.end = SocketByteStream(ours)
        self._theirs = theirs

    def ask(self) -> None:
        """Let the peer send something."""
        os.write(self._theirs.socket.fileno(), b"more")

    async def slept(self, *, alone: bool = True, answered: bool = True, asked: bool = True) -> bool:
        """Let the peer be answered and ask; return whether others had a turn before it is read."""
        if answered:
            assert self.end.write_now(b"x") == 1
        if asked:
            self.ask()
        try:
            with trio.testing.assert_no_checkpoints():
                assert await self.end.receive(alone=alone) == b"more"
        except AssertionError:
            return True
        return False


@pytest.fixture
async def talk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Talk]:
    """One whose peer counts as quick, however slow this machine is."""
    monkeypatch.setattr(limits, "QUICK_PEER_S", 60.0)
    ours, theirs = (trio.SocketStream(one) for one in trio.socket.socketpair())
    async with ours, theirs:
        yield Talk(ours, theirs)


async def test_a_quick_peer_is_looked_out_for(talk: Talk) -> None:
    """Once it is known as quick; but now and then others have their turn."""
    row = 1 + limits.LOOKS_IN_A_ROW_MAX
    assert [await talk.slept() for _ in range(3 * row)] == 3 * ([True] + [False] * (row - 1))


async def test_others_come_before_it(talk: Talk) -> None:
    """While anybody else has something to do, nobody is looked out for."""
    assert await talk.slept()
    assert await talk.slept(alone=False)
    assert not await talk.slept()


async def test_who_was_not_answered_is_not_expected(talk: Talk) -> None:
    """What it sent last is answered later, or has no answer: it may be long till it speaks."""
    assert await talk.slept()
    assert await talk.slept(answered=False)
    assert not await talk.slept()


async def test_who_is_slow_is_not_looked_out_for(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who lets us sleep for long would do so again."""
    monkeypatch.setattr(limits, "QUICK_PEER_S", 0.0)
    assert [await talk.slept() for _ in range(3)] == [True] * 3


async def test_looks_in_vain_end(talk: Talk) -> None:
    """We sleep then, and for the next packets too; the peer may need the CPU that we run on."""
    assert await talk.slept()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(talk.slept, asked=False))
        await trio.testing.wait_all_tasks_blocked()
        talk.ask()
    rest = limits.LOOKS_REST
    assert [await talk.slept() for _ in range(rest + 1)] == [True] * rest + [False]


async def test_stream() -> None:
    """A stream writes nothing at once, and all of it when waited for."""
    ours, theirs = memory_stream_pair()
    end = byte_stream_of(ours)
    assert end.write_now(b"x") == 0
    assert await end.write_some(b"hello") == 5
    assert await theirs.receive_some(10) == b"hello"
    await theirs.send_all(b"back")
    assert await end.receive() == b"back"
