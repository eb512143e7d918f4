"""Binding addresses: real sockets of this machine."""

import socket
from pathlib import Path

import pytest
import trio

from etcdq.server.listen import ListenError, close, listen
from etcdq.server.values import BeanstalkAddress, ListenUrl


async def test_free_port_is_told() -> None:
    """Port 0 is replaced by the port that was given, and it can be reached."""
    bound = await listen([ListenUrl("127.0.0.1", 0)])

    url = bound[0].url
    assert url.port != 0
    stream = await trio.open_tcp_stream("127.0.0.1", url.port)
    await stream.aclose()
    close(bound)


async def test_kind_of_address_is_kept() -> None:
    """An address of the beanstalk door stays one, with the port that was given."""
    (bound,) = await listen([BeanstalkAddress("127.0.0.1", 0)])
    assert bound.url == BeanstalkAddress("127.0.0.1", bound.url.port)
    assert str(bound.url) == f"127.0.0.1:{bound.url.port}"
    close([bound])


async def test_silent_peers_are_asked() -> None:
    """The kernel finds out about peers that vanished: connections inherit it from the listener."""
    bound = await listen([ListenUrl("127.0.0.1", 0)])
    async with await trio.open_tcp_stream("127.0.0.1", bound[0].url.port):
        ours = (await bound[0].listener.accept()).socket
        assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        times = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        assert [ours.getsockopt(socket.IPPROTO_TCP, time) for time in times] == [60, 10, 3]
        ours.close()
    close(bound)


async def test_port_in_use() -> None:
    """A port somebody has is named in one line; what was bound before it is free again."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            free = other.getsockname()[1]

        with pytest.raises(ListenError) as caught:
            await listen([ListenUrl("127.0.0.1", free), ListenUrl("127.0.0.1", port)])

    assert str(caught.value) == f"cannot listen on http://127.0.0.1:{port}: the port is in use"
    close(await listen([ListenUrl("127.0.0.1", free)]))


async def test_unix_socket(tmp_path: Path) -> None:
    """A path is bound and reached, and removed at the end."""
    path = tmp_path / "etcdq.sock"
    bound = await listen([ListenUrl(path=str(path))])

    stream = await trio.open_unix_socket(str(path))
    await stream.aclose()
    close(bound)

    assert not path.exists()
    close(bound)


async def test_socket_of_a_killed_node_is_taken_over(tmp_path: Path) -> None:
    """A socket's file that nobody listens on is no obstacle."""
    path = str(tmp_path / "etcdq.sock")
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(path)

    close(await listen([ListenUrl(path=path)]))


async def test_socket_of_a_living_node_is_left_alone(tmp_path: Path) -> None:
    """A path where somebody listens is refused, and still reaches him."""
    path = str(tmp_path / "etcdq.sock")
    bound = await listen([ListenUrl(path=path)])

    with pytest.raises(ListenError) as caught:
        await listen([ListenUrl(path=path)])

    assert str(caught.value) == f"cannot listen on unix://{path}: the path exists already"
    await (await trio.open_unix_socket(path)).aclose()
    close(bound)


async def test_a_file_is_left_alone(tmp_path: Path) -> None:
    """A path with something that is no socket is refused, and the file stays."""
    path = tmp_path / "data"
    path.write_text("precious")

    with pytest.raises(ListenError, match="the path exists already"):
        await listen([ListenUrl(path=str(path))])

    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (ListenUrl(path="/does/not/exist"), "No such file or directory"),
        (ListenUrl("192.0.2.1", 0), "Cannot assign requested address"),
        (ListenUrl("a..b", 0), "unknown host 'a..b'"),
    ],
)
async def test_what_cannot_be_bound(url: ListenUrl, why: str) -> None:
    """The line names the address and the reason."""
    with pytest.raises(ListenError) as caught:
        await listen([url])

    assert str(caught.value) == f"cannot listen on {url}: {why}"
