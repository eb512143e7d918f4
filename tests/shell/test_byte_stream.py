"""What lies under a session: sockets without a wasted system call, and any other Trio stream."""

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import memory_stream_pair

from etcdq.actors.turns import Turns
from etcdq.server.byte_stream import SocketByteStream, TrioByteStream, byte_stream_of
from etcdq.server.readers import Readers
from tests.support.taker import Taker


@pytest.fixture
async def sockets() -> AsyncIterator[tuple[trio.SocketStream, trio.SocketStream]]:
    """Two ends of a TCP connection."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        ours = await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1])
        theirs = await listener.accept()
    async with ours, theirs:
        yield ours, theirs


@pytest.fixture
async def readers() -> AsyncIterator[Readers]:
    """Who reads."""
    readers = Readers(Turns(()))
    async with trio.open_nursery() as nursery:
        await nursery.start(readers.run)
        yield readers
        nursery.cancel_scope.cancel()


@pytest.fixture(params=["socket", "stream"])
def ends(
    request: pytest.FixtureRequest, sockets: tuple[trio.SocketStream, trio.SocketStream]
) -> tuple[trio.abc.Stream, trio.abc.Stream]:
    """Two ends of a socket, and of another stream."""
    return sockets if request.param == "socket" else memory_stream_pair()


async def test_which_stream(
    sockets: tuple[trio.SocketStream, trio.SocketStream], readers: Readers
) -> None:
    """A socket has a byte stream of its own, any other Trio stream the common one."""
    assert isinstance(byte_stream_of(sockets[0], readers), SocketByteStream)
    assert isinstance(byte_stream_of(memory_stream_pair()[0], readers), TrioByteStream)


async def test_reads_until_the_peer_ends(
    ends: tuple[trio.abc.Stream, trio.abc.Stream], readers: Readers
) -> None:
    """Each packet as it comes, and the end."""
    ours, theirs = ends
    taker = Taker(readers)
    silent: list[bool] = []

    async def read() -> None:
        went_on = await byte_stream_of(ours, readers).read(taker.seat, taker.read_on)
        silent.append(not went_on)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        assert taker.got == []
        await theirs.send_all(b"hello")
        await trio.testing.wait_all_tasks_blocked()
        await theirs.send_all(b"late")
        await trio.testing.wait_all_tasks_blocked()
        assert (taker.got, silent) == ([b"hello", b"late"], [])
        await theirs.aclose()
    assert (taker.got, silent) == ([b"hello", b"late"], [True])


async def test_reads_until_it_is_enough(
    ends: tuple[trio.abc.Stream, trio.abc.Stream], readers: Readers
) -> None:
    """What comes then stays where it is, until it is read again."""
    ours, theirs = ends
    taker = Taker(readers, enough=1)
    end = byte_stream_of(ours, readers)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(theirs.send_all, b"one")
        assert await end.read(taker.seat, taker.read_on)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(theirs.send_all, b"two")
        await trio.testing.wait_all_tasks_blocked()
        assert taker.got == [b"one"]
        taker.enough = 2
        assert await end.read(taker.seat, taker.read_on)
    assert taker.got == [b"one", b"two"]


async def test_socket_writes_what_fits(
    sockets: tuple[trio.SocketStream, trio.SocketStream], readers: Readers
) -> None:
    """A full socket takes nothing at once, and more when its peer reads."""
    ours, theirs = sockets
    end = byte_stream_of(ours, readers)
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


async def test_socket_that_broke(
    sockets: tuple[trio.SocketStream, trio.SocketStream], readers: Readers
) -> None:
    """What the world does to a socket comes out as Trio's own error."""
    ours, theirs = sockets
    end, taker = byte_stream_of(ours, readers), Taker(readers)
    await ours.send_all(b"unread")
    await theirs.aclose()  # with unread bytes: a reset
    with pytest.raises(trio.BrokenResourceError):
        await end.read(taker.seat, taker.read_on)
    with pytest.raises(trio.BrokenResourceError):
        end.write_now(b"x")
    with pytest.raises(trio.BrokenResourceError):
        await end.write_some(b"x")


async def test_stream(readers: Readers) -> None:
    """A stream writes nothing at once, and all of it when waited for."""
    ours, theirs = memory_stream_pair()
    end = byte_stream_of(ours, readers)
    assert end.write_now(b"x") == 0
    assert await end.write_some(b"hello") == 5
    assert await theirs.receive_some(10) == b"hello"
