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


class Writes(list[str]):
    """A stream, as a list of what was written at once."""

    def write(self, text: str) -> None:
        self.append(text)

    def flush(self) -> None:
        """Nothing is kept back."""


def test_line_is_one_write(logs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes share the standard error: their lines stay whole."""
    writes = Writes()
    monkeypatch.setattr(sys, "stderr", writes)
    worker._set_up_logs()
    structlog.get_logger().info("consumer stopped", done=3)
    (line,) = writes
    assert line.endswith("\n")
    assert json.loads(line) | {"ts": ""} == {
        "done": 3,
        "event": "consumer stopped",
        "level": "info",
        "ts": "",
    }
