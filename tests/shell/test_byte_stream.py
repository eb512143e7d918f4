"""What lies under a session: sockets without a wasted system call, and any other Trio stream."""

from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import memory_stream_pair

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


async def test_stream() -> None:
    """A stream writes nothing at once, and all of it when waited for."""
    ours, theirs = memory_stream_pair()
    end = byte_stream_of(ours)
    assert end.write_now(b"x") == 0
    assert await end.write_some(b"hello") == 5
    assert await theirs.receive_some(10) == b"hello"
    await theirs.send_all(b"back")
    assert await end.receive() == b"back"
