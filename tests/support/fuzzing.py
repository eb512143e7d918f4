"""Bytes that a client might send, and worse ones, for sessions without sockets."""

from collections.abc import Callable
from random import Random
from typing import Any

from etcdq.server.etcd.transport import frames
from tests.support.core_world import CoreLink, CoreWorld
from tests.support.etcd_client import ONE, Client
from tests.support.etcd_peer import Peer

Mutation = Callable[[Random, bytes], bytes]


class FuzzWorld(CoreWorld):
    """A core world that anything can connect to which has `take` and `feed`."""

    def join(self, peer: Any) -> CoreLink:
        """Open a connection for a peer."""
        link = CoreLink(self, peer)
        self._links.append(link)
        return link

    def run(self, coroutine: Any) -> Any:
        """Run what never waits for anything outside of this world."""
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value
        coroutine.close()
        raise AssertionError("it waits for something outside of the world")


class RecordingPeer(Peer):
    """A client that keeps all it says."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.said = b""

    def take(self) -> bytes:
        """Return the bytes to be sent now."""
        data = super().take()
        self.said += data
        return data


class BytesPeer:
    """A client that says given bytes, piece by piece, and does not listen."""

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.piece_bytes = 0
        self.closed = False

    def take(self) -> bytes:
        """Return the bytes to be sent now."""
        piece, self.said = self.said[: self.piece_bytes], self.said[self.piece_bytes :]
        self.piece_bytes = 0
        return piece

    def feed(self, data: bytes) -> None:
        """Take bytes of the server."""
        self.closed = self.closed or not data


async def honest_session(world: FuzzWorld, rng: Random) -> bytes:
    """Play a session as clients play it; return the bytes its client sent."""
    peer = RecordingPeer()
    client = Client(world, world.join(peer))
    await world.settle()
    name = f"fuzz-{rng.randrange(4)}"
    steps = [
        lambda: client.put(f"/q/{name}/p/{rng.randrange(9)}", rng.randbytes(rng.randrange(99))),
        lambda: client.put(f"/queue/{name}/input/client/{rng.randrange(9)}", "x" * 40_000),
        lambda: client.watch(f"/q/{name}/c/{ONE}"),
        lambda: client.watch("k/", "k0", prev_kv=True, progress_notify=True),
        lambda: client.put(f"k/{rng.randrange(9)}", rng.randbytes(rng.randrange(99))),
        lambda: client.range("k/", "k0", limit=rng.randrange(3)),
        lambda: client.delete(f"k/{rng.randrange(9)}", "k/9"),
        lambda: client.range(f"/q/{name}/", f"/q/{name}0"),
        lambda: client.delete(f"/q/{name}/", f"/q/{name}0"),
        lambda: client.queues("List"),
    ]
    for _ in range(rng.randrange(1, 12)):
        await rng.choice(steps)()
    client.cut()
    await world.settle()
    return peer.said


# mutations --------------------------------------------------------------------------------------


def flip(rng: Random, data: bytes) -> bytes:
    """Change some bits anywhere."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: Random, data: bytes) -> bytes:
    """Leave out a piece."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice([1, 9, 200]) :]


def insert(rng: Random, data: bytes) -> bytes:
    """Put in random bytes."""
    start = rng.randrange(len(data))
    return data[:start] + rng.randbytes(rng.choice([1, 9, 200])) + data[start:]


def repeat(rng: Random, data: bytes) -> bytes:
    """Say a piece again and again."""
    start = rng.randrange(len(data))
    piece = data[start : start + rng.choice([9, 17, 500])]
    return data[:start] + piece * rng.choice([2, 2, 300]) + data[start:]


def reframe(rng: Random, data: bytes) -> bytes:
    """Change, double or shorten whole frames."""
    parts = split_frames(data)
    if not parts:
        return data
    for _ in range(rng.choice([1, 2, 5])):
        number = rng.randrange(len(parts))
        kind, flags, stream_id, payload = parts[number]
        change = rng.randrange(6)
        if change == 0:
            parts[number] = (rng.randrange(12), flags, stream_id, payload)
        elif change == 1:
            parts[number] = (kind, rng.randrange(256), stream_id, payload)
        elif change == 2:
            parts[number] = (kind, flags, rng.choice([0, 1, 2, 3, 99, 2**31 - 1]), payload)
        elif change == 3:
            parts[number] = (kind, flags, stream_id, flip(rng, payload) if payload else b"\xff")
        elif change == 4:
            parts.insert(number, parts[rng.randrange(len(parts))])
        else:
            parts[number] = (kind, flags, stream_id, payload[: rng.randrange(len(payload) + 1)])
    return frames.PREFACE + b"".join(frames.frame(*part) for part in parts)


def noise(rng: Random, data: bytes) -> bytes:
    """Say nothing that was meant."""
    begun = rng.choice([b"", frames.PREFACE, data[:70]])
    return begun + rng.randbytes(len(data) % 3_000 + 1)


MUTATIONS: tuple[Mutation, ...] = (flip, cut, insert, repeat, reframe, reframe, noise)


def split_frames(data: bytes) -> list[tuple[int, int, int, bytes]]:
    """Return the frames of a session as far as they are whole: type, flags, stream, payload."""
    found = []
    position = len(frames.PREFACE)
    while position + 9 <= len(data):
        word, flags, stream_id = frames.FRAME_HEAD.unpack_from(data, position)
        end = position + 9 + (word >> 8)
        found.append((word & 0xFF, flags, stream_id, data[position + 9 : end]))
        position = end
    return found


def mutate(rng: Random, data: bytes) -> bytes:
    """Return a worse version of a session's bytes, or sometimes what they are."""
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        # A cut may leave nothing, and nothing cannot be made worse.
        data = rng.choice(MUTATIONS)(rng, data) if data else noise(rng, data)
    return data
