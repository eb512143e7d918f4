"""h2spec, group `generic`: what every HTTP/2 server must simply take. A test per case.

A request that is no gRPC call is answered 415 with a text, so that plain requests exercise the
whole way of an answer.
"""

import pytest

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.frames import frame, rst_stream, window_update
from tests.support.raw_http2 import GET, PING, POST, Frame, RawClient, data, priority, settings

WINDOW_0 = (frames.SETTING_INITIAL_WINDOW_SIZE, 0)
FULL_HEADERS = frames.END_STREAM | frames.END_HEADERS


def test_1_sends_a_client_connection_preface() -> None:
    """1: the preface is answered with SETTINGS first."""
    client = RawClient(greet=False)
    client.send(frames.PREFACE, settings())
    first = client.take()[0]
    assert (first.kind, first.flags) == (frames.SETTINGS, 0)


def test_2_1_priority_on_idle_stream() -> None:
    """2.1: PRIORITY on an idle stream is taken."""
    client = RawClient()
    client.send(priority(1))
    client.assert_alive()


def test_2_2_window_update_on_half_closed_stream() -> None:
    """2.2: WINDOW_UPDATE on a half-closed (remote) stream lets DATA go."""
    client = RawClient(WINDOW_0)
    client.send(client.headers(1), window_update(1, 1))
    assert [one.payload for one in client.take() if one.kind == frames.DATA] == [b"i"]


def test_2_3_priority_on_half_closed_stream() -> None:
    """2.3: PRIORITY on a half-closed (remote) stream is taken."""
    client = RawClient(WINDOW_0)
    client.send(client.headers(1), priority(1), window_update(1, 1))
    assert [one.payload for one in client.take() if one.kind == frames.DATA] == [b"i"]


def test_2_4_rst_stream_on_half_closed_stream() -> None:
    """2.4: RST_STREAM on a half-closed (remote) stream is taken."""
    client = RawClient(WINDOW_0)
    client.send(client.headers(1), rst_stream(1, frames.ErrorCode.CANCEL))
    client.assert_alive()
    assert client.transport.open_streams == 0


def test_2_5_priority_on_closed_stream() -> None:
    """2.5: PRIORITY on a closed stream is taken."""
    client = RawClient()
    client.send(client.headers(1))
    client.assert_answered(1)
    client.send(priority(1))
    client.assert_alive()


@pytest.mark.parametrize("sizes", [(4,), (4, 4)], ids=["one", "several"])
def test_3_1_data_frames(sizes: tuple[int, ...]) -> None:
    """3.1.1, 3.1.2: DATA frames, one and several, are taken."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False))
    for number, size in enumerate(sizes, 1):
        client.send(data(1, b"x" * size, end=number == len(sizes)))
    client.assert_answered(1)


def test_3_1_3_data_with_padding() -> None:
    """3.1.3: a padded DATA frame is taken."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False))
    client.send(data(1, b"\x05test\0\0\0\0\0", end=True, flags=frames.PADDED))
    client.assert_answered(1)


def test_3_2_1_headers() -> None:
    """3.2.1: a HEADERS frame is taken."""
    client = RawClient()
    client.send(client.headers(1))
    client.assert_answered(1)


def test_3_2_2_headers_with_padding() -> None:
    """3.2.2: a padded HEADERS frame is taken."""
    client = RawClient()
    client.send(client.headers(1, flags=frames.PADDED, before=b"\x08", after=b"\0" * 8))
    client.assert_answered(1)


def test_3_2_3_headers_with_priority() -> None:
    """3.2.3: a HEADERS frame with a priority is taken."""
    client = RawClient()
    client.send(client.headers(1, flags=frames.HAS_PRIORITY, before=b"\0\0\0\0\xff"))
    client.assert_answered(1)


@pytest.mark.parametrize(
    "sent",
    [
        priority(1, weight=0),
        priority(1, weight=255),
        priority(3, depends_on=1),
        priority(1, depends_on=0x8000_0000),
        priority(3),
    ],
    ids=["weight-1", "weight-256", "dependency", "exclusive", "idle-then-lower-stream"],
)
def test_3_3_priority(sent: bytes) -> None:
    """3.3.1 to 3.3.5: PRIORITY of every form before a request is taken."""
    client = RawClient()
    client.send(sent, client.headers(1))
    client.assert_answered(1)


def test_3_4_rst_stream() -> None:
    """3.4: RST_STREAM is taken."""
    client = RawClient()
    client.send(client.headers(1, end=False), rst_stream(1, frames.ErrorCode.CANCEL))
    client.assert_alive()


def test_3_5_settings() -> None:
    """3.5: SETTINGS with every defined value is acknowledged."""
    client = RawClient()
    client.send(settings((1, 4096), (2, 0), (3, 100), (4, 65_535), (5, 16_384), (6, 100)))
    assert client.take() == [Frame(frames.SETTINGS, frames.ACK, 0, b"")]


def test_3_7_ping() -> None:
    """3.7: PING is answered with its own bytes."""
    client = RawClient()
    client.send(PING)
    assert client.take() == [Frame(frames.PING, frames.ACK, 0, b"rawping!")]


def test_3_8_goaway() -> None:
    """3.8: GOAWAY is taken, and the connection goes on for what is open."""
    client = RawClient()
    client.send(frames.goaway(0, 0, b"h2spec"))
    client.assert_alive()


def test_3_9_1_window_update_on_connection() -> None:
    """3.9.1: WINDOW_UPDATE on stream 0 is taken."""
    client = RawClient()
    client.send(window_update(0, 1))
    client.assert_alive()


def test_3_9_2_window_update_on_stream() -> None:
    """3.9.2: WINDOW_UPDATE on a stream, even an ended one, is taken."""
    client = RawClient()
    client.send(client.headers(1), window_update(1, 1))
    client.assert_answered(1)


@pytest.mark.parametrize("cuts", [(5,), (5, 10)], ids=["one", "several"])
def test_3_10_continuation(cuts: tuple[int, ...]) -> None:
    """3.10.1, 3.10.2: a header block over one and several CONTINUATION frames is taken."""
    client = RawClient()
    block = client.block(GET)
    client.send(frame(frames.HEADERS, frames.END_STREAM, 1, block[: cuts[0]]))
    for start, end in zip(cuts, (*cuts[1:], len(block)), strict=True):
        client.send(client.continuation(1, block[start:end], end_headers=end == len(block)))
    client.assert_answered(1)


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_4_1_2_request_without_body(method: bytes) -> None:
    """4.1, 4.2: GET and HEAD requests are answered."""
    client = RawClient()
    client.send(client.headers(1, [(b":method", method), *GET[1:]]))
    client.assert_answered(1)


def test_4_3_post_request() -> None:
    """4.3: a POST request is answered."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), data(1, b"test", end=True))
    client.assert_answered(1)


def test_4_4_post_request_with_trailers() -> None:
    """4.4: a POST request with trailers is answered."""
    client = RawClient()
    fields = [*POST, (b"trailer", b"x-test")]
    client.send(client.headers(1, fields, end=False), data(1, b"test"))
    client.send(client.headers(1, [(b"x-test", b"ok")]))
    client.assert_answered(1)


PLAIN_NAME, PLAIN_VALUE = b"\x06x-test", b"\x06h2spec"
CODED_NAME, CODED_VALUE = b"\x85\xf2\xb2\x4a\x84\xff", b"\x84\x9c\x48\xac\xa4"
USER_AGENT_INDEXED = {"with": b"\x7a", "without": b"\x0f\x2b", "never": b"\x1f\x2b"}
NEW_NAME = {"with": b"\x40", "without": b"\x00", "never": b"\x10"}


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "huffman"])
@pytest.mark.parametrize("indexed", [True, False], ids=["indexed-name", "new-name"])
@pytest.mark.parametrize("kind", ["with", "without", "never"])
def test_5_2_to_13_literal_fields(kind: str, indexed: bool, coded: bool) -> None:
    """5.2 to 5.13: literals with, without and never indexed, in every form, are taken."""
    client = RawClient()
    field = USER_AGENT_INDEXED[kind] if indexed else NEW_NAME[kind]
    if not indexed:
        field += CODED_NAME if coded else PLAIN_NAME
    field += CODED_VALUE if coded else PLAIN_VALUE
    client.send(client.headers(1, client.block(GET) + field))
    client.assert_answered(1)


def test_5_1_indexed_field() -> None:
    """5.1: an indexed field is taken (user-agent, static index 58)."""
    client = RawClient()
    client.send(client.headers(1, client.block(GET) + b"\xba"))
    client.assert_answered(1)


@pytest.mark.parametrize("update", [b"\x20", b"\x3f\x61\x3f\xe1\x1f"], ids=["one", "several"])
def test_5_14_15_table_size_update(update: bytes) -> None:
    """5.14, 5.15: table size updates, one and several, are taken at the start of a block."""
    client = RawClient()
    client.send(client.headers(1, update + client.block(GET)))
    client.assert_answered(1)


def test_header_flags_of_an_answer() -> None:
    """An answer in trailers only would be one frame; a text is HEADERS, DATA, HEADERS."""
    client = RawClient()
    client.send(client.headers(1))
    kinds = [(one.kind, one.flags) for one in client.assert_answered(1)]
    assert kinds == [
        (frames.HEADERS, frames.END_HEADERS),
        (frames.DATA, 0),
        (frames.HEADERS, FULL_HEADERS),
    ]
