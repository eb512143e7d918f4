"""How a worker's command lines read their flags, and hand them to their children."""

import pytest

from etcdq.endpoint import Endpoint
from etcdq.errors import InvalidArgumentError
from etcdq.worker.launch import Launch, read_probe, read_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("30s", 30), ("1.5m", 90), ("2h", 7200), ("0", 0)]
)
def test_seconds(text: str, seconds: float) -> None:
    """Seconds if no unit is said."""
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "soon", "-1", "1d", "inf", "nan", "1 5"])
def test_no_seconds(text: str) -> None:
    """Anything else is refused, in words that show what would do."""
    with pytest.raises(InvalidArgumentError, match="is no time such as 30s, 5m or 1h"):
        read_seconds(text)


def test_probe() -> None:
    """A port is one of this machine."""
    assert read_probe("8080") == Endpoint("127.0.0.1", 8080)
    assert read_probe("0.0.0.0:80") == Endpoint("0.0.0.0", 80)
    with pytest.raises(InvalidArgumentError, match="PORT or HOST:PORT"):
        read_probe("a b")


def test_flags_of_children() -> None:
    """Each answers probes on a port of its own."""
    assert Launch().flags(0) == ["--child", "--grace", "30.0"]
    launch = Launch(grace_s=5.0, health=Endpoint("127.0.0.1", 8080), connect_tries=3)
    assert launch.flags(2) == [
        *("--child", "--grace", "5.0", "--health", "127.0.0.1:8082", "--connect-tries", "3")
    ]
