"""What networks and clients do to a node that runs as a process: on the real clock."""

import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from etcdq.actors import limits
from etcdq.server.etcd.pb import queues_pb2, rpc_pb2
from tests.support.etcd_client import KV, ONE, QUEUES, TWO, WATCH
from tests.support.etcd_peer import Call, Peer
from tests.support.processes import clean_environment

PATIENCE_S = 10.0
DESCRIPTORS = 64


class Server:
    """`etcdq serve` as a process."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port

    def descriptors(self) -> int:
        """How many files it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_bytes(self) -> int:
        """How much memory it has."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def cpu_s(self) -> float:
        """How long it has computed."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serve(*flags: str, before: Callable[[], None] | None = None) -> Iterator[Server]:
    """Run a node on a free port; `before` is called in its process."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "etcdq", "serve", "--log-level", "error"),
            *("--listen-client-urls", "http://127.0.0.1:0", "--listen-beanstalk", "none", *flags),
        ],
        stdout=subprocess.PIPE,
        env=clean_environment(),
        text=True,
        preexec_fn=before,
    )
    try:
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert match
        yield Server(process, int(match[1]))
    finally:
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A node that the tests of this file share."""
    with serve() as server:
        yield server


class Connection:
    """A client on a blocking socket."""

    def __init__(self, server: Server) -> None:
        self.peer = Peer()
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def read_until(self, predicate: Callable[[], object]) -> None:
        """Carry bytes until something is true."""
        self.socket.sendall(self.peer.take())
        while not predicate():
            self.peer.feed(self.socket.recv(65_536))
            if not self.peer.closed:
                self.socket.sendall(self.peer.take())

    def begin(self, path: str, request: object, *, end: bool = True) -> Call:
        """Send a message on a new call."""
        call = self.peer.open(path)
        self.peer.send(call, request.SerializeToString(), end=end)  # type: ignore[attr-defined]
        return call

    def ask(self, path: str, request: object, reply_type: type) -> object:
        """Make a unary call that must succeed."""
        call = self.begin(path, request)
        self.read_until(lambda: call.ended)
        assert call.status == 0, call.text
        return reply_type.FromString(call.messages[0])  # type: ignore[attr-defined]

    def buried(self, name: str) -> int:
        """How many jobs of a queue are buried."""
        shown = self.ask(
            QUEUES + "Show", queues_pb2.ShowRequest(name=name), queues_pb2.ShowResponse
        )
        return int(shown.summary.buried)  # type: ignore[attr-defined]


def test_a_peer_that_vanishes(server: Server) -> None:
    """A consumer that says nothing any more, while it holds a job, is gone after 10 s; its job is
    buried and its registration ends."""
    with Connection(server) as gone, Connection(server) as other:
        create = rpc_pb2.WatchCreateRequest(key=f"/q/vanish/c/{ONE}".encode())
        watch = gone.begin(WATCH, rpc_pb2.WatchRequest(create_request=create), end=False)
        gone.read_until(lambda: watch.messages)
        put = rpc_pb2.PutRequest(key=b"/q/vanish/p/k", value=b"x")
        other.ask(KV + "Put", put, rpc_pb2.PutResponse)
        gone.read_until(lambda: len(watch.messages) == 2)
        gone.peer.mute = True
        began_s = time.monotonic()

        gone.read_until(lambda: gone.peer.closed)

        passed_s = time.monotonic() - began_s
        assert passed_s >= limits.SILENCE_S + limits.PING_TIMEOUT_S - 1
        assert passed_s <= limits.SILENCE_S + limits.PING_TIMEOUT_S + PATIENCE_S
        assert other.buried("vanish") == 1
        key = f"/q/vanish/c/{ONE}".encode()
        found = other.ask(KV + "Range", rpc_pb2.RangeRequest(key=key), rpc_pb2.RangeResponse)
        assert found.count == 0  # type: ignore[attr-defined]


def test_1000_clients_that_leave_mid_put(server: Server) -> None:
    """Connections that end half way through a put leave no job, no descriptor, no memory."""
    peer = Peer()
    call = peer.open(KV + "Put")
    data = rpc_pb2.PutRequest(key=b"/q/half/p/k", value=b"x" * 1_000).SerializeToString()
    peer.send_data(call, b"\0" + len(data).to_bytes(4, "big") + data[:500], end=False)
    half = peer.take()

    def leave(count: int) -> None:
        for _ in range(count):
            with socket.create_connection(("127.0.0.1", server.port)) as one:
                one.sendall(half)

    def settled() -> tuple[int, int]:
        with Connection(server) as other:
            listed = other.ask(QUEUES + "List", queues_pb2.ListRequest(), queues_pb2.ListResponse)
            names = [one.name for one in listed.queues]  # type: ignore[attr-defined]
            assert "half" not in names
        return server.descriptors(), server.resident_bytes()

    leave(200)  # what is allocated once is allocated now
    deadline_s = time.monotonic() + PATIENCE_S
    descriptors, resident = settled()
    leave(1_000)
    after, resident_after = settled()
    while after > descriptors and time.monotonic() < deadline_s:
        after, resident_after = settled()

    assert after <= descriptors
    assert resident_after - resident < 4_000_000


def test_too_few_descriptors() -> None:
    """With 64 descriptors and 200 connections the node waits without computing, and recovers."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    with serve(before=few) as server:
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        began_s, cpu_s = time.monotonic(), server.cpu_s()
        crowd[-1].settimeout(1.0)
        with pytest.raises(TimeoutError):
            crowd[-1].recv(1)  # it is not let in, and nobody computes
        share = (server.cpu_s() - cpu_s) / (time.monotonic() - began_s)
        for one in crowd:
            one.close()

        with Connection(server) as late:
            put = rpc_pb2.PutRequest(key=b"key", value=b"x")
            late.ask(KV + "Put", put, rpc_pb2.PutResponse)

        assert share < 0.5
        assert server.descriptors() <= DESCRIPTORS


def test_a_grpc_client_that_does_not_read() -> None:
    """A half-sent message ends its call, which a gRPC client reads as UNAVAILABLE; the message
    goes to the next consumer."""
    with (
        serve("--accept-timeout", "300ms", "--consumer-credit", "0,0") as server,
        grpc.insecure_channel(
            f"127.0.0.1:{server.port}", [("grpc.max_receive_message_length", -1)]
        ) as channel,
    ):
        slow = consume(channel, ONE)
        assert next(slow).created
        for _ in range(3):
            put = rpc_pb2.PutRequest(key=b"/q/jobs/p/k", value=b"x" * 1_400_000)
            ask(channel, KV + "Put", put, rpc_pb2.PutResponse)
        registered = rpc_pb2.RangeRequest(key=f"/q/jobs/c/{ONE}".encode())
        deadline_s = time.monotonic() + PATIENCE_S
        while ask(channel, KV + "Range", registered, rpc_pb2.RangeResponse).count:
            assert time.monotonic() < deadline_s
        assert end_of(slow) is grpc.StatusCode.UNAVAILABLE
        show = queues_pb2.ShowRequest(name="jobs")
        summary = ask(channel, QUEUES + "Show", show, queues_pb2.ShowResponse).summary
        assert summary.ready >= 1
        assert summary.ready + summary.buried == 3, "what its window had room for counts as taken"

        other = consume(channel, TWO)
        assert next(other).created
        for _ in range(summary.ready):
            (event,) = next(other).events
            assert len(event.kv.value) == 1_400_000
        other.cancel()


def end_of(call: Any) -> grpc.StatusCode:
    """Read a Watch call until it ends with a status, and return that."""
    try:
        for _ in call:
            pass
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()  # type: ignore[attr-defined]
        return code
    return grpc.StatusCode.OK


def consume(channel: grpc.Channel, consumer: str) -> Any:
    """Begin to watch as a consumer of the queue "jobs"; nothing is read yet."""
    create = rpc_pb2.WatchCreateRequest(key=f"/q/jobs/c/{consumer}".encode())
    method = channel.stream_stream(
        WATCH,
        request_serializer=rpc_pb2.WatchRequest.SerializeToString,
        response_deserializer=rpc_pb2.WatchResponse.FromString,
    )
    return method(iter([rpc_pb2.WatchRequest(create_request=create)]), timeout=PATIENCE_S)


def ask(channel: grpc.Channel, path: str, request: Any, reply_type: Any) -> Any:
    """Make a unary call."""
    method = channel.unary_unary(
        path,
        request_serializer=type(request).SerializeToString,
        response_deserializer=reply_type.FromString,
    )
    return method(request, timeout=PATIENCE_S)
