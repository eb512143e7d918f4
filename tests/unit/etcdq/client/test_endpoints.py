"""How endpoints are written."""

import pytest

from etcdq import InvalidArgumentError
from etcdq.client.endpoints import choose_endpoints, parse_endpoint
from etcdq.endpoint import Endpoint


@pytest.mark.parametrize(
    ("text", "endpoint", "shown"),
    [
        ("10.0.0.1:2380", Endpoint("10.0.0.1", 2380), "10.0.0.1:2380"),
        ("queue.example", Endpoint("queue.example", 2379), "queue.example:2379"),
        (" http://127.0.0.1:1/ ", Endpoint("127.0.0.1", 1), "127.0.0.1:1"),
        ("[::1]:2380", Endpoint("::1", 2380), "[::1]:2380"),
        ("http://[::1]", Endpoint("::1", 2379), "[::1]:2379"),
        ("unix:///run/q.sock", Endpoint("", 0, "/run/q.sock"), "unix:///run/q.sock"),
        ("unix:/run/q.sock", Endpoint("", 0, "/run/q.sock"), "unix:///run/q.sock"),
    ],
)
def test_forms(text: str, endpoint: Endpoint, shown: str) -> None:
    """Each form is read, and shown again in one way."""
    assert parse_endpoint(text) == endpoint
    assert str(endpoint) == shown


@pytest.mark.parametrize(
    "text",
    ["", ":2379", "h:0", "h:65536", "h:x", "h:1:2", "::1", "[::1", "[::1]2379", "https://h:1",
     "unix://", "tcp://h:1", "h:1/path", "http://", "h:²"],
)  # fmt: skip
def test_refused(text: str) -> None:
    """Anything else is refused, by its name."""
    with pytest.raises(InvalidArgumentError, match="endpoint"):
        parse_endpoint(text)


def test_several_in_one_text() -> None:
    """Texts may hold several, and their order is kept."""
    chosen = choose_endpoints(("a:1, b:2", "c:3"))

    assert [str(one) for one in chosen] == ["a:1", "b:2", "c:3"]


def test_environment_and_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any given, ETCDQ_ENDPOINTS decides, and without it the usual port of this machine."""
    monkeypatch.setenv("ETCDQ_ENDPOINTS", "a:1,b:2")
    assert [str(one) for one in choose_endpoints(())] == ["a:1", "b:2"]
    assert [str(one) for one in choose_endpoints(("c:3",))] == ["c:3"]

    monkeypatch.setenv("ETCDQ_ENDPOINTS", "")
    assert [str(one) for one in choose_endpoints(())] == ["127.0.0.1:2379"]
    monkeypatch.delenv("ETCDQ_ENDPOINTS")
    assert [str(one) for one in choose_endpoints(())] == ["127.0.0.1:2379"]


def test_given_but_empty() -> None:
    """An empty text is no endpoint, and does not mean the default."""
    with pytest.raises(InvalidArgumentError, match="no endpoint"):
        choose_endpoints((" ,",))
