"""The forms of a key under a queue prefix, and what ranges over them mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.errors import InvalidKeyError
from etcdq.actors.node.ranges import prefix_end
from etcdq.actors.queue.names import queue_name, spelled
from etcdq.server.etcd.keys import (
    ConsumerKey,
    DeliveryKey,
    JobsRange,
    KeyForm,
    KeysRange,
    ProducerKey,
    QueueKey,
    Spelling,
    consumer_identity,
    delivery_key,
)

UUID = b"8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"
USUAL = Spelling((b"/q/", b"/queue/"))

FORMS = [
    (b"/q/jobs", QueueKey(b"jobs")),
    (b"/queue/jobs", QueueKey(b"jobs")),
    (b"/q/jobs/p/k", ProducerKey(b"jobs", b"k", b"k")),
    (b"/queue/jobs/producer/k", ProducerKey(b"jobs", b"k", b"k")),
    (b"/q/jobs/p/k/cut/off", ProducerKey(b"jobs", b"k", b"k")),
    (b"/q/jobs/i/shop/k", ProducerKey(b"jobs", b"shop/k", b"k")),
    (b"/q/jobs/input/shop/k/cut", ProducerKey(b"jobs", b"shop/k", b"k")),
    (b"/q/jobs/c/" + UUID, ConsumerKey(b"jobs", UUID)),
    (b"/q/jobs/consumer/worker", ConsumerKey(b"jobs", b"worker")),
    (b"/q/jobs/1764525600000001/k", DeliveryKey(b"jobs", 1764525600000001, b"k")),
    (b"/q/jobs/1764525600000001/k/cut", DeliveryKey(b"jobs", 1764525600000001, b"k")),
    (b"/q/jobs/17/k", DeliveryKey(b"jobs", -1, b"k")),
    (b"/q/jobs/01764525600000001/k", DeliveryKey(b"jobs", -1, b"k")),
    (
        b"/q/jobs/c/" + UUID + b"/1764525600000001/k",
        DeliveryKey(b"jobs", 1764525600000001, b"k", UUID),
    ),
    (b"/q/p/p/p", ProducerKey(b"p", b"p", b"p")),
    (b"/q/a%2Fb", QueueKey(b"a/b")),
    (b"/queue/a%2fb/p/k%2Fl", ProducerKey(b"a/b", b"k%2Fl", b"k%2Fl")),
    (b"/q/a%2Fb/i/shop/k", ProducerKey(b"a/b", b"shop/k", b"k")),
    (b"/q/%2F/c/" + UUID, ConsumerKey(b"/", UUID)),
    (b"/q/a%2Fb/1764525600000001/7", DeliveryKey(b"a/b", 1764525600000001, b"7")),
    (b"/q/a%2fb/c/w/1764525600000001/7", DeliveryKey(b"a/b", 1764525600000001, b"7", b"w")),
    (b"/q/a%2Eb%252Fc%/p/k", ProducerKey(b"a%2Eb%252Fc%", b"k", b"k")),
    (b"/other/jobs/p/k", None),
    (b"/q", None),
    (b"", None),
]


@pytest.mark.parametrize(("key", "form"), FORMS)
def test_parse(key: bytes, form: KeyForm | None) -> None:
    """Every form is told by its segments; asked twice, the answer is the same."""
    spelling = Spelling((b"/q/", b"/queue/"))
    assert spelling.parse(key) == form
    assert spelling.parse(key) == form


def test_parse_remembers_no_neighbour() -> None:
    """Keys that begin like a producer key seen before are still told apart."""
    spelling = Spelling((b"/q/", b"/queue/"))
    spelling.parse(b"/q/jobs/p/k")
    assert spelling.parse(b"/q/jobs/p/k/p/x") == ProducerKey(b"jobs", b"k", b"k")
    assert spelling.parse(b"/q/jobs/c/p/1764525600000001/x") == DeliveryKey(
        b"jobs", 1764525600000001, b"x", b"p"
    )
    with pytest.raises(InvalidKeyError):
        spelling.parse(b"/q/jobs/p/")
    spelling.parse(b"/q/jobs/i/shop/k")
    assert spelling.parse(b"/q/jobs/i/shop/k") == ProducerKey(b"jobs", b"shop/k", b"k")


def test_what_is_remembered_is_bounded() -> None:
    """However many queues are used, the memory for their leads has a limit."""
    spelling = Spelling((b"/q/",))
    for number in range(limits.KEY_LEADS_MAX + 10):
        spelling.parse(b"/q/%d/p/k" % number)
    assert len(spelling._producer_leads) <= limits.KEY_LEADS_MAX


@given(st.text(alphabet="/qpic0189-a\x00ü%2Ff", max_size=40))
def test_parse_any_key(tail: str) -> None:
    """Any key under a prefix has a form, or is refused with a text that names its prefix."""
    key = b"/q/" + tail.encode()
    try:
        found: object = USUAL.parse(key)
    except InvalidKeyError as error:
        found = error
    if isinstance(found, InvalidKeyError):
        assert "/q/" in found.text
    else:
        assert isinstance(found, KeyForm)
        assert queue_name(spelled(found.name)) == found.name


RANGES = [
    # start, end, meaning
    (b"a", b"b", KeysRange(b"a", b"b")),
    (b"\0", b"\0", KeysRange(b"\0", b"\0")),
    (b"/q/", b"/q0", KeysRange(b"/q/", b"/q0")),
    (b"/queue/", b"/queue0", KeysRange(b"/q/", b"/q0")),
    (b"/queue/a", b"/queue/b", KeysRange(b"/q/a", b"/q/b")),
    (b"/queue/", b"/queue/b", KeysRange(b"/q/", b"/q/b")),
    (b"/queue/a", b"\0", KeysRange(b"/queue/a", b"\0")),
    (b"/q/jobs", b"/q/jobs0", KeysRange(b"/q/jobs", b"/q/jobs0")),
    (b"/q/jobs/", b"/q/k", KeysRange(b"/q/jobs/", b"/q/k")),
    (b"/q/jobs/", b"/q/jobs0", JobsRange(b"jobs", b"/q/jobs/", b"", None)),
    (b"/queue/jobs/", b"/queue/jobs0", JobsRange(b"jobs", b"/queue/jobs/", b"", None)),
    (b"/q/jobs/1", b"/q/jobs/2", JobsRange(b"jobs", b"/q/jobs/", b"1", b"2")),
    (b"/q/jobs/1/k", b"/q/jobs0", JobsRange(b"jobs", b"/q/jobs/", b"1/k", None)),
    (
        b"/q/jobs/c/w/",
        b"/q/jobs/c/w0",
        JobsRange(b"jobs", b"/q/jobs/c/w/", b"", None, b"w"),
    ),
    (
        b"/queue/jobs/consumer/w/1",
        b"/queue/jobs/consumer/w/2",
        JobsRange(b"jobs", b"/queue/jobs/consumer/w/", b"1", b"2", b"w"),
    ),
    (
        b"/queue/jobs/consumer/",
        b"/queue/jobs/consumer0",
        KeysRange(b"/q/jobs/c/", b"/q/jobs/c0", b"/queue/jobs/consumer/", b"/q/jobs/c/"),
    ),
    (
        b"/q/jobs/c/a/",
        b"/q/jobs/c/b/",
        KeysRange(b"/q/jobs/c/a/", b"/q/jobs/c/b/", b"/q/jobs/c/", b"/q/jobs/c/"),
    ),
    (
        b"/q/jobs/c/a",
        b"/q/jobs0",
        KeysRange(b"/q/jobs/c/a", b"/q/jobs/c0", b"/q/jobs/c/", b"/q/jobs/c/"),
    ),
    (b"/q//", b"/q/0", None),
    (b"/q/jobs/2", b"/q/jobs/1", None),
    (b"/q/a%2fb/", b"/q/a%2fb0", JobsRange(b"a/b", b"/q/a%2fb/", b"", None)),
    (
        b"/q/a%2fb/c/w/1",
        b"/q/a%2fb/c/w/2",
        JobsRange(b"a/b", b"/q/a%2fb/c/w/", b"1", b"2", b"w"),
    ),
    (
        b"/queue/a%2fb/c/",
        b"/queue/a%2fb/c0",
        KeysRange(b"/q/a%2Fb/c/", b"/q/a%2Fb/c0", b"/queue/a%2fb/c/", b"/q/a%2Fb/c/"),
    ),
    (b"/queue/a%2F", b"/queue/b", KeysRange(b"/q/a%2F", b"/q/b")),
]


@pytest.mark.parametrize(("start", "end", "meaning"), RANGES)
def test_parse_range(start: bytes, end: bytes, meaning: object) -> None:
    """A range inside one queue means its jobs or its registry keys; any other means keys."""
    assert USUAL.parse_range(start, end) == meaning


KEY = st.text(alphabet="/qpic01a\x00", max_size=14).map(str.encode)


@given(KEY, KEY, st.sampled_from([b"/q/", b"/queue/", b"/q/a/", b"/queue/a/c/", b""]))
def test_parse_any_range(start: bytes, end: bytes, lead: bytes) -> None:
    """Any range means something, and jobs only of the queue that it lies in."""
    start, end = lead + start, lead + end
    meaning = USUAL.parse_range(start, end)
    if isinstance(meaning, JobsRange):
        assert start.startswith(meaning.lead)
        assert end <= prefix_end(meaning.lead)
    if start.startswith(b"/queue/") and b"\0" != end <= b"/queue0":
        assert USUAL.respell_watched(start, end).start.startswith(b"/q/")


def test_delivery_key() -> None:
    """An index has 16 digits, so that keys sort in line order."""
    assert delivery_key(b"/q/jobs/", 42, b"k") == b"/q/jobs/0000000000000042/k"


@given(st.integers(10**15, 10**16 - 1), st.binary(min_size=1).filter(lambda tail: b"/" not in tail))
def test_a_delivery_key_comes_back(index: int, tail: bytes) -> None:
    """What is delivered under a key is found under it."""
    key = delivery_key(b"/queue/jobs/", index, tail)
    assert USUAL.parse(key) == DeliveryKey(b"jobs", index, tail)


@pytest.mark.parametrize(
    "form",
    [UUID, UUID.upper(), UUID.replace(b"-", b""), b"{" + UUID + b"}", b"urn:uuid:" + UUID],
)
def test_consumer_identity(form: bytes) -> None:
    """A UUID in any form is one identity."""
    assert consumer_identity(form) == UUID.decode()


@pytest.mark.parametrize("segment", [b"", b"worker", UUID[:-1], UUID + b"0", b"\xff" * 32])
def test_no_identity(segment: bytes) -> None:
    """What is no UUID has no identity of its own."""
    assert consumer_identity(segment) is None


WATCHED = [
    (b"/q/jobs/", b"/q/jobs0", b"/q/jobs/", b"/q/jobs0"),
    (b"/queue/a%2fb/", b"/queue/a%2fb0", b"/q/a%2Fb/", b"/q/a%2Fb0"),
    (b"/queue/a%2fb/c/x", b"/queue/a%2fb/c/y", b"/q/a%2Fb/c/x", b"/q/a%2Fb/c/y"),
    (b"/q/a%2fb/1", b"/q/a%2fb0", b"/q/a%2Fb/1", b"/q/a%2Fb0"),
]


@pytest.mark.parametrize(("start", "end", "canonical_start", "canonical_end"), WATCHED)
def test_respell_watched(
    start: bytes, end: bytes, canonical_start: bytes, canonical_end: bytes
) -> None:
    """A watch on a range in a queue looks at the queue's registry keys, however it is spelled."""
    found = USUAL.respell_watched(start, end)
    assert (found.start, found.end) == (canonical_start, canonical_end)
    assert found.lead + canonical_start[len(found.canonical) :] == start


def test_spelling_writes_keys() -> None:
    """Registry keys are written in the canonical spelling."""
    assert USUAL.queue_key(b"jobs") == b"/q/jobs"
    assert USUAL.consumer_key(b"jobs", UUID) == b"/q/jobs/c/" + UUID
    assert USUAL.queue_key(b"a/b") == b"/q/a%2Fb"
    assert USUAL.consumer_key(b"a/b", UUID) == b"/q/a%2Fb/c/" + UUID


def test_delivery_keys_are_spelled_as_the_watch() -> None:
    """What delivery keys begin with is what the consumer's own key begins with."""
    assert USUAL.queue_lead(b"/q/jobs/c/w") == b"/q/jobs/"
    assert USUAL.queue_lead(b"/queue/a%2fb/consumer/w") == b"/queue/a%2fb/"


@pytest.mark.parametrize("end", [b"/pppppzzz", b"/aaaaaaazz", b"/queue/a", b"/queue/jobs"])
def test_a_range_that_ends_before_its_start_stays_empty(end: bytes) -> None:
    """Spelled anew, a reversed range would be cut out of the middle of `end`."""
    found = USUAL.parse_range(b"/queue/jobs", end)
    assert isinstance(found, KeysRange)
    assert found.end <= found.start


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                [
                    b"q",
                    b"queue",
                    b"n",
                    b"n%2Fm",
                    b"n%2fm",
                    b"p",
                    b"c",
                    b"i",
                    b"",
                    b"k",
                    b"0001764525600000",
                    b"1764525600000001",
                ]
            ),
            max_size=6,
        ),
        max_size=12,
    )
)
def test_what_was_read_before_changes_no_reading(keys: list[list[bytes]]) -> None:
    """A spelling that has seen many keys reads each key as a fresh one does."""
    used = Spelling((b"/q/", b"/queue/"))
    for segments in keys:
        key = b"/" + b"/".join(segments)
        assert _reading(used, key) == _reading(Spelling((b"/q/", b"/queue/")), key)


def _reading(spelling: Spelling, key: bytes) -> object:
    try:
        return spelling.parse(key)
    except InvalidKeyError as error:
        return error
