"""The servers under test: started on random ports of 127.0.0.1, ended by pid."""

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import calls
from bench.connection import CallFailedError, Connection
from bench.tube import AnswerError, Tube

_START_S = 15
_STOP_S = 10

OURS = "etcdq"
ETCD = "etcd"
ETCD_NO_FSYNC = "etcd-no-fsync"
BEANSTALKD = "beanstalkd"
KINDS = (OURS, ETCD, ETCD_NO_FSYNC)
BEANSTALK_KINDS = (OURS, BEANSTALKD)
DRAMATIQ, RQ, CELERY = "dramatiq", "rq", "celery"
WORKER_KINDS = (OURS, DRAMATIQ, RQ, CELERY)
"""Frameworks of workers, each on its own broker: that is Redis for all but ours."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers; `ours` says which key forms and commands it knows.

    `port` is that of its etcd door, `beanstalk_port` of the other; 0 where it has none. A Redis
    has its own port in `port`.
    """

    kind: str
    port: int
    beanstalk_port: int
    pid: int

    @property
    def ours(self) -> bool:
        """Whether it is an etcdq."""
        return self.kind == OURS


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None, status
    return int(found[1]) * 1024


def cpu_s(pid: int) -> float:
    """CPU time a process has used, in seconds, to the clock tick (10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _command(kind: str, folder: Path) -> tuple[list[str], int, int]:
    """How to start it, and the ports of its doors."""
    port, peer_port, beanstalk_port = _free_ports(3)
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    if kind == OURS:
        script = Path(sys.executable).with_name("etcdq")
        listen = ["--listen-client-urls", client]
        listen += ["--listen-beanstalk", f"127.0.0.1:{beanstalk_port}"]
        return [str(script), "serve", *listen], port, beanstalk_port
    if kind == BEANSTALKD:
        return ["beanstalkd", "-l", "127.0.0.1", "-p", str(beanstalk_port)], 0, beanstalk_port
    if kind in WORKER_KINDS:
        # Memory only, as ours.
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
        return [*command, "--appendonly", "no", "--dir", str(folder)], port, 0
    command = ["etcd", "--name", "bench", "--data-dir", str(folder / "data"), "--logger", "zap"]
    command += ["--listen-client-urls", client, "--advertise-client-urls", client]
    command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
    command += ["--initial-cluster", f"bench={peer}"]
    if kind == ETCD_NO_FSYNC:
        command.append("--unsafe-no-fsync")
    return command, port, 0


_PACKAGES = {"etcd": "etcd-server", "h2load": "nghttp2-client", "beanstalkd": "beanstalkd"}


def missing() -> str | None:
    """Which Debian package the bench needs and does not find, or None."""
    for program, package in _PACKAGES.items():
        if shutil.which(program) is None:
            return package
    return None


@contextlib.contextmanager
def started(kind: str) -> Iterator[Server]:
    """Start a server of this kind, wait until it answers, and end it afterwards, come what may.

    Raises:
        RuntimeError: it ended, or did not answer in time; the text has the end of its log.
    """
    with tempfile.TemporaryDirectory(prefix="etcdq-bench-") as name:
        folder = Path(name)
        log = folder / "log"
        command, port, beanstalk_port = _command(kind, folder)
        if shutil.which(command[0]) is None:
            raise RuntimeError(f"no {command[0]} here")
        with log.open("wb") as sink:
            # A session of its own: Ctrl-C reaches the bench alone, which then ends its servers.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        server = Server(kind, port, beanstalk_port, process.pid)
        try:
            _await_answer(process, server, " ".join(command), log)
            yield server
        finally:
            _end(process)


def _await_answer(
    process: subprocess.Popen[bytes], server: Server, command: str, log: Path
) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            if _is_redis(server.kind):
                _ping_redis(server.port)
            elif server.port:
                connection = Connection(server.port)
                connection.call(calls.RANGE, calls.get(b"/bench/ready"))
                connection.close()
            if server.beanstalk_port:
                Tube(server.beanstalk_port, b"bench-ready").close()
            return
        except (OSError, CallFailedError, AnswerError) as error:
            if process.poll() is not None or time.monotonic() > deadline:
                end = log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{command} did not answer ({error}):\n{end}") from error
        time.sleep(0.05)


def _is_redis(kind: str) -> bool:
    return kind in WORKER_KINDS and kind != OURS


def _ping_redis(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(b"PING\r\n")
        if connection.recv(100) != b"+PONG\r\n":
            raise AnswerError("it is loading")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
