"""Frames of the lean client, read by the h2 library."""

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RemoteSettingsChanged, RequestReceived, StreamEnded

from bench import calls, frames
from bench.headers import GoEncoder, call_fields
from bench.unary import Script
from etcdq.server.etcd.pb import rpc_pb2

AUTHORITY = "127.0.0.1:2379"


def server() -> H2Connection:
    """A server connection that has seen the preface and our SETTINGS."""
    connection = H2Connection(H2Configuration(client_side=False, header_encoding=None))
    connection.initiate_connection()
    connection.receive_data(frames.PREFACE + frames.settings({}))
    return connection


def test_settings_arrive_and_are_read_back() -> None:
    """What is sent is what a peer sees, and what our own parser sees."""
    sent = frames.settings({frames.INITIAL_WINDOW_SIZE: 1_000})
    [event] = server().receive_data(sent)
    assert isinstance(event, RemoteSettingsChanged)
    assert event.changed_settings[frames.INITIAL_WINDOW_SIZE].new_value == 1_000
    assert frames.parse_settings(sent[9:]) == {frames.INITIAL_WINDOW_SIZE: 1_000}


def test_a_call_is_a_request_with_one_message() -> None:
    """HEADERS, DATA with the gRPC prefix, and the end of the stream unless it is kept open."""
    block = GoEncoder().encode(call_fields(calls.PUT, AUTHORITY))
    request, data, ended = server().receive_data(frames.call(1, block, b"body"))
    assert isinstance(request, RequestReceived)
    assert request.headers == call_fields(calls.PUT, AUTHORITY)
    assert isinstance(data, DataReceived)
    assert data.data == b"\0\0\0\0\x04body"
    assert isinstance(ended, StreamEnded)
    assert len(server().receive_data(frames.call(1, block, b"body", half_close=False))) == 2


def test_a_script_is_calls_on_rising_streams_each_with_its_own_timeout() -> None:
    """A whole script is one connection's history: the peer's table follows it to the end."""
    body = calls.put(b"/q/name/p/key")
    script = Script(AUTHORITY, 4096, body, 200)
    connection = server()
    timeouts = set()
    for i in range(200):
        events = connection.receive_data(script.data[script.offsets[i] : script.offsets[i + 1]])
        request, data = events[:2]
        assert isinstance(request, RequestReceived)
        assert request.stream_id == 1 + 2 * i
        timeouts.add(dict(request.headers)[b"grpc-timeout"])
        assert isinstance(data, DataReceived)
        assert data.flow_controlled_length == script.flow_bytes
        connection.reset_stream(request.stream_id)
    assert len(timeouts) == 200


@pytest.mark.parametrize("cut", range(13))
def test_messages_are_split_wherever_the_buffer_ends(cut: int) -> None:
    """Whole messages come out, the rest stays, and together they are what was put in."""
    whole = frames.message(b"one") + frames.message(b"")
    bodies, rest = frames.split_messages(whole + frames.message(b"three!!")[:cut])
    if cut == 12:
        assert bodies == [b"one", b"", b"three!!"]
    else:
        assert bodies == [b"one", b""]
        assert rest == frames.message(b"three!!")[:cut]


def test_bodies_built_by_hand_are_the_messages_they_stand_for() -> None:
    """Put and DeleteRange are concatenations in the hot loops; protobuf reads them alike."""
    put = rpc_pb2.PutRequest.FromString(calls.put(b"/k", b"v" * 100))
    assert put == rpc_pb2.PutRequest(key=b"/k", value=b"v" * 100)
    delete = rpc_pb2.DeleteRangeRequest.FromString(calls.delete(b"/k"))
    assert delete == rpc_pb2.DeleteRangeRequest(key=b"/k")


def test_a_prefix_ends_after_its_last_key() -> None:
    """The end is the first key that no longer starts with the prefix."""
    assert calls.prefix_end(b"/q/name/") == b"/q/name0"
