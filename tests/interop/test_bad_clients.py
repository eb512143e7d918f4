"""Clients that speak something else, or stop half-way, and a server with few descriptors."""

import http.client
import os
import resource
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from hpack import Encoder

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from tests.support.calls import Calls
from tests.support.processes import start_etcdq

WAIT_S = 30.0
CALL_S = 5.0
"""How long an honest call may take beside all that, on a machine that has much else to do."""

SETTINGS = frames.frame(frames.SETTINGS, 0, 0, b"")
WaitUntil = Callable[[Callable[[], object]], None]


class Server(NamedTuple):
    """A node in a process of its own."""

    port: int
    pid: int
    calls: Calls

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)

    @property
    def descriptors(self) -> int:
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    @property
    def cpu_s(self) -> float:
        """Time it has used on a processor."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_bytes(self) -> int:
        """Memory it has."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def is_well(self) -> None:
        """An honest call is answered in good time."""
        begun_s = time.monotonic()
        self.calls.put("honest", "value")
        assert self.calls.get("honest") == "value"
        assert time.monotonic() - begun_s < CALL_S


@contextmanager
def run(descriptors: int = 0) -> Iterator[Server]:
    """Run a node."""
    with (
        start_etcdq(descriptors=descriptors) as (endpoint, process),
        grpc.insecure_channel(endpoint) as channel,
    ):
        yield Server(int(endpoint.rpartition(":")[2]), process.pid, Calls(channel))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A node that the tests of this file share."""
    with run() as server:
        yield server


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


def begun_put() -> bytes:
    """Return a put of 1 MiB, of which the second half is missing."""
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/etcdserverpb.KV/Put"),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    headers = frames.frame(frames.HEADERS, frames.END_HEADERS, 1, Encoder().encode(fields))
    message = b"\0" + (1 << 20).to_bytes(4, "big") + b"\n\x0c/q/cut/p/key" + bytes(1 << 19)
    pieces = (message[n : n + 16_384] for n in range(0, len(message), 16_384))
    data = b"".join(frames.frame(frames.DATA, 0, 1, piece) for piece in pieces)
    return frames.PREFACE + SETTINGS + headers + data


def test_killed_in_the_middle_of_a_put(server: Server, wait_until: WaitUntil) -> None:
    """No job, no key, and nothing is kept: neither descriptors nor memory."""
    server.is_well()
    put = begun_put()
    before = server.descriptors
    for attempt in range(200):
        with server.connect() as sock:
            sock.sendall(put)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if attempt == 50:
            wait_until(lambda: server.descriptors <= before)
            resident_bytes = server.resident_bytes
    wait_until(lambda: server.descriptors <= before)

    # Each left half a MiB behind: what leaked once would be 75 MiB by now.
    assert server.resident_bytes - resident_bytes < 16 << 20
    assert server.calls.get("/q/cut/p/key") is None
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


@pytest.mark.parametrize("descriptors", [64, 96])
def test_few_descriptors(descriptors: int, wait_until: WaitUntil) -> None:
    """With `ulimit -n` that low, 200 connections wait without costing time, until some end."""
    with run(descriptors) as server:
        server.is_well()
        before = server.descriptors
        with ExitStack() as stack:
            socks = [stack.enter_context(server.connect()) for _ in range(200)]
            for sock in socks:
                sock.sendall(frames.PREFACE + SETTINGS)
            served = max(1, descriptors - limits.DESCRIPTORS_RESERVED)
            wait_until(lambda: server.descriptors == before + served - 1)
            spent_s = server.cpu_s
            time.sleep(1.0)  # what a busy loop would use up
            assert server.cpu_s - spent_s < 0.3
            assert server.descriptors == before + served - 1
        wait_until(lambda: server.descriptors <= before)
        server.is_well()
