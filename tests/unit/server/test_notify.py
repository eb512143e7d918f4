"""What the service manager hears."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from etcdq.server.notify import feed_watchdog, notify, watchdog_period_s


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A service manager that listens on a path."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(path)
        sock.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        yield sock


def test_states_are_one_datagram(manager: socket.socket) -> None:
    """Several states go in one datagram, a line each."""
    assert notify("READY=1", "STATUS=serving")

    assert manager.recv(1000) == b"READY=1\nSTATUS=serving"


def test_abstract_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leading @ stands for the zero byte of an abstract name."""
    name = f"etcdq-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        sock.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")

        assert notify("STOPPING=1")
        assert sock.recv(1000) == b"STOPPING=1"


@pytest.mark.parametrize("path", ["", "relative", "/does/not/exist"])
def test_no_manager_is_no_error(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Without a manager, or with one that is gone, nothing happens."""
    monkeypatch.setenv("NOTIFY_SOCKET", path)

    assert not notify("READY=1")


def test_not_started_by_a_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable nothing is sent."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)

    assert not notify("READY=1")


@pytest.mark.parametrize(
    ("limit", "process", "period_s"),
    [
        ("", "", None),
        ("0", "", None),
        ("soon", "", None),
        ("3000000", "", 1.5),
        ("3000000", str(os.getpid()), 1.5),
        ("3000000", "1", None),
    ],
)
def test_watchdog_period(
    monkeypatch: pytest.MonkeyPatch, limit: str, process: str, period_s: float | None
) -> None:
    """Half of the manager's limit, if it is for this process."""
    monkeypatch.setenv("WATCHDOG_USEC", limit)
    monkeypatch.setenv("WATCHDOG_PID", process)

    assert watchdog_period_s() == period_s


async def test_watchdog_is_fed(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """At once and then every period."""
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    monkeypatch.delenv("WATCHDOG_PID", raising=False)

    with trio.move_on_after(4.0):
        await feed_watchdog()

    heard = [manager.recv(100) for _ in range(3)]
    assert heard == [b"WATCHDOG=1"] * 3
    with pytest.raises(BlockingIOError):
        manager.recv(100)


async def test_no_watchdog_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who wants to hear of us: the task ends at once."""
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)

    await feed_watchdog()
