"""How single values are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.server import values
from etcdq.server.values import BeanstalkAddress, ListenUrl


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5.0), ("100ms", 0.1), ("10m", 600.0), ("1h", 3600.0), ("1m30s", 90.0),
     ("1.5s", 1.5), ("7", 7.0), ("0.25", 0.25), (3, 3.0), (2.5, 2.5), ("0", 0.0)],
)  # fmt: skip
def test_durations(text: object, seconds: float) -> None:
    """Go's spelling, and a plain number of seconds."""
    assert values.duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("17", 17), ("1k", 1024), ("1K", 1024), ("3m", 3 << 20), ("2g", 2 << 30), (9, 9)],
)
def test_sizes(text: object, size: int) -> None:
    """Suffixes are powers of 1024, in either case."""
    assert values.size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:2379", ListenUrl("127.0.0.1", 2379)),
        ("http://localhost:0/", ListenUrl("localhost", 0)),
        ("http://[::1]:80", ListenUrl("::1", 80)),
        ("unix:///run/etcdq.sock", ListenUrl(path="/run/etcdq.sock")),
        ("unix://etcdq.sock", ListenUrl(path="etcdq.sock")),
    ],
)
def test_urls(text: str, url: ListenUrl) -> None:
    """A URL is read, and written as clients take it."""
    assert values.listen_urls(text) == (url,)
    assert str(url) == text.rstrip("/")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:11300", BeanstalkAddress("127.0.0.1", 11300)),
        ("localhost:0", BeanstalkAddress("localhost", 0)),
        ("[::1]:80", BeanstalkAddress("::1", 80)),
        ("unix:/run/b.sock", BeanstalkAddress(path="/run/b.sock")),
    ],
)
def test_beanstalk_addresses(text: str, address: BeanstalkAddress) -> None:
    """An address is read, and written as beanstalk clients take it."""
    assert values.beanstalk_address(text) == address
    assert str(address) == text


def test_no_beanstalk_address() -> None:
    """`none` is nowhere."""
    assert values.beanstalk_address("none") is None


def test_two_free_ports_are_two_urls() -> None:
    """Port 0 may be there twice: each is another port."""
    assert len(values.listen_urls("http://127.0.0.1:0, http://127.0.0.1:0")) == 2


@pytest.mark.parametrize(
    "parse",
    [
        values.duration_s, values.positive_duration_s, values.count, values.size_bytes,
        values.request_bytes, values.credit, values.node_name, values.queue_prefixes,
        values.listen_urls, values.choice("text", "json"), values.job_bytes,
        values.beanstalk_address,
    ],
)  # fmt: skip
@given(
    value=st.one_of(
        st.text(),
        st.from_regex(r"(http://|unix://|https://|unix:|).{0,12}", fullmatch=True),
        st.from_regex(r"[0-9.,]{0,8}[a-zA-Z]{0,2}"),
        st.integers(),
        st.floats(),
        st.booleans(),
        st.none(),
        st.lists(st.text()),
        st.dictionaries(st.text(), st.text()),
    )
)
def test_any_value_is_taken_or_refused_in_one_line(parse: object, value: object) -> None:
    """Nothing but ValueError with one line comes out, whatever a YAML file may hold."""
    assert callable(parse)
    told = "taken"
    try:
        parse(value)
    except ValueError as error:
        told = str(error)

    assert told.isprintable()
