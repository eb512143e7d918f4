"""Microseconds per unary call in the transport alone: receive and reply, hit and miss.

    python bench/transport_micro.py

`hit`: every call has the same header block, as clients without deadlines send it. `miss`: a fresh
`grpc-timeout` in every call with indexing, as grpc-go sends it under a deadline. `split`: HEADERS,
DATA and an empty DATA that ends the stream, as some Rust clients send them.
"""

import time
from collections.abc import Callable, Iterable

from hpack import Encoder

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import Request, TransportLimits
from etcdq.server.etcd.transport.grpc import Transport

CALLS = 8_000
BATCH = 8
ROUNDS = 9
MESSAGE = b"\n\x06/q/j/p\x12" + bytes([100]) + b"x" * 100
ANSWER = b"\n\x12" + b"y" * 18
FIELDS = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/etcdserverpb.KV/Put"),
    (b":authority", b"127.0.0.1:2379"),
    (b"content-type", b"application/grpc"),
    (b"user-agent", b"grpc-go/1.41.0"),
    (b"te", b"trailers"),
]


class Put:
    """The one method there is."""

    streaming = False


def data(message: bytes) -> bytes:
    """A message with its prefix."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def calls(style: str) -> Iterable[bytes]:
    """Chunks of `BATCH` calls each."""
    encoder = Encoder()
    stream_id = 1
    for start in range(0, CALLS, BATCH):
        chunk = b""
        for number in range(start, start + BATCH):
            fields = list(FIELDS)
            if style == "miss":
                fields.append((b"grpc-timeout", b"%du" % (4_999_999 - 7 * number % 99_999)))
            block = encoder.encode(fields, huffman=True)
            chunk += frames.frame(frames.HEADERS, frames.END_HEADERS, stream_id, block)
            if style == "split":
                chunk += frames.frame(frames.DATA, 0, stream_id, data(MESSAGE))
                chunk += frames.frame(frames.DATA, frames.END_STREAM, stream_id)
            else:
                chunk += frames.frame(frames.DATA, frames.END_STREAM, stream_id, data(MESSAGE))
            stream_id += 2
        yield chunk


def measure(style: str, now: Callable[[], float] = time.perf_counter) -> tuple[float, float]:
    """(microseconds of receive, of reply) per call: of each chunk its best of some rounds, so
    that what else the machine does is left out."""
    chunks = list(calls(style))
    window = frames.window_update(0, BATCH * (len(ANSWER) + 5))
    receiving = [float("inf")] * len(chunks)
    replying = [float("inf")] * len(chunks)
    for _ in range(ROUNDS):
        transport = Transport({b"/etcdserverpb.KV/Put": Put()}, TransportLimits(), 0.0)
        transport.receive(frames.PREFACE + frames.settings({}), 0.0)
        for place, chunk in enumerate(chunks):
            start = now()
            events = transport.receive(chunk, 0.0)
            middle = now()
            for event in events:
                assert type(event) is Request
                transport.reply(event.stream_id, ANSWER)
            transport.take_output()
            end = now()
            receiving[place] = min(receiving[place], middle - start)
            replying[place] = min(replying[place], end - middle)
            transport.receive(window, 0.0)
        assert not transport.closing
        assert transport.statistics().streams_finished == CALLS
    return sum(receiving) / CALLS * 1e6, sum(replying) / CALLS * 1e6


def main() -> None:
    """Print a line per style."""
    for style in ("hit", "miss", "split"):
        receiving, replying = measure(style)
        total = receiving + replying
        print(f"{style:6} {total:5.2f} µs per call (receive {receiving:.2f}, reply {replying:.2f})")


if __name__ == "__main__":
    main()
