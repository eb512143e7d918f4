"""What the headers of a call mean: its method, timeout and encoding, or why it is refused.

Three kinds of bad headers have three answers: what HTTP/2 calls malformed resets the stream
(`MalformedError`), what is well-formed but no gRPC call of ours is answered (`Refusal`), and a
header list made to hurt ends the connection (`ConnectionFault`).
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

from etcdq.actors import limits
from etcdq.actors.errors import RemoteProtocolError
from etcdq.server.etcd.transport import codes
from etcdq.server.etcd.transport.events import MethodLike, Methods
from etcdq.server.etcd.transport.frames import ConnectionFault, ErrorCode
from etcdq.server.etcd.transport.hpack import Field

_OURS: Final = b"etcdq-"
_TIMEOUT: Final = b"grpc-timeout"
_TIMEOUT_UNITS_S: Final = {
    b"n": 1e-9,
    b"u": 1e-6,
    b"m": 1e-3,
    b"S": 1.0,
    b"M": 60.0,
    b"H": 3600.0,
}
_TIMEOUT_DIGITS_MAX: Final = 8

_PSEUDO: Final = frozenset({b":method", b":scheme", b":path", b":authority"})
_OF_A_CONNECTION: Final = frozenset(
    {b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"}
)
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
# Blanks around a value are let through: old clients send them, and nothing here is confused.
_VALUE_BAD: Final = re.compile(rb"[\0\r\n]")
_CONTENT_TYPE: Final = re.compile(rb"application/grpc(\+proto)?[ \t]*(;.*)?", re.IGNORECASE)


class MalformedError(RemoteProtocolError):
    """Headers that RFC 9113 section 8 calls malformed: a stream error."""


class _NoMethod:
    streaming = False


_NO_METHOD: Final = _NoMethod()


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """A call that is answered without its method: a gRPC status, or HTTP 415 or 405."""

    code: int
    text: str
    http_status: int = 200
    accept_encoding: bool = False


class Head(msgspec.Struct, frozen=True, gc=False):
    """What the headers of one call say. `plain`: the method is unary and the message not
    compressed, so that a call that arrives whole needs no stream object."""

    plain: bool
    method: MethodLike = _NO_METHOD
    timeout_s: float | None = None
    gzip: bool = False
    content_length: int | None = None
    refusal: Refusal | None = None
    metadata: tuple[Field, ...] = ()
    """Of a streaming call: the fields that are ours, `etcdq-...`."""


class HeadReader:
    """Reads heads for one connection; call it with the fields of a block.

    A client with deadlines sends the same fields with a fresh `grpc-timeout` in each call, so the
    meaning of the others is remembered.
    """

    __slots__ = ("_memo", "_methods")

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        self._memo: dict[tuple[Field, ...], Head] = {}

    def __call__(self, fields: list[Field]) -> Head:
        """The head that these fields make.

        Raises:
            MalformedError: HTTP/2 forbids such a request.
            ConnectionFault: the header list is far over its limit.
        """
        place = len(fields) - 1  # it is the last field, or near it
        while place >= 0 and fields[place][0] != _TIMEOUT:
            place -= 1
        if place < 0:
            return _read(fields, self._methods)
        text = fields.pop(place)[1]
        key = tuple(fields)
        head = self._memo.get(key)
        if head is None:
            head = _read(fields, self._methods)
            if len(self._memo) >= limits.BLOCK_CACHE_ENTRIES:
                self._memo.clear()
            self._memo[key] = head
        if head.refusal is not None:
            return head
        timeout_s = parse_timeout(text) if len(text) <= _TIMEOUT_DIGITS_MAX + 1 else None
        if timeout_s is None:
            shown = text[:32].decode("latin-1")
            return _refused(codes.INTERNAL, f'malformed grpc-timeout: "{shown}"')
        return Head(
            head.plain, head.method, timeout_s, head.gzip, head.content_length, None, head.metadata
        )


@lru_cache(maxsize=limits.SHORT_STRINGS_MAX)
def parse_timeout(text: bytes) -> float | None:
    """Seconds of a `grpc-timeout` value, or None if it is not 1 to 8 digits and a unit."""
    digits = text[:-1]
    unit_s = _TIMEOUT_UNITS_S.get(text[-1:])
    if unit_s is None or not digits.isdigit() or len(digits) > _TIMEOUT_DIGITS_MAX:
        return None
    return int(digits) * unit_s


def check_trailers(fields: list[Field]) -> None:
    """Check the fields of request trailers, which mean nothing to gRPC servers.

    Raises:
        MalformedError: a pseudo-header field, or a name or value that HTTP/2 forbids.
    """
    for name, value in fields:
        _check_field(name, value)


def _read(fields: list[Field], methods: Methods) -> Head:
    size = sum(len(name) + len(value) + 32 for name, value in fields)
    if size > limits.HEADER_LIST_BYTES_HOSTILE:
        raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, f"header list of {size} bytes")
    pseudo: dict[bytes, bytes] = {}
    regular: dict[bytes, bytes] = {}
    for name, value in fields:
        if name[:1] == b":":
            if regular or name in pseudo or name not in _PSEUDO:
                raise MalformedError(f"pseudo-header field {name!r} misplaced, twice or unknown")
            if _VALUE_BAD.search(value):
                raise MalformedError(f"forbidden byte in {name!r}")
            pseudo[name] = value
        else:
            _check_field(name, value)
            regular[name] = value
    _check_pseudo(pseudo)
    content_length = _content_length(regular.get(b"content-length"))
    if size > limits.HEADER_LIST_BYTES_MAX:
        text = f"header list larger than max ({size} vs. {limits.HEADER_LIST_BYTES_MAX})"
        return _refused(codes.RESOURCE_EXHAUSTED, text)
    return _call(pseudo, regular, content_length, methods)


def _check_field(name: bytes, value: bytes) -> None:
    if not _NAME.fullmatch(name):
        raise MalformedError(f"field name {name[:32]!r}")
    if _VALUE_BAD.search(value):
        raise MalformedError(f"forbidden byte in {name[:32]!r}")
    if name in _OF_A_CONNECTION or (name == b"te" and value != b"trailers"):
        raise MalformedError(f"connection-specific field {name!r}")


def _check_pseudo(pseudo: dict[bytes, bytes]) -> None:
    needed = (
        (b":method", b":authority")
        if pseudo.get(b":method") == b"CONNECT"
        else (b":method", b":scheme", b":path")
    )
    for name in needed:
        if not pseudo.get(name):
            raise MalformedError(f"no {name.decode()}")


def _content_length(text: bytes | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or len(text) > 18:
        raise MalformedError("content-length is not a number")
    return int(text)


def _call(
    pseudo: dict[bytes, bytes],
    regular: dict[bytes, bytes],
    content_length: int | None,
    methods: Methods,
) -> Head:
    """The head of a well-formed request; the order of refusals is grpc-go's."""
    content_type = regular.get(b"content-type", b"")
    if not _CONTENT_TYPE.fullmatch(content_type):
        shown = content_type[:64].decode("latin-1")
        text = f'invalid gRPC request content-type "{shown}"'
        return _refused(codes.INVALID_ARGUMENT, text, 415, content_length)
    if pseudo[b":method"] != b"POST":
        text = "gRPC calls use the method POST"
        return _refused(codes.INTERNAL, text, 405, content_length)
    if _TIMEOUT in regular:
        return _refused(codes.INTERNAL, "malformed grpc-timeout: more than one")
    path = pseudo[b":path"]
    method = methods.get(path)
    if method is None:
        return _refused(codes.UNIMPLEMENTED, _unknown(path, methods))
    encoding = regular.get(b"grpc-encoding", b"identity")
    if encoding not in (b"identity", b"gzip"):
        shown = encoding[:32].decode("latin-1")
        text = f'grpc: Decompressor is not installed for grpc-encoding "{shown}"'
        return Head(False, refusal=Refusal(codes.UNIMPLEMENTED, text, accept_encoding=True))
    gzip = encoding == b"gzip"
    plain = not (gzip or method.streaming)
    metadata: tuple[Field, ...] = ()
    if method.streaming:
        metadata = tuple(field for field in regular.items() if field[0].startswith(_OURS))
    return Head(plain, method, None, gzip, content_length, metadata=metadata)


def _refused(
    code: int, text: str, http_status: int = 200, content_length: int | None = None
) -> Head:
    refusal = Refusal(code, text, http_status)
    return Head(False, content_length=content_length, refusal=refusal)


def _unknown(path: bytes, methods: Methods) -> str:
    """grpc-go's words for a path that names no method."""
    text = path[:256].decode("utf-8", "replace")
    service, slash, method = text[1:].rpartition("/")
    if text[:1] != "/" or not slash:
        return f'malformed method name: "{text}"'
    prefix = f"/{service}/".encode()
    if any(known.startswith(prefix) for known in methods):
        return f"unknown method {method} for service {service}"
    return f"unknown service {service}"
