"""YAML as beanstalkd and tuber write it."""

import pytest
import yaml

from etcdq.server.beanstalk.documents import (
    document,
    list_tubes,
    plain,
    quoted,
    seconds_left,
    six_digits,
    tube_name,
)


def test_fields_in_order() -> None:
    """A document is its mark and one line per field, each line ended by a line feed alone."""
    assert document([("b", 1), ("a", "x")]) == b"---\nb: 1\na: x\n"


def test_list() -> None:
    """Names stand in the order they are given in, without quotes."""
    assert list_tubes([b"default", b"a/b;c.d$e(f)+_-", b"7"]) == (
        b"---\n- default\n- a/b;c.d$e(f)+_-\n- 7\n"
    )


def test_empty_list() -> None:
    """No tube is a mark alone."""
    assert list_tubes([]) == b"---\n"


@pytest.mark.parametrize(
    ("name", "beanstalkd", "tuber"),
    [
        (b"default", "default", '"default"'),
        (b"x" * 200, "x" * 200, f'"{"x" * 200}"'),
        (b"a/b;c.d$e(f)+_-", "a/b;c.d$e(f)+_-", '"a/b;c.d$e(f)+_-"'),
        (b"7", "7", '"7"'),
        ("grün: x".encode(), '"grün: x"', '"grün: x"'),
        (b'a"b\\c', '"a\\"b\\\\c"', '"a\\"b\\\\c"'),
    ],
)
def test_tube_names(name: bytes, beanstalkd: str, tuber: str) -> None:
    """Only tuber quotes a tube; a name that this door cannot say is quoted in both dialects."""
    assert tube_name(name, "beanstalkd") == beanstalkd
    assert tube_name(name, "tuber") == tuber
    assert yaml.safe_load(tuber) == name.decode()


@pytest.mark.parametrize("text", ["x86_64", "Linux 6.1.0-13", "node-7.example", "a"])
def test_plain_texts(text: str) -> None:
    """An ordinary text stands without quotes, as with the references."""
    assert plain(text) == text
    assert yaml.safe_load(text) == text


@pytest.mark.parametrize("text", ["#1 SMP", "a: b", "", " a", "a ", "[x]", 'say "x"', "- a", "é"])
def test_texts_that_need_quotes(text: str) -> None:
    """A text that YAML would misread stands in quotes."""
    assert plain(text) == quoted(text)
    assert yaml.safe_load(plain(text)) == text


@pytest.mark.parametrize(
    ("time_s", "whole"),
    [(0.0, 0), (0.001, 0), (1.0, 0), (1.001, 1), (10.0, 9), (9.3, 9), (9.0, 8), (-3.0, 0)],
)
def test_seconds_left(time_s: float, whole: int) -> None:
    """What is left is rounded down a moment later: a full reservation of 10 s has 9."""
    assert seconds_left(time_s) == whole


def test_longest_time() -> None:
    """The longest TTR is exact."""
    assert seconds_left(4294967295.0) == 4294967294


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0.000000"), (0.1, "0.100000"), (2 / 3, "0.666667"), (1e6, "1000000.000000")],
)
def test_six_digits(number: float, text: str) -> None:
    """Numbers have their millionths, however large or small."""
    assert six_digits(number) == text
