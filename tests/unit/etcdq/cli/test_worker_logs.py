"""What `etcdq worker` says of itself."""

import json
import sys
from collections.abc import Iterator

import pytest
import structlog

from etcdq.cli import worker


@pytest.fixture
def logs() -> Iterator[None]:
    """Logs that are not set up yet, and are not afterwards."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


class Stream:
    """Keeps apart what was written at once."""

    def __init__(self) -> None:
        self.writes: list[str] = []

    def write(self, text: str) -> None:
        self.writes.append(text)

    def flush(self) -> None:
        """Nothing is kept back."""


def test_line_is_one_write(logs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes share the standard error: their lines stay whole."""
    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    worker.set_up_logs()
    structlog.get_logger().info("consumer stopped", done=3)
    (line,) = stream.writes
    assert line.endswith("\n")
    assert json.loads(line) | {"ts": ""} == {
        "done": 3,
        "event": "consumer stopped",
        "level": "info",
        "ts": "",
    }
