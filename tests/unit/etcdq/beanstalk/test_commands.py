"""Commands to bytes, and what is refused before a byte is sent."""

import pytest

from etcdq.beanstalk import commands
from etcdq.beanstalk.commands import PutOptions
from etcdq.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("body", "options", "data"),
    [
        (b"hi", {}, b"put 1024 0 60 2\r\nhi\r\n"),
        (b"", {"priority": 0, "delay_s": 5, "ttr_s": 1}, b"put 0 5 1 0\r\n\r\n"),
        (b"\r\n", {"priority": 2**32 - 1}, b"put 4294967295 0 60 2\r\n\r\n\r\n"),
        (
            b"x",
            {"con": "c:3", "aft": "a", "grp": "g", "idp": "i:300"},
            b"put 1024 0 60 1 idp:i:300 grp:g aft:a con:c:3\r\nx\r\n",
        ),
        (b"x", {"idp": "i", "con": "c"}, b"put 1024 0 60 1 idp:i con:c\r\nx\r\n"),
        (b"x", {"idp": "i:0"}, b"put 1024 0 60 1 idp:i:0\r\nx\r\n"),
    ],
)
def test_put(body: bytes, options: PutOptions, data: bytes) -> None:
    """A put as it is written, its tags in one order."""
    assert commands.put(body, options) == data


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"priority": -1}, "priority -1"),
        ({"priority": 2**32}, "priority 4294967296"),
        ({"delay_s": 0.5}, "delay 0.5"),
        ({"ttr_s": "60"}, "ttr '60'"),
        ({"idp": ""}, "idp ''"),
        ({"idp": "a b"}, "idp 'a b'"),
        ({"idp": "a:b"}, "idp 'a:b'"),
        ({"idp": ":5"}, "idp ''"),
        ({"idp": "a:1:2"}, "idp 'a:1'"),
        ({"idp": "a:4294967296"}, "idp 'a:4294967296'"),
        ({"grp": "a:1"}, "grp 'a:1'"),
        ({"aft": "-a"}, "aft '-a'"),
        ({"con": "a:0"}, "con 'a:0'"),
        ({"con": "a:²"}, "con 'a:²'"),
        ({"con": "x\r\ndelete 5"}, "con"),
    ],
)
def test_refused_put(options: PutOptions, text: str) -> None:
    """A line that the server would not read is not sent: it would take the body for commands."""
    with pytest.raises(InvalidArgumentError) as caught:
        commands.put(b"x", options)

    assert caught.value.text.startswith(text)


@pytest.mark.parametrize("name", ["t", "a-b", "x" * 200, "A1+/;.$_()", "+"])
def test_names(name: str) -> None:
    """Names of the forms that beanstalkd takes."""
    assert commands.name(name) == name


@pytest.mark.parametrize("name", ["", "-x", "a b", "a\r\n", "a:b", "é", "x" * 201, "a\n"])
def test_refused_names(name: str) -> None:
    """Any other name is refused here, by its kind."""
    with pytest.raises(InvalidArgumentError, match="tube"):
        commands.name(name)


def test_watch() -> None:
    """A weight stands behind the name, within tuber's bounds."""
    assert commands.watch("t", None) == b"watch t\r\n"
    assert commands.watch("t", 9999) == b"watch t 9999\r\n"
    for weight in (0, 10_000):
        with pytest.raises(InvalidArgumentError, match="weight"):
            commands.watch("t", weight)


def test_reserve() -> None:
    """With a limit, or without one."""
    assert commands.reserve(None) == b"reserve\r\n"
    assert commands.reserve(0) == b"reserve-with-timeout 0\r\n"
    with pytest.raises(InvalidArgumentError):
        commands.reserve(-1)


def test_delete_batch() -> None:
    """A batch is 1 to 1000 ids."""
    assert commands.delete_batch([5, 2**64 - 1]) == b"delete-batch 5 18446744073709551615\r\n"
    for ids in ([], [1] * 1001, [2**64], [-1]):
        with pytest.raises(InvalidArgumentError):
            commands.delete_batch(ids)
