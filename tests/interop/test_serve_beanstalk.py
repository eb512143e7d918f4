"""The beanstalk door of `etcdq serve` as a process: where it listens, signals, how it ends."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.interop.test_serve import TIMEOUT_S, Serve, beanstalk_port, end, ready, serve

__all__ = ["serve"]

NO_ETCD_PORT = ("--listen-client-urls", "http://127.0.0.1:0")
PUT = b"put 0 0 60 1\r\nx\r\n"
CROWD = 10_000


class Client:
    """A connection to the door."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._file = sock.makefile("rb")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.sock.close()

    def ask(self, line: bytes) -> bytes:
        """Send something; return the next line that comes."""
        self.sock.sendall(line)
        return self._file.readline()

    def rest(self) -> bytes:
        """Return what comes until the other side closes."""
        return self._file.read()


def connect(port: int) -> Client:
    """Open a connection."""
    return Client(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S))


def started(serve: Serve, *flags: str, **variables: str) -> tuple["subprocess.Popen[str]", int]:
    """Start a node with a beanstalk door on a free port; return it and the port."""
    process = serve(*NO_ETCD_PORT, "--listen-beanstalk", "127.0.0.1:0", *flags, **variables)
    line, _ = ready(process)
    return process, beanstalk_port(line)


def test_flags(serve: Serve) -> None:
    """The largest body and the dialect are the operator's."""
    _, port = started(serve, "--max-job-size", "1k", ETCDQ_BEANSTALK_DIALECT="beanstalkd")
    with connect(port) as client:
        body = b"x" * 1024
        assert client.ask(b"put 0 0 60 1024\r\n%b\r\n" % body) == b"INSERTED 1\r\n"
        assert client.ask(b"put 0 0 60 1025\r\n%bx\r\n" % body) == b"JOB_TOO_BIG\r\n"
        assert client.ask(b"undrain\r\n") == b"UNKNOWN_COMMAND\r\n"


def test_none(serve: Serve) -> None:
    """Without the door the ready line has no word of it."""
    line, _ = ready(serve(*NO_ETCD_PORT, "--listen-beanstalk", "none"))
    assert "beanstalk" not in line


def test_unix_socket(serve: Serve, tmp_path: Path) -> None:
    """The file of a killed node is taken over; at the end it is gone."""
    path = tmp_path / "b.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    process = serve(*NO_ETCD_PORT, "--listen-beanstalk", f"unix:{path}")
    line, _ = ready(process)
    assert f"beanstalk door on unix:{path}," in line
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(path))
    with Client(sock) as client:
        assert client.ask(PUT) == b"INSERTED 1\r\n"
    code, stderr = end(process, signal.SIGTERM)
    assert code == 0, stderr
    assert not path.exists()


def test_port_in_use(serve: Serve) -> None:
    """One line and exit code 1; the etcd door is not open either."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, stderr = end(serve(*NO_ETCD_PORT, "--listen-beanstalk", address))
    assert code == 1
    assert stderr == f"etcdq: cannot listen on {address}: the port is in use\n"


@pytest.mark.parametrize(
    ("flag", "value", "text"),
    [
        (
            "--listen-beanstalk",
            "11300",
            "'11300' does not have the form HOST:PORT; write HOST:PORT, unix:PATH, or none for no"
            " beanstalk door",
        ),
        ("--max-job-size", "2g", "'2g': must be between 1 and 1073741824 bytes (1g)"),
        ("--beanstalk-dialect", "redis", "'redis': must be one of tuber, beanstalkd"),
    ],
)
def test_wrong_value(serve: Serve, flag: str, value: str, text: str) -> None:
    """One line on stderr and exit code 2."""
    code, stderr = end(serve(*NO_ETCD_PORT, flag, value))
    assert (code, stderr) == (2, f"etcdq serve: {flag} {text}\n")


def test_sigusr1_refuses_puts(serve: Serve) -> None:
    """At the beanstalk door DRAINING, and `undrain` takes it back; everything else works."""
    process, port = started(serve)
    with connect(port) as client:
        assert client.ask(PUT) == b"INSERTED 1\r\n"
        process.send_signal(signal.SIGUSR1)
        assert process.stderr is not None
        assert "puts are refused from now on signal=SIGUSR1" in process.stderr.readline()
        assert client.ask(PUT) == b"DRAINING\r\n"
        assert client.ask(b"delete 1\r\n") == b"DELETED\r\n"
        assert client.ask(b"undrain\r\n") == b"NOT_DRAINING\r\n"
        assert client.ask(PUT).startswith(b"INSERTED ")


def test_sigterm(serve: Serve) -> None:
    """Who is idle, waits, or is half-way into a body sees its connection close; exit code 0."""
    process, port = started(serve, "--drain-timeout", "25s")
    with connect(port) as idle, connect(port) as waiting, connect(port) as busy:
        assert idle.ask(b"kick 1\r\n") == b"KICKED 0\r\n"
        assert waiting.ask(b"kick 1\r\nreserve\r\n") == b"KICKED 0\r\n"
        assert busy.ask(b"kick 1\r\nput 0 0 60 9\r\nhalf") == b"KICKED 0\r\n"
        process.send_signal(signal.SIGTERM)
        assert [client.rest() for client in (idle, waiting, busy)] == [b"", b"", b""]
    _, stderr = process.communicate(timeout=20.0)
    assert process.returncode == 0, stderr
    assert "cut" not in stderr


def test_ten_thousand_connections_leave_nothing(serve: Serve) -> None:
    """Who waits, holds a job, or is half-way into a body, and goes: no descriptor, job or count."""
    process, port = started(serve)
    lines = (b"reserve\r\n", PUT + b"reserve\r\n", b"put 0 0 60 9\r\nhalf", b"watch t\r\nuse u\r\n")
    with connect(port) as client:
        assert client.ask(b"kick 1\r\n") == b"KICKED 0\r\n"
        before = descriptors(process.pid)
        for number in range(CROWD):
            with connect(port) as one:
                one.sock.sendall(lines[number % len(lines)])
        deadline_s = time.monotonic() + TIMEOUT_S
        while descriptors(process.pid) > before and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert descriptors(process.pid) <= before  # fewer: who asked whether we are ready has gone
        client.sock.sendall(b"flush-tube default\r\nlist-tubes\r\nstats\r\nquit\r\n")
        said = client.rest()
    assert b"\r\n---\n- default\n\r\n" in said
    for line in (b"current-connections: 1", b"current-waiting: 0", b"current-jobs-reserved: 0"):
        assert line in said
    assert b"total-connections: %d" % (CROWD + 1) in said


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
