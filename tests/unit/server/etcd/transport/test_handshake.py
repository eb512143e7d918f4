"""Peers that speak something else."""

import pytest

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.handshake import answer
from tests.support.raw_http2 import RawClient


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_http_1_gets_a_404_that_names_the_port(method: str) -> None:
    """HTTP/1.1 is answered 404 with a text and a length, and the connection closes."""
    client = RawClient(greet=False)
    client.send(f"{method} /version HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, body = client.transport.take_output().split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"Connection: close" in head
    assert b"Content-Length: %d\r\n" % len(body) in head
    assert b"gRPC (etcd v3 API)" in body
    assert client.transport.closing


def test_head_request_gets_no_body() -> None:
    """HEAD is answered with the head alone."""
    sent = answer(b"HEAD / HTTP/1.1\r\n\r\n")
    assert sent is not None
    assert sent.endswith(b"\r\n\r\n")


def test_http_1_byte_by_byte_says_the_same() -> None:
    """However the request is cut, one answer comes, once it is clear what it is."""
    client = RawClient(greet=False)
    for byte in b"POST / HTTP/1.1\r\n":
        client.send(bytes((byte,)))
    assert client.transport.take_output().count(b"404 Not Found") == 1


def test_tls_gets_nothing() -> None:
    """A TLS ClientHello closes the connection without a byte."""
    client = RawClient(greet=False)
    client.send(b"\x16\x03\x01\x02\x00\x01\x00")
    assert client.transport.closing
    assert not client.transport.has_output


def test_rubbish_gets_goaway() -> None:
    """Anything else is told PROTOCOL_ERROR."""
    sent = answer(b"\0\0\0\0")
    assert sent is not None
    assert sent[3] == frames.GOAWAY


def test_preface_cut_in_two_is_no_answer_yet() -> None:
    """A part of the preface is waited for; SETTINGS goes out only when it is whole."""
    client = RawClient(greet=False)
    client.send(frames.PREFACE[:10])
    assert not client.transport.has_output
    client.send(frames.PREFACE[10:])
    assert client.take()[0].kind == frames.SETTINGS
