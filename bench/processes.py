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

_START_S = 15
_STOP_S = 10

OURS = "etcdq"
ETCD = "etcd"
ETCD_NO_FSYNC = "etcd-no-fsync"
KINDS = (OURS, ETCD, ETCD_NO_FSYNC)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers on port; `ours` says which key forms it knows."""

    kind: str
    port: int
    pid: int

    @property
    def ours(self) -> bool:
        """Whether it is an etcdq, with queues."""
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


def _command(kind: str, folder: Path) -> tuple[list[str], int]:
    port, peer_port = _free_ports(2)
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    if kind == OURS:
        script = Path(sys.executable).with_name("etcdq")
        listen = ["--listen-client-urls", client, "--listen-beanstalk", "none"]
        return [str(script), "serve", *listen], port
    command = ["etcd", "--name", "bench", "--data-dir", str(folder / "data"), "--logger", "zap"]
    command += ["--listen-client-urls", client, "--advertise-client-urls", client]
    command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
    command += ["--initial-cluster", f"bench={peer}"]
    if kind == ETCD_NO_FSYNC:
        command.append("--unsafe-no-fsync")
    return command, port


def missing() -> str | None:
    """Which Debian package the bench needs and does not find, or None."""
    for program, package in (("etcd", "etcd-server"), ("h2load", "nghttp2-client")):
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
        command, port = _command(kind, folder)
        with log.open("wb") as sink:
            # A session of its own: Ctrl-C reaches the bench alone, which then ends its servers.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        try:
            _await_answer(process, port, " ".join(command), log)
            yield Server(kind, port, process.pid)
        finally:
            _end(process)


def _await_answer(process: subprocess.Popen[bytes], port: int, command: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            connection = Connection(port)
            connection.call(calls.RANGE, calls.get(b"/bench/ready"))
            connection.close()
            return
        except (OSError, CallFailedError) as error:
            if process.poll() is not None or time.monotonic() > deadline:
                end = log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{command} did not answer ({error}):\n{end}") from error
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
