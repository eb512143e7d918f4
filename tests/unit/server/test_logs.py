"""What a log line looks like."""

import io
import json
import re

import pytest

from etcdq.server.logs import open_log


def test_json_has_etcds_keys_in_etcds_order() -> None:
    """One object a line: level, ts in UTC, caller, msg, then the fields."""
    stream = io.StringIO()

    open_log("json", "info", stream)("warning", "slow consumer", {"queue": b"a\xff", "held": 3})

    line = stream.getvalue()
    assert line.count("\n") == 1
    logged = json.loads(line)
    assert list(logged) == ["level", "ts", "caller", "msg", "queue", "held"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", logged.pop("ts"))
    assert re.fullmatch(r"server/test_logs\.py:\d+", logged.pop("caller"))
    assert logged == {"level": "warn", "msg": "slow consumer", "queue": "a\\xff", "held": 3}


def test_text_is_for_people() -> None:
    """Time, level, text, fields; what has blanks or control characters is quoted."""
    stream = io.StringIO()

    open_log("text", "info", stream)("info", "hello", {"a": 1, "b": "x y", "c": b"q\n", "d": ""})

    assert re.fullmatch(r"\S+Z INFO  hello a=1 b='x y' c='q\\n' d=''\n", stream.getvalue())


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warn", "error"]),
        ("info", ["info", "warn", "error"]),
        ("warn", ["warn", "error"]),
        ("error", ["error"]),
    ],
)
def test_level(level: str, written: list[str]) -> None:
    """What is below the level is not written."""
    stream = io.StringIO()
    log = open_log("json", level, stream)

    for each in ("debug", "info", "warning", "error"):
        log(each, "x", {})

    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == written


@pytest.mark.parametrize("style", ["text", "json"])
def test_exception_has_its_traceback(style: str) -> None:
    """An error given as exc_info is written with its cause."""
    stream = io.StringIO()
    try:
        raise KeyError("lost")
    except KeyError as error:
        open_log(style, "info", stream)("error", "failed", {"exc_info": error})

    assert "test_exception_has_its_traceback" in stream.getvalue()
    assert "KeyError: 'lost'" in stream.getvalue()


class Broken(io.StringIO):
    """A terminal that went away."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("state", ["broken", "closed", "absent"])
def test_lost_stream_does_no_harm(state: str) -> None:
    """A line that cannot be written is lost, and nothing else."""
    stream = Broken()
    if state == "closed":
        stream.close()

    open_log("text", "info", None if state == "absent" else stream)("error", "x", {})
