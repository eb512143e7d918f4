"""`etcdq serve` as a process: what it prints, what it tells systemd, how it ends."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Serve = Callable[..., subprocess.Popen[str]]
ANY_PORT = ("--listen-client-urls", "http://127.0.0.1:0", "--listen-beanstalk", "127.0.0.1:0")
NO_BEANSTALK = ("--listen-beanstalk", "none")
TIMEOUT_S = 30.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts `etcdq serve` with flags and variables."""
    started: list[subprocess.Popen[str]] = []

    def start(*flags: str, closed: bool = False, **variables: str) -> subprocess.Popen[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ETCDQ_")}
        command = [sys.executable, "-m", "etcdq", "serve", *flags]
        process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command] if closed else command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**inherited, **variables},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Wait for the ready line; return it and the port."""
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.search(r"http://127\.0\.0\.1:(\d+)", line)
    assert match, line + process.communicate(timeout=TIMEOUT_S)[1]
    return line, int(match[1])


def beanstalk_port(line: str) -> int:
    """Return the port of the beanstalk door from the ready line."""
    match = re.search(r"beanstalk door on 127\.0\.0\.1:(\d+)", line)
    assert match, line
    return int(match[1])


def end(process: subprocess.Popen[str], *signals: int) -> tuple[int, str]:
    """Send signals; return exit code and stderr."""
    for number in signals:
        process.send_signal(number)
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, stderr


def connect(port: int) -> socket.socket:
    """Open a connection and shake hands, so that a session runs."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
    sock.sendall(PREFACE)
    assert sock.recv(9)
    return sock


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ready_line_and_drain(serve: Serve, number: int) -> None:
    """One line on stdout when the doors are open; a signal drains and the exit code is 0."""
    process = serve(*ANY_PORT)
    line, port = ready(process)

    assert line == (
        f"etcdq 0.1.0 ready: etcd door on http://127.0.0.1:{port}, beanstalk door on"
        f" 127.0.0.1:{beanstalk_port(line)}, memory only (a restart loses everything), queues under"
        " /q/ and /queue/\n"
    )
    code, stderr = end(process, number)
    assert code == 0, stderr
    assert re.search(r"INFO  draining: .* signal=SIG(TERM|INT)\n.* INFO  stopped\n", stderr)


def test_an_idle_connection_does_not_hold_up_the_drain(serve: Serve) -> None:
    """A client without calls is told to go and closed: the node need not wait for it."""
    process = serve(*ANY_PORT, "--drain-timeout", "25s")
    _, port = ready(process)
    with connect(port):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20.0)

    assert process.returncode == 0


def test_a_port_scan_is_no_error(serve: Serve) -> None:
    """Peers that reset before they are let in leave no trace but free descriptors."""
    process = serve(*ANY_PORT)
    _, port = ready(process)
    for _ in range(100):
        sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    connect(port).close()
    code, stderr = end(process, signal.SIGTERM)

    assert code == 0
    assert "ERROR" not in stderr


def test_closed_output(serve: Serve, tmp_path: Path) -> None:
    """A node that was started without stdout and stderr runs and drains all the same."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(TIMEOUT_S)
        process = serve(*ANY_PORT, closed=True, NOTIFY_SOCKET=path)
        assert manager.recv(1000).startswith(b"READY=1\n")
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=TIMEOUT_S) == 0


def test_json_lines(serve: Serve) -> None:
    """With --log-format json every line of stdout and stderr is an object with etcd's keys."""
    process = serve(*ANY_PORT, "--log-format", "json", "--name", "node-1")
    line, port = ready(process)
    _, stderr = end(process, signal.SIGTERM)

    logged = json.loads(line)
    assert list(logged)[:4] == ["level", "ts", "caller", "msg"]
    assert logged["msg"] == "ready to serve client requests"
    assert logged["name"] == "node-1"
    assert logged["listen-client-urls"] == [f"http://127.0.0.1:{port}"]
    assert logged["listen-beanstalk"][0].startswith("127.0.0.1:")
    assert [json.loads(each)["level"] for each in stderr.splitlines()] == ["info", "info"]


def test_systemd_hears(serve: Serve, tmp_path: Path) -> None:
    """READY=1 once the doors are open, STOPPING=1 when they close, WATCHDOG=1 between."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(TIMEOUT_S)
        process = serve(*ANY_PORT, NOTIFY_SOCKET=path, WATCHDOG_USEC="60000000")
        heard = [manager.recv(1000).decode(), manager.recv(1000).decode()]
        line, port = ready(process)

        doors = (
            f"etcd door on http://127.0.0.1:{port},"
            f" beanstalk door on 127.0.0.1:{beanstalk_port(line)}"
        )
        assert f"READY=1\nSTATUS=serving: {doors}" in heard
        assert "WATCHDOG=1" in heard
        connect(port).close()
        end(process, signal.SIGTERM)
        assert manager.recv(1000).startswith(b"STOPPING=1\nSTATUS=draining")


def test_second_signal_stops_now(serve: Serve) -> None:
    """The second signal does not wait for the drain; the exit code is 128 plus its number."""
    process = serve(*ANY_PORT, "--drain-timeout", "1h")
    _, port = ready(process)
    with connect(port) as sock:
        # A call that has begun and does not go on keeps the session busy.
        sock.sendall(begun_call())
        sock.sendall(b"\0\0\x08\6\0\0\0\0\0" + bytes(8))
        wait_for_ping(sock)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert "draining" in process.stderr.readline()
        code, stderr = end(process, signal.SIGINT)

    assert code == 128 + signal.SIGINT
    assert "stopping now, calls are cut signal=SIGINT" in stderr


def test_drain_timeout_cuts(serve: Serve) -> None:
    """Who does not finish within --drain-timeout is cut, and the exit code is still 0."""
    process = serve(*ANY_PORT, "--drain-timeout", "100ms")
    _, port = ready(process)
    with connect(port) as sock:
        sock.sendall(begun_call())
        sock.sendall(b"\0\0\x08\6\0\0\0\0\0" + bytes(8))
        wait_for_ping(sock)
        code, stderr = end(process, signal.SIGTERM)

    assert code == 0
    assert "connections were cut" in stderr


def begun_call() -> bytes:
    """Return the headers of a Put whose body never comes."""
    import hpack

    headers = hpack.Encoder().encode(
        [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/etcdserverpb.KV/Put"),
            (":authority", "localhost"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ]
    )
    return len(headers).to_bytes(3, "big") + b"\1\4\0\0\0\1" + headers


def wait_for_ping(sock: socket.socket) -> None:
    """Read until the answer to our PING: what was sent before it has arrived."""
    received = b""
    while b"\0\0\x08\6\1\0\0\0\0" not in received:
        received += sock.recv(1000)


def test_port_in_use(serve: Serve) -> None:
    """One line and exit code 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        code, stderr = end(serve("--listen-client-urls", url, *NO_BEANSTALK))

    assert code == 1
    assert stderr == f"etcdq: cannot listen on {url}: the port is in use\n"


def test_socket_path_that_cannot_be(serve: Serve) -> None:
    """One line and exit code 1."""
    code, stderr = end(serve("--listen-client-urls", "unix:///does/not/exist", *NO_BEANSTALK))

    assert code == 1
    assert stderr == ("etcdq: cannot listen on unix:///does/not/exist: No such file or directory\n")


def test_file_environment_and_flag(serve: Serve, tmp_path: Path) -> None:
    """--config is read; a variable beats it; a flag beats both."""
    path = tmp_path / "etcdq.yaml"
    path.write_text(
        "name: file\nlog-format: json\nqueue-prefixes: /file/\n"
        "listen-client-urls: http://127.0.0.1:0\nlisten-beanstalk: none\n"
    )
    process = serve("--config", str(path), "--name", "flag", ETCDQ_QUEUE_PREFIXES="/a/,/b/")
    line, _ = ready(process)

    logged = json.loads(line)
    assert logged["name"] == "flag"
    assert logged["queue-prefixes"] == ["/a/", "/b/"]


@pytest.mark.parametrize(
    ("flags", "variables", "line"),
    [
        (
            ["--log-level", "loud"],
            {},
            "etcdq serve: --log-level 'loud': must be one of debug, info, warn, error\n",
        ),
        (
            [],
            {"ETCDQ_LOG_LEVEL": "loud"},
            "etcdq serve: ETCDQ_LOG_LEVEL 'loud': must be one of debug, info, warn, error\n",
        ),
        (
            ["--listen-client-urls", "https://127.0.0.1:2379"],
            {},
            "etcdq serve: --listen-client-urls 'https://127.0.0.1:2379':"
            " TLS is not built yet;"
            " write http://HOST:PORT or unix://PATH\n",
        ),
        (["--data-dir", "x"], {}, "etcdq serve: No such option '--data-dir'.\n"),
        (["--name"], {}, "etcdq: Option '--name' requires an argument.\n"),
        (["extra"], {}, "etcdq serve: Got unexpected extra argument (extra)\n"),
    ],
)
def test_wrong_value(serve: Serve, flags: list[str], variables: dict[str, str], line: str) -> None:
    """One line on stderr, exit code 2, nothing on stdout."""
    process = serve(*flags, **variables)
    stdout, stderr = process.communicate(timeout=TIMEOUT_S)

    assert (process.returncode, stdout, stderr) == (2, "", line)


def test_a_fault_ends_the_process() -> None:
    """A core that fails is logged with its key and message, and the exit code is 70."""
    program = (
        "import sys\n"
        "from etcdq.server import process\n"
        "from etcdq.server.config import load_config\n"
        "def announce(daemon, config):\n"
        "    daemon.node.queue(b'jobs').post('nonsense')\n"
        "process._announce = announce\n"
        "flags = {'listen_client_urls': 'http://127.0.0.1:0', 'listen_beanstalk': 'none'}\n"
        "sys.exit(process.run_node(load_config(flags)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT_S
    )

    assert done.returncode == 70, done.stderr
    assert "a core failed: the node stops rather than serve wrong answers" in done.stderr
    assert "key=b'jobs' message='nonsense'" in done.stderr


def test_version_and_module() -> None:
    """`python -m etcdq --version` is one line."""
    done = subprocess.run(
        [sys.executable, "-m", "etcdq", "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout == "etcdq 0.1.0\n"


def test_help_names_every_flag() -> None:
    """Every setting is in `etcdq serve --help`, under its own name."""
    from etcdq.server.config import NodeConfig

    done = subprocess.run(
        [sys.executable, "-m", "etcdq", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )

    for field in NodeConfig.model_fields:
        assert f"\n  --{field.replace('_', '-')} " in done.stdout
