"""What headers mean: methods, timeouts, encodings and refusals."""

import pytest

from etcdq.actors import limits
from etcdq.server.etcd.transport.frames import ConnectionFault
from etcdq.server.etcd.transport.head import (
    Head,
    HeadReader,
    MalformedError,
    check_trailers,
    parse_timeout,
)
from etcdq.server.etcd.transport.hpack import Field
from tests.support.raw_http2 import METHODS, PUT, WATCH, call


def read(fields: list[Field]) -> Head:
    """Read one head."""
    return HeadReader(METHODS)(list(fields))


def replaced(name: bytes, value: bytes | None) -> list[Field]:
    """A call with one field replaced, or left out."""
    fields = [field for field in call() if field[0] != name]
    return fields if value is None else [*fields, (name, value)]


def refusal(fields: list[Field]) -> tuple[int, int, str]:
    """HTTP status, gRPC code and text of a refused head."""
    refused = read(fields).refusal
    assert refused is not None
    return refused.http_status, refused.code, refused.text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"0n", 0.0),
        (b"1n", 1e-9),
        (b"250u", 250e-6),
        (b"100m", 0.1),
        (b"1S", 1.0),
        (b"2M", 120.0),
        (b"3H", 10_800.0),
        (b"99999999H", 99_999_999 * 3_600.0),
    ],
)
def test_timeout(text: bytes, seconds: float) -> None:
    """Up to 8 digits and a unit."""
    assert parse_timeout(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", [b"", b"S", b"abc", b"5x", b"123456789S", b"-1S", b"1.5S", b" 1S", b"5", b"\xb2S"]
)
def test_bad_timeout_is_internal(text: bytes) -> None:
    """A timeout that is none is answered INTERNAL, never taken as no deadline."""
    assert parse_timeout(text) is None
    http, code, words = refusal(call(b"/test.KV/Put", (b"grpc-timeout", text)))
    assert (http, code) == (200, 13)
    assert words.startswith("malformed grpc-timeout")


def test_two_timeouts_are_internal() -> None:
    """Two timeouts are no timeout."""
    twice = [(b"grpc-timeout", b"1S"), (b"grpc-timeout", b"2S")]
    assert refusal(call(b"/test.KV/Put", *twice))[1] == 13


def test_plain_unary_call() -> None:
    """A unary call with a timeout is plain; one that streams is not."""
    head = read(call(b"/test.KV/Put", (b"grpc-timeout", b"1S")))
    assert head == Head(plain=True, method=PUT, timeout_s=1.0)
    assert read(call(b"/test.Watch/Watch")) == Head(plain=False, method=WATCH)


def test_the_rest_is_remembered_but_not_the_timeout() -> None:
    """Calls that differ in their timeout alone have their own one each."""
    reader = HeadReader(METHODS)
    got = [reader(call(b"/test.KV/Put", (b"grpc-timeout", b"%dS" % n))) for n in (1, 2, 3)]
    assert [head.timeout_s for head in got] == [1.0, 2.0, 3.0]


def test_memory_of_heads_is_bounded() -> None:
    """Ever new fields beside a timeout do not pile up."""
    reader = HeadReader(METHODS)
    for number in range(3 * limits.BLOCK_CACHE_ENTRIES):
        more = [(b"x-id", b"%d" % number), (b"grpc-timeout", b"1S")]
        assert reader(call(b"/test.KV/Put", *more)).plain
    assert len(reader._memo) <= limits.BLOCK_CACHE_ENTRIES


@pytest.mark.parametrize(
    "content_type",
    [b"application/grpc", b"application/grpc+proto", b"application/grpc; charset=utf-8"],
)
def test_content_types_of_grpc(content_type: bytes) -> None:
    """gRPC's content types are taken."""
    assert read(replaced(b"content-type", content_type)).refusal is None


@pytest.mark.parametrize(
    "content_type", [None, b"application/json", b"application/grpcx", b"application/grpc-web"]
)
def test_other_content_types_get_415(content_type: bytes | None) -> None:
    """What is no gRPC is answered 415."""
    assert refusal(replaced(b"content-type", content_type))[0] == 415


def test_get_with_grpc_content_type_gets_405() -> None:
    """gRPC calls are POST."""
    fields = [(b":method", b"GET"), *call()[1:]]
    assert refusal(fields)[0] == 405


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"/test.Nope/Put", "unknown service test.Nope"),
        (b"/test.KV/Nope", "unknown method Nope for service test.KV"),
        (b"/test", 'malformed method name: "/test"'),
        (b"nope", 'malformed method name: "nope"'),
    ],
)
def test_unknown_path_in_grpc_go_words(path: bytes, text: str) -> None:
    """An unknown path is UNIMPLEMENTED, in grpc-go's words."""
    assert refusal(call(path)) == (200, 12, text)


def test_encodings() -> None:
    """identity and gzip are taken, another one is UNIMPLEMENTED and names what is."""
    assert not read(call(b"/test.KV/Put", (b"grpc-encoding", b"identity"))).gzip
    assert read(call(b"/test.KV/Put", (b"grpc-encoding", b"gzip"))).gzip
    refused = read(call(b"/test.KV/Put", (b"grpc-encoding", b"snappy"))).refusal
    assert refused is not None
    assert (refused.code, refused.accept_encoding) == (12, True)
    assert "snappy" in refused.text


def test_absent_te_is_tolerated() -> None:
    """te may be absent, as grpc-go has it."""
    assert read(replaced(b"te", None)).plain


@pytest.mark.parametrize(
    "field",
    [
        (b"x\0y", b"1"),
        (b"x y", b"1"),
        (b"", b"1"),
        (b"x", b"a\r\nb"),
        (b"x", b"a\0"),
        (b"upgrade", b"h2c"),
        (b"transfer-encoding", b"chunked"),
        (b"content-length", b"4x"),
    ],
)
def test_forbidden_fields_are_malformed(field: Field) -> None:
    """Names and values that HTTP/2 forbids make a request malformed."""
    with pytest.raises(MalformedError):
        read(call(b"/test.KV/Put", field))


def test_connect_needs_an_authority() -> None:
    """CONNECT has no path; without an authority it is malformed, with one it is no gRPC."""
    with pytest.raises(MalformedError):
        read([(b":method", b"CONNECT")])
    assert refusal([(b":method", b"CONNECT"), (b":authority", b"x")])[0] == 415


def test_large_header_list_is_refused_and_a_hostile_one_ends_all() -> None:
    """Over 16 KiB the call is RESOURCE_EXHAUSTED, over 64 KiB the connection ends."""
    large = [(b"x-%d" % number, b"v" * 1_000) for number in range(17)]
    assert refusal(call(b"/test.KV/Put", *large))[1] == 8
    with pytest.raises(ConnectionFault):
        read(call(b"/test.KV/Put", *large, *large, *large, *large))


def test_trailers_without_pseudo_fields_pass() -> None:
    """Request trailers may say what they like, but no pseudo-header."""
    check_trailers([(b"x-test", b"ok")])
    with pytest.raises(MalformedError):
        check_trailers([(b":path", b"/")])
