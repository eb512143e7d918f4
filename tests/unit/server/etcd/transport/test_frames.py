"""Our frames as `hyperframe` reads them."""

import hyperframe.frame as hf
import pytest

from etcdq.server.etcd.transport import frames


def parse(raw: bytes) -> hf.Frame:
    """Read one whole frame with the library."""
    one, length = hf.Frame.parse_frame_header(memoryview(raw[:9]))
    one.parse_body(memoryview(raw[9:]))
    assert len(raw) == 9 + length
    return one


def test_settings() -> None:
    """SETTINGS carries its values."""
    one = parse(frames.settings({3: 100, 4: 2**31 - 1}))
    assert isinstance(one, hf.SettingsFrame)
    assert one.settings == {3: 100, 4: 2**31 - 1}


def test_rst_stream() -> None:
    """RST_STREAM carries stream and code."""
    one = parse(frames.rst_stream(7, frames.ErrorCode.CANCEL))
    assert isinstance(one, hf.RstStreamFrame)
    assert (one.stream_id, one.error_code) == (7, 8)


def test_window_update() -> None:
    """WINDOW_UPDATE carries stream and increment."""
    one = parse(frames.window_update(9, 12_345))
    assert isinstance(one, hf.WindowUpdateFrame)
    assert (one.stream_id, one.window_increment) == (9, 12_345)


def test_goaway() -> None:
    """GOAWAY carries the last stream, the code and a text."""
    one = parse(frames.goaway(11, frames.ErrorCode.ENHANCE_YOUR_CALM, b"too_many_pings"))
    assert isinstance(one, hf.GoAwayFrame)
    assert (one.last_stream_id, one.error_code) == (11, 11)
    assert one.additional_data == b"too_many_pings"


def test_frame_of_any_size() -> None:
    """The length field has 24 bits."""
    assert frames.frame(frames.DATA, 0, 1, b"x" * 70_000)[:4] == b"\x01\x11\x70\x00"


def test_faults_say_who_and_why() -> None:
    """A fault knows its code, its text and, of a stream, the stream."""
    fault = frames.StreamFault(3, frames.ErrorCode.CANCEL, "why")
    assert (fault.stream_id, fault.code, fault.text) == (3, 8, "why")
    assert frames.ConnectionFault(frames.ErrorCode.CANCEL, "why").code == 8


def test_unpad() -> None:
    """Padding is cut off, to nothing at the most, and may not be longer than its frame."""
    assert frames.unpad(0, b"\x05as it is") == b"\x05as it is"
    assert frames.unpad(frames.PADDED, b"\x02text\0\0") == b"text"
    assert frames.unpad(frames.PADDED, b"\x02\0\0") == b""
    for payload in (b"", b"\x01", b"\x03\0\0"):
        with pytest.raises(frames.ConnectionFault):
            frames.unpad(frames.PADDED, payload)
