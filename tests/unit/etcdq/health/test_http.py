"""Probes as bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.health.http import Http
from tests.support.health_status import SetStatus

LIVE = b"GET /live HTTP/1.1\r\nhost: x\r\n\r\n"


def http(**state: Any) -> Http:
    """Return the side of a process in this state, at the moment 0."""
    return Http(SetStatus(**state), lambda: 0.0)


def split(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status code, headers and body of one answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    return int(first.split()[1]), {name.lower(): value for name, value in pairs}, body


def test_body_says_how_it_is() -> None:
    """The report as JSON, that nobody may keep."""
    code, headers, body = split(http(beat_s=-0.5).receive(LIVE))

    assert code == 200
    assert (headers["content-type"], headers["cache-control"]) == ("application/json", "no-store")
    assert json.loads(body) == {
        "live": True,
        "ready": True,
        "heartbeat_age_s": 0.5,
        "jobs_running": 2,
        "problems": [],
    }


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [
        ({}, 200, 200),
        ({"is_connected": False}, 200, 503),
        ({"is_accepting": False}, 200, 503),
        ({"beat_s": -30.0}, 503, 503),
        ({"tasks_down": ("touch",)}, 503, 503),
    ],
)
def test_codes(state: dict[str, Any], live: int, ready: int) -> None:
    """A prober reads the status code alone: 503 in the body's words is 503."""
    side = http(**state)

    assert split(side.receive(LIVE))[0] == live
    assert split(side.receive(LIVE.replace(b"/live", b"/ready?verbose")))[0] == ready


def test_metrics() -> None:
    """They are of Prometheus's type, also while it is not well."""
    code, headers, body = split(http(beat_s=-99).receive(LIVE.replace(b"/live", b"/metrics")))

    assert (code, headers["content-type"][:24]) == (200, "text/plain; version=0.0.")
    assert b"etcdq_worker_live 0.0\n" in body


@pytest.mark.parametrize(
    ("first", "code"),
    [(b"GET / ", 404), (b"GET /livest ", 404), (b"POST /live ", 405), (b"DELETE /ready ", 405)],
)
def test_other_requests(first: bytes, code: int) -> None:
    """What else is asked is refused, and the connection goes on."""
    side = http()

    assert split(side.receive(LIVE.replace(b"GET /live ", first)))[0] == code
    assert split(side.receive(LIVE))[0] == 200
    assert not side.is_over


def test_head() -> None:
    """HEAD gets the head of what GET gets."""
    side = http()
    code, headers, body = split(side.receive(LIVE.replace(b"GET", b"HEAD")))

    assert (code, body) == (200, b"")
    assert int(headers["content-length"]) > 50
    assert split(side.receive(LIVE))[2]


def test_segments_and_pipelines() -> None:
    """Byte by byte or three at once: each request is answered, in order."""
    alone = http().receive(LIVE)
    side = http()

    assert b"".join(side.receive(bytes([byte])) for byte in LIVE) == alone
    assert side.receive(LIVE * 3) == alone * 3


@pytest.mark.parametrize(
    "request_",
    [LIVE.replace(b"host: x", b"host: x\r\nconnection: close"), b"GET /live HTTP/1.0\r\n\r\n"],
)
def test_closed_when_the_client_wants_it(request_: bytes) -> None:
    """One answer, and then it is over; what comes behind it is not read."""
    side = http()

    assert split(side.receive(request_ + LIVE))[0] == 200
    assert side.is_over


def test_end() -> None:
    """A client that goes is no fault."""
    side = http()
    assert side.receive(b"") == b""
    assert side.is_over


@pytest.mark.parametrize(
    "data", [b"nonsense\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n", LIVE[:9] + b"x" * 70_000]
)
def test_what_is_no_http(data: bytes) -> None:
    """It is refused once, and over; nothing is kept without bound."""
    side = http()

    assert split(side.receive(data))[0] in (400, 431)
    assert side.is_over


@given(st.lists(st.binary(max_size=40) | st.sampled_from([LIVE, LIVE[:20], LIVE[20:]]), max_size=8))
def test_any_bytes(chunks: list[bytes]) -> None:
    """Whatever comes, nothing raises."""
    side = http()
    for chunk in chunks:
        if side.is_over:
            break
        side.receive(chunk)
