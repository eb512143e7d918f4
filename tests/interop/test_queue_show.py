"""`etcdq queue show` and `ls` of a tube: what the command line prints of beanstalk's jobs."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.support.processes import clean_environment, free_port, run_etcdq

TIMEOUT_S = 30.0
Show = Callable[..., str]


@pytest.fixture(scope="module")
def show() -> Iterator[Show]:
    """Return what runs `etcdq queue`, on a node with a busy tube that has a "/" in its name."""
    address = f"127.0.0.1:{free_port()}"
    with run_etcdq("--listen-beanstalk", address, "--max-request-bytes", "10") as endpoint:

        def run(*arguments: str) -> str:
            command = [sys.executable, "-m", "etcdq", "queue", *arguments, "--endpoints", endpoint]
            return subprocess.run(
                command,
                capture_output=True,
                check=True,
                text=True,
                timeout=TIMEOUT_S,
                env=clean_environment(),
            ).stdout

        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as beanstalk:
            lines = ["use a/b", "put 0 0 9 1", "x", "watch a/b", "reserve", "bury 1 0"]
            lines += ["put 0 0 9 1", "y", "reserve", ""]
            beanstalk.sendall("\r\n".join(lines).encode())
            received = b""
            while b"RESERVED 2" not in received:
                received += beanstalk.recv(4_096)
            beanstalk.sendall(b"delete 2\r\nput 0 0 9 11\r\nlarge  body\r\nquit\r\n")
            while beanstalk.recv(4_096):
                pass  # until the node closes: then everything is done
        yield run


def test_show(show: Show) -> None:
    """The queue's own figures, and below them those of the tube."""
    head, _, tube = show("show", "a%2Fb").partition("\n\nAS A TUBE\n")

    own, as_tube = (
        dict(line.split(maxsplit=1) for line in text.splitlines()) for text in (head, tube)
    )
    assert (own["name:"], own["ready:"], own["buried:"]) == ("a%2Fb", "1", "1")
    assert (own["oversized_head:"], own["request_bytes_max:"]) == ("True", "10")
    assert (as_tube["using:"], as_tube["reserves_total:"], as_tube["buries_total:"]) == (
        "0",
        "2",
        "1",
    )
    assert as_tube["bury_rate:"] == "0.500000"
    assert float(as_tube["processing_average_s:"]) > 0
    assert as_tube["processing_samples:"] == as_tube["fast_samples:"] == "1"
    assert as_tube["queue_samples:"] == "2"


def test_show_as_json(show: Show) -> None:
    """The same for programs."""
    shown = json.loads(show("show", "a%2fb", "--json"))

    assert shown["summary"]["name"] == "a%2Fb"
    assert shown["oversized_head"] is True
    tube = shown["tube"]
    assert (tube["reserves_total"], tube["buries_total"], tube["slow_samples"]) == (2, 1, 0)
    assert tube["processing_p50_s"] == tube["processing_p99_s"] == tube["processing_max_s"] > 0


def test_list(show: Show) -> None:
    """A tube is listed under its spelled name, which is what the other commands take."""
    rows = [line.split() for line in show("ls").splitlines()]

    assert ["a%2Fb", "1", "0", "0", "1", "0", "0"] in rows
