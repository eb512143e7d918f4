"""How keys and queue keys are spelled."""

from uuid import UUID

import pytest

from etcdq import InvalidArgumentError
from etcdq.client.keys import QueueKeys, as_bytes, prefix_end, range_of, split_delivery

UUID_1 = UUID("8F14E45F-CEEA-467F-A0E6-1C0B6D3D7A11")


def test_text_is_utf8() -> None:
    """Text becomes UTF-8, bytes stay what they are."""
    assert as_bytes("ключ") == "ключ".encode()
    assert as_bytes(b"\xff\x00") == b"\xff\x00"


@pytest.mark.parametrize(
    ("prefix", "end"),
    [(b"a", b"b"), (b"a/", b"a0"), (b"a\xff", b"b"), (b"a\xff\xff", b"b"), (b"\xff", b"\0"),
     (b"", b"\0")],
)  # fmt: skip
def test_prefix_end(prefix: bytes, end: bytes) -> None:
    """The end of a prefix is the next key that does not begin with it; none is "to the end"."""
    assert prefix_end(prefix) == end


def test_range_of() -> None:
    """One key, a range, a prefix, everything."""
    assert range_of(b"k", None, prefix=False) == (b"k", b"")
    assert range_of(b"k", b"m", prefix=False) == (b"k", b"m")
    assert range_of(b"k", None, prefix=True) == (b"k", b"l")
    assert range_of(b"", None, prefix=True) == (b"\0", b"\0")
    with pytest.raises(InvalidArgumentError, match="not both"):
        range_of(b"k", b"m", prefix=True)


def test_queue_keys() -> None:
    """Producer and consumer keys as docs/semantics.md section 2 has them."""
    keys = QueueKeys("jobs")

    assert keys.producer(b"job-1") == b"/q/jobs/p/job-1"
    assert keys.consumer(UUID_1) == b"/q/jobs/c/8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"


@pytest.mark.parametrize("name", ["j", "n" * 200, "é" * 100, "a b", "a%2Fb", "%2F" * 200, "p"])
def test_names(name: str) -> None:
    """1 to 200 bytes of UTF-8."""
    assert QueueKeys(name).lead == b"/q/" + name.encode() + b"/"


@pytest.mark.parametrize("name", ["", "n" * 201, "é" * 101, "a/b", "a\nb", "a\x7f", "a\x9f"])
def test_no_names(name: str) -> None:
    """Empty, too long, with a slash or with control characters."""
    with pytest.raises(InvalidArgumentError, match="name"):
        QueueKeys(name)


@pytest.mark.parametrize("key", [b"", b"a/b", b"/"])
def test_message_key_is_one_segment(key: bytes) -> None:
    """A server would cut what follows a slash: that is refused here."""
    with pytest.raises(InvalidArgumentError, match="one segment"):
        QueueKeys("jobs").producer(key)


@pytest.mark.parametrize(
    "lead", [b"/q/jobs/", b"/queue/jobs/", b"/q/jobs/c/8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11/"]
)
def test_split_delivery(lead: bytes) -> None:
    """Index and key are read from the short and the long form, whatever the spelling."""
    assert split_delivery(lead + b"1764525600000001/job-1") == (1764525600000001, b"job-1")


@pytest.mark.parametrize("key", [b"k", b"/q/jobs", b"/q/jobs/x/k"])
def test_no_delivery_key(key: bytes) -> None:
    """Anything without an index is refused."""
    with pytest.raises(ValueError):
        split_delivery(key)
