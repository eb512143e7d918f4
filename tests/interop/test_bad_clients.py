"""Clients that speak something else, or next to nothing, against a real process."""

import http.client
import socket
import ssl
import time
from contextlib import ExitStack, suppress
from typing import NamedTuple

import pytest

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from tests.support.calls import Calls

WAIT_S = 30.0
CALL_S = 5.0
"""How long an honest call may take beside all that, on a machine that has much else to do."""

SETTINGS = frames.frame(frames.SETTINGS, 0, 0, b"")


class Server(NamedTuple):
    """A node in a process of its own."""

    port: int
    calls: Calls

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)

    def is_well(self) -> None:
        """An honest call is answered in good time."""
        begun_s = time.monotonic()
        self.calls.put("honest", "value")
        assert self.calls.get("honest") == "value"
        assert time.monotonic() - begun_s < CALL_S


@pytest.fixture(scope="module")
def server(ours: str, calls: Calls) -> Server:
    """A node that the tests of this file share."""
    return Server(int(ours.rpartition(":")[2]), calls)


def read_all(sock: socket.socket) -> bytes:
    """Return what comes until the server closes."""
    received = b""
    with suppress(ConnectionResetError):
        while data := sock.recv(65_536):
            received += data
    return received


def goaway(received: bytes) -> tuple[int, bytes] | None:
    """Return code and text of the GOAWAY that the bytes end with; None if they do not."""
    position = 0
    last = None
    while position < len(received):
        word, _, _ = frames.FRAME_HEAD.unpack_from(received, position)
        start, position = position + 9, position + 9 + (word >> 8)
        last = (word & 0xFF, received[start:position])
    if last is None or last[0] != frames.GOAWAY:
        return None
    return int.from_bytes(last[1][4:8], "big"), last[1][8:]


def test_tls(server: Server) -> None:
    """A TLS client is turned away at once, not left to wait for the timeout."""
    begun_s = time.monotonic()
    with server.connect() as sock, pytest.raises((ssl.SSLError, ConnectionResetError)):
        ssl.create_default_context().wrap_socket(sock, server_hostname="localhost")

    assert time.monotonic() - begun_s < limits.PREFACE_TIMEOUT_S / 2
    server.is_well()


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_http_1(server: Server, method: str) -> None:
    """A browser, or curl, reads what this port is for."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
    connection.request(method, "/v3/kv/range", body=b"{}" if method == "POST" else None)
    response = connection.getresponse()
    body = response.read()
    connection.close()

    assert response.status == 404
    expected = b"This port speaks gRPC (etcd v3 API) over HTTP/2: use an etcd v3 client.\n"
    assert body == (b"" if method == "HEAD" else expected)
    server.is_well()


def test_noise(server: Server) -> None:
    """Anything else is answered with a GOAWAY and closed."""
    with server.connect() as sock:
        sock.sendall(b"\0\1\2\3 this is no protocol\r\n" * 100)
        assert goaway(read_all(sock)) == (1, b"invalid connection preface")

    server.is_well()


def test_a_thousand_pings(server: Server) -> None:
    """They end their connection with etcd's own words, and no other."""
    with server.connect() as sock:
        sock.sendall(frames.PREFACE + SETTINGS)
        sock.sendall(frames.frame(frames.PING, 0, 0, bytes(8)) * 1_000)
        assert goaway(read_all(sock)) == (11, b"too_many_pings")

    server.is_well()


def test_slowloris(server: Server) -> None:
    """200 connections that say nothing, or one byte after the other, are closed by the timeout.

    Others are served meanwhile.
    """
    begun_s = time.monotonic()
    with ExitStack() as stack:
        socks = [stack.enter_context(server.connect()) for _ in range(200)]
        slow = [sock for number, sock in enumerate(socks) if number % 2]
        for sock in socks:
            sock.setblocking(False)
        turn = 0
        while socks:
            byte = frames.PREFACE[turn : turn + 1]
            turn += 1
            for sock in slow:
                with suppress(BrokenPipeError, ConnectionResetError):
                    sock.send(byte)
            server.is_well()
            elapsed_s = time.monotonic() - begun_s
            socks = [sock for sock in socks if not is_closed(sock)]
            assert len(socks) == 200 or elapsed_s >= limits.PREFACE_TIMEOUT_S - 1
            assert elapsed_s < limits.PREFACE_TIMEOUT_S + WAIT_S
            time.sleep(0.75)  # the timeout is the server's, and cannot be set

    server.is_well()


def is_closed(sock: socket.socket) -> bool:
    """Say whether the server has closed a connection."""
    try:
        while sock.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    return True
