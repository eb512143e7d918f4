"""How the address of a beanstalk server is written, and where it comes from."""

import pytest

from etcdq.beanstalk.address import ENVIRONMENT_NAMES, choose_address, parse_address
from etcdq.endpoint import Endpoint
from etcdq.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without the variables that name an address."""
    for name in ENVIRONMENT_NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "endpoint", "shown"),
    [
        ("10.0.0.1:11301", Endpoint("10.0.0.1", 11301), "10.0.0.1:11301"),
        ("localhost", Endpoint("localhost", 11300), "localhost:11300"),
        ("beanstalk://h:1", Endpoint("h", 1), "h:1"),
        ("tuber://h", Endpoint("h", 11300), "h:11300"),
        (" tcp://h:2/ ", Endpoint("h", 2), "h:2"),
        ("[::1]:3", Endpoint("::1", 3), "[::1]:3"),
        ("tcp://[::1]", Endpoint("::1", 11300), "[::1]:11300"),
        ("unix:/run/q.sock", Endpoint("", 0, "/run/q.sock"), "unix:///run/q.sock"),
        ("unix:///run/q.sock", Endpoint("", 0, "/run/q.sock"), "unix:///run/q.sock"),
        ("unix:q.sock", Endpoint("", 0, "q.sock"), "unix://q.sock"),
    ],
)
def test_forms(text: str, endpoint: Endpoint, shown: str) -> None:
    """Each form is read, and shown again in one way."""
    assert parse_address(text) == endpoint
    assert str(endpoint) == shown


@pytest.mark.parametrize(
    "text", ["", ":1", "h:0", "h:65536", "h:x", "::1", "[::1", "http://h:1", "unix:", "h/t", "h:²"]
)
def test_refused(text: str) -> None:
    """Anything else is refused, by its name."""
    with pytest.raises(InvalidArgumentError, match="address"):
        parse_address(text)


def test_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given beats our variable, that beats tuber's, that beats the default."""
    assert choose_address(None) == Endpoint("127.0.0.1", 11300)
    monkeypatch.setenv("TUBER_URL", "tuber://b:2")
    assert choose_address(None) == Endpoint("b", 2)
    monkeypatch.setenv("ETCDQ_BEANSTALK_URL", "")
    assert choose_address(None) == Endpoint("b", 2)
    monkeypatch.setenv("ETCDQ_BEANSTALK_URL", "a:1")
    assert choose_address(None) == Endpoint("a", 1)
    assert choose_address("c:3") == Endpoint("c", 3)
