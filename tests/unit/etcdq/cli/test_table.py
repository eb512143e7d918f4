"""Tables on the command line."""

import pytest

from etcdq.cli.table import BODY_CHARS_MAX, json_bytes, shown, table


def test_columns_are_aligned() -> None:
    """Text to the left, numbers to the right, nothing behind the last column."""
    lines = table(("NAME", "N", "NOTE"), [("a", 5, "x"), ("longer", 12345, "")]).split("\n")

    assert lines == [
        "NAME        N  NOTE",
        "a           5  x",
        "longer  12345",
    ]


def test_empty() -> None:
    """Without rows there is still a head."""
    assert table(("A", "B"), []) == "A  B"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1.25, "1.2"),
        (b"plain", "plain"),
        ("é".encode(), "é"),
        (b"a\nb\x00", "a\\nb\\x00"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"x" * 61, "x" * BODY_CHARS_MAX + "..."),
        (b"x" * 60, "x" * 60),
    ],
)
def test_shown(cell: object, text: str) -> None:
    """Whatever a body holds, it stays on its line and does nothing to the terminal."""
    assert shown(cell) == text


def test_json_bytes() -> None:
    """Bytes are always there as base64, and as text if they are text."""
    assert json_bytes("body", b"hi") == {"body": "hi", "body_base64": "aGk="}
    assert json_bytes("body", b"\xff") == {"body": None, "body_base64": "/w=="}


def test_aligned_as_told() -> None:
    """Texts may be aligned to the right too."""
    assert table(("A", "B"), [("x", "10"), ("yy", "-")], [False, True]).split("\n") == [
        "A    B",
        "x   10",
        "yy   -",
    ]
