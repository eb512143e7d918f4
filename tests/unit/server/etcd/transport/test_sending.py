"""Answers: constant blocks, windows, turns, positions, and what is taken back."""

import pytest

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import TransportLimits
from etcdq.server.etcd.transport.frames import ErrorCode, rst_stream, window_update
from etcdq.server.etcd.transport.hpack import literal_block
from etcdq.server.etcd.transport.sending import percent_encode, status_fields
from tests.support.raw_http2 import WATCH_CALL, Frame, RawClient, call, data, prefixed, settings

CALL = call()
WINDOW = frames.SETTING_INITIAL_WINDOW_SIZE
OK_HEADERS = ((b":status", b"200"), (b"content-type", b"application/grpc"))
LAST = frames.END_STREAM | frames.END_HEADERS


def unary(client: RawClient, stream_id: int, message: bytes = b"x") -> None:
    """Deliver a whole unary call."""
    client.send(client.headers(stream_id, CALL, end=False))
    client.send(data(stream_id, prefixed(message), end=True))


def whole(client: RawClient, *stream_ids: int) -> None:
    """Deliver whole unary calls the fast way, each in one chunk."""
    for stream_id in stream_ids:
        head = client.headers(stream_id, CALL, end=False)
        client.send(head + data(stream_id, prefixed(b"x"), end=True))


def watch(client: RawClient, *stream_ids: int) -> None:
    """Open streaming calls."""
    client.send(*(client.headers(stream_id, WATCH_CALL, end=False) for stream_id in stream_ids))


def payloads(taken: list[Frame], stream_id: int) -> bytes:
    """DATA of one stream, joined."""
    mine = (one for one in taken if one.kind == frames.DATA and one.stream_id == stream_id)
    return b"".join(one.payload for one in mine)


@pytest.mark.parametrize("deliver", [unary, whole])
def test_unary_answer(deliver: object) -> None:
    """However a call arrived, its answer is HEADERS, DATA, trailers, and it is forgotten."""
    client = RawClient()
    assert callable(deliver)
    deliver(client, 1)
    client.transport.reply(1, b"answer")
    assert client.take() == [
        Frame(1, frames.END_HEADERS, 1, client_block(OK_HEADERS), OK_HEADERS),
        Frame(0, 0, 1, prefixed(b"answer")),
        Frame(1, LAST, 1, client_block(((b"grpc-status", b"0"),)), ((b"grpc-status", b"0"),)),
    ]
    assert client.transport.open_streams == 0


def client_block(fields: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """A block as the server writes it."""
    return literal_block(list(fields))


def test_empty_answer() -> None:
    """An empty message still has its prefix."""
    client = RawClient()
    whole(client, 1)
    client.transport.reply(1, b"")
    assert payloads(client.take(), 1) == prefixed(b"")


def test_answer_larger_than_a_frame_is_cut() -> None:
    """DATA frames are at most 16 KiB, and nothing is lost between them."""
    client = RawClient((WINDOW, 10**6))
    client.send(window_update(0, 10**6))
    whole(client, 1)
    client.transport.reply(1, b"y" * 40_000)
    taken = client.take()
    sizes = [len(one.payload) for one in taken if one.kind == frames.DATA]
    assert sizes == [16_384, 16_384, 40_005 - 2 * 16_384]
    assert taken[-1].fields == ((b"grpc-status", b"0"),)


def test_error_without_answer_is_trailers_only() -> None:
    """A status alone is one HEADERS frame."""
    client = RawClient()
    whole(client, 1)
    client.transport.finish(1, 3, "ünfit 100%\n")
    (only,) = client.take()
    assert only.flags == LAST
    assert only.fields == (
        *OK_HEADERS,
        (b"grpc-status", b"3"),
        (b"grpc-message", b"%C3%BCnfit 100%25%0A"),
    )


def test_status_text_is_bounded() -> None:
    """However long a text is, its HEADERS frame stays within the frame size."""
    client = RawClient()
    whole(client, 1)
    client.transport.finish(1, 13, "\U0001f600" * 100_000)
    (only,) = client.take()
    assert len(only.payload) < limits.FRAME_BYTES_MAX


def test_percent_encode_lone_surrogate() -> None:
    """A text that is no Unicode does not raise."""
    assert percent_encode("a\ud800b") == b"a?b"


def test_status_without_text_has_no_message() -> None:
    """An empty text is left out."""
    assert status_fields(0, "") == [(b"grpc-status", b"0")]


def test_finish_before_the_client_ended_resets_without_error() -> None:
    """A client that still sends is told to stop: trailers, then RST_STREAM NO_ERROR; what it had
    under way is let pass."""
    client = RawClient()
    watch(client, 1)
    client.transport.finish(1, 14, "bye")
    headers, reset = client.take()
    assert (headers.ends, reset.kind, reset.error) == (True, frames.RST_STREAM, 0)
    client.send(data(1, prefixed(b"late")), data(1, b"", end=True))
    client.assert_alive()


def test_messages_of_a_streaming_answer_and_their_positions() -> None:
    """Headers go once, messages count with their prefix, and framed follows."""
    client = RawClient()
    watch(client, 1)
    client.transport.open_answer(1)
    client.transport.open_answer(1)
    assert client.transport.send_message(1, b"12345") == 10
    assert client.transport.send_message(1, b"") == 15
    assert client.transport.framed(1) == 15
    kinds = [one.kind for one in client.take()]
    assert kinds == [frames.HEADERS, frames.DATA, frames.DATA]


def test_window_holds_a_message_and_lets_it_go() -> None:
    """What the stream's window does not take waits, is counted, and goes when it opens."""
    client = RawClient((WINDOW, 12))
    watch(client, 1)
    assert client.transport.room(1) == 12
    assert client.transport.send_message(1, b"0123456789") == 15
    assert payloads(client.take(), 1) == prefixed(b"0123456789")[:12]
    assert (client.transport.framed(1), client.transport.queued_bytes(1)) == (12, 3)
    assert client.transport.queued_bytes_total == 3
    assert client.transport.room(1) == 0
    client.send(window_update(1, 100))
    assert client.transport.room(1) == 0  # something is queued still
    assert payloads(client.take(), 1) == b"789"
    assert client.transport.room(1) == 97
    assert client.transport.queued_bytes_total == 0


def test_room_is_the_smaller_window_less_what_goes_first() -> None:
    """The connection's window is shared: what others may frame first is not room."""
    client = RawClient((WINDOW, 60_000))
    watch(client, 1, 3)
    whole(client, 5)
    assert client.transport.room(5) == 60_000
    client.transport.send_message(1, b"x" * 50_000)
    assert client.transport.room(3) == 65_535 - 50_005
    assert client.transport.room(99) == 0


def test_a_stalled_stream_takes_no_room_from_others() -> None:
    """A stream whose own window is shut holds back only itself."""
    client = RawClient((WINDOW, 10))
    watch(client, 1, 3)
    client.transport.send_message(1, b"x" * 50_000)
    client.take()
    assert client.transport.room(3) == 10
    client.transport.send_message(3, b"12345")
    assert payloads(client.take(), 3) == prefixed(b"12345")


def test_connection_window_holds_all_and_opens_for_all() -> None:
    """With the connection's window shut nothing goes; opened, all streams go on in turn."""
    client = RawClient((WINDOW, 10**6))
    watch(client, 1, 3)
    client.transport.send_message(1, b"x" * 65_530)
    client.transport.send_message(3, b"event")
    client.take()
    assert client.transport.framed(3) == 10
    whole(client, 5)
    client.transport.reply(5, b"waits")
    assert payloads(client.take(), 5) == b""
    client.send(window_update(0, 10_000))
    taken = client.take()
    assert payloads(taken, 5) == prefixed(b"waits")
    assert client.transport.queued_bytes_total == 0


def test_turns_are_fair() -> None:
    """Small messages pass a big one after a frame or two, not behind all of it."""
    client = RawClient((WINDOW, 2**31 - 1))
    client.send(window_update(0, 2**30))
    watch(client, 1, 3)
    client.transport.send_message(1, b"x" * 3_000_000)
    first = client.transport.take_output()
    assert len(first) < limits.OUTPUT_TURN_BYTES + limits.FRAME_BYTES_MAX + 100
    client.transport.send_message(3, b"event")
    second = client.transport.take_output()
    assert b"event" in second[: 2 * limits.FRAME_BYTES_MAX + 200]
    assert client.transport.has_output


def test_small_answers_take_no_window_from_what_waited_before() -> None:
    """When the connection's window opens, what waited for it is framed first."""
    client = RawClient((WINDOW, 10**6))
    watch(client, 1)
    client.transport.send_message(1, b"x" * 65_550)
    client.take()
    whole(client, 3)
    client.send(window_update(0, 15))
    client.transport.reply(3, b"0123456789")
    taken = client.take()
    assert (payloads(taken, 1), payloads(taken, 3)) == (b"x" * 15, b"")


def test_output_position_counts_all_bytes() -> None:
    """Positions of the output are those of the bytes taken."""
    client = RawClient()
    before = client.transport.output_position
    whole(client, 1)
    client.transport.reply(1, b"x")
    end = client.transport.output_position
    assert len(client.transport.take_output()) == end - before
    assert client.transport.output_position == end
    assert not client.transport.has_output


def test_withdraw_takes_back_only_what_is_not_begun() -> None:
    """A queued message is taken back whole; one that is half framed is not."""
    client = RawClient((WINDOW, 8))
    watch(client, 1)
    first = client.transport.send_message(1, b"0123456789")
    second = client.transport.send_message(1, b"second")
    third = client.transport.send_message(1, b"third")
    client.take()
    assert not client.transport.withdraw(1, first)
    assert client.transport.withdraw(1, second)
    left = len(prefixed(b"0123456789")) - 8 + len(prefixed(b"third"))
    assert client.transport.queued_bytes_total == client.transport.queued_bytes(1) == left
    client.send(window_update(1, 1_000))
    assert payloads(client.take(), 1) == prefixed(b"0123456789")[8:] + prefixed(b"third")
    assert client.transport.framed(1) == third - len(prefixed(b"second"))
    assert client.transport.withdraw(99, 5)


def test_reset_drops_what_is_queued() -> None:
    """A reset stream sends nothing more, and its bytes are not counted any longer."""
    client = RawClient((WINDOW, 8))
    watch(client, 1)
    client.transport.send_message(1, b"0123456789")
    client.take()
    client.transport.reset(1, ErrorCode.CANCEL)
    assert [one.kind for one in client.take()] == [frames.RST_STREAM]
    assert client.transport.queued_bytes_total == 0
    client.send(window_update(1, 100), window_update(0, 100))
    assert client.take() == []


def test_trailers_wait_for_the_last_byte() -> None:
    """A call that is finished with bytes queued ends when they are framed, and counts till then."""
    client = RawClient((WINDOW, 8))
    whole(client, 1)
    client.transport.reply(1, b"0123456789")
    assert not any(one.ends for one in client.take())
    assert client.transport.open_streams == 1
    client.send(window_update(1, 100))
    assert client.take()[-1].ends
    assert client.transport.open_streams == 0


def test_calls_on_a_stream_that_is_gone_do_nothing() -> None:
    """The peer may reset a call while its session answers it."""
    client = RawClient()
    watch(client, 1)
    client.send(rst_stream(1, ErrorCode.CANCEL))
    transport = client.transport
    transport.open_answer(1)
    transport.reply(1, b"x")
    transport.finish(1)
    transport.reset(1, ErrorCode.CANCEL)
    assert transport.send_message(1, b"x") == 0
    assert (transport.framed(1), transport.queued_bytes(1), transport.room(1)) == (0, 0, 0)
    assert client.take() == []


def test_waiting_answers_are_bounded() -> None:
    """Answers beyond the budget of a connection that does not read become RESOURCE_EXHAUSTED."""
    client = RawClient((WINDOW, 0), transport_limits=TransportLimits(queued_answer_bytes_max=2_000))
    for stream_id in (1, 3, 5):
        unary(client, stream_id)
    client.transport.reply(1, b"x" * 5_000)  # one is always allowed
    client.transport.reply(3, b"x")
    assert client.status(3)[0] == 8
    client.send(settings((WINDOW, 10_000)))
    assert payloads(client.take(), 1) == prefixed(b"x" * 5_000)


def test_lowered_table_size_is_acknowledged_in_the_next_block() -> None:
    """A peer that lowers SETTINGS_HEADER_TABLE_SIZE sees a size update in our next block."""
    client = RawClient((frames.SETTING_HEADER_TABLE_SIZE, 0))
    whole(client, 1, 3)
    client.transport.reply(1, b"x")
    client.transport.reply(3, b"x")
    blocks = [one.payload for one in client.take() if one.kind == frames.HEADERS]
    assert [block[0] == 0x20 for block in blocks] == [True, False, False, False]
