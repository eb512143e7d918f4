"""Sessions fed with mutated bytes of honest ones: nothing raises, nothing grows, others go on.

A failure prints the seed that replays it: ETCDQ_SEED=N sets the first seed, ETCDQ_FUZZ how many
worlds there are, each with its own seed and some sessions.
"""

import gc
import os
from functools import cache
from random import Random

import pytest

from etcdq.actors import limits
from etcdq.server.etcd.session import Session
from tests.support.core_world import CoreLink
from tests.support.etcd_client import Client
from tests.support.etcd_peer import Peer
from tests.support.fuzzing import BytesPeer, FuzzWorld, honest_session, mutate

WORLDS = int(os.environ.get("ETCDQ_FUZZ", "30"))
SESSIONS = 40
HONEST_EVERY = 8
RECORDINGS = 30
PAUSES_S = (0.0, 0.0, 0.0, 0.001, 1.0, 3.0, 11.0)
PIECES_BYTES = (1, 9, 100, 10_000)


def test_mutated_sessions(seed: int) -> None:
    """Whatever a peer sends ends at most its own connection."""
    recordings()
    before = alive()
    for number in range(seed, seed + WORLDS):
        try:
            one_world(number)
        except BaseException:
            print(f"replay with ETCDQ_SEED={number} ETCDQ_FUZZ=1")
            raise
    assert alive() == before, "sessions that are over are kept"


def alive() -> int:
    """Return how many sessions are kept by anything."""
    gc.collect()
    return sum(isinstance(one, Session) for one in gc.get_objects())


@cache
def recordings() -> list[bytes]:
    """Return what honest clients said: the same in every run, so that a seed replays alone."""
    rng = Random(0)
    world = FuzzWorld({})
    return [world.run(honest_session(world, rng)) for _ in range(RECORDINGS)]


def one_world(number: int) -> None:
    """Let sessions run wild in one world, at the same time, and honest ones between them."""
    rng = Random(number)
    world = FuzzWorld({})
    wild: list[CoreLink] = []
    for session in range(SESSIONS):
        link = world.join(BytesPeer(mutate(rng, rng.choice(recordings()))))
        if rng.random() < 0.1:
            link.stop_taking()
        wild.append(link)
        for _ in range(rng.randrange(1, 4)):
            step(world, rng, wild)
        if session % HONEST_EVERY == 0:
            world.run(works(world, f"honest-{session}"))
    for link in wild:
        link.cut()
    world.run(world.settle())
    assert world.sessions == []
    assert [line for line in world.log_lines if line[0] == "error"] == []


def step(world: FuzzWorld, rng: Random, wild: list[CoreLink]) -> None:
    """Let every wild peer say a piece, and time pass."""
    for link in wild:
        link.peer.piece_bytes = rng.choice(PIECES_BYTES)
    world.run(world.settle())
    for link in wild:
        check(link)
    pause_s = rng.choice(PAUSES_S)
    if pause_s:
        world.run(world.wait(pause_s))


def check(link: CoreLink) -> None:
    """What a session keeps is bounded by what it was sent, and by its limits."""
    kept = link.session.transport.statistics()
    assert kept.streams_open <= limits.STREAMS_MAX
    assert kept.buffered_request_bytes <= min(
        kept.bytes_received, limits.BUFFERED_REQUEST_BYTES_MAX
    )
    assert kept.queued_bytes <= limits.QUEUED_ANSWER_BYTES_MAX


async def works(world: FuzzWorld, queue: str) -> None:
    """A fresh connection is served: a key, a message, its delivery, its acknowledgement."""
    client = Client(world, world.join(Peer()))
    await world.settle()
    await client.put("honest", queue)
    assert await client.get("honest") == queue
    await client.put(f"/q/{queue}/p/key", "body")
    watch = await client.watch(f"/q/{queue}/c/8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11")
    event = await watch.event()
    assert event.value == "body"
    assert await client.delete(event.key) == 1
    client.cut()
    await world.settle()


@pytest.mark.parametrize("size", [0, 1, 23, 24, 33])
def test_first_bytes(size: int) -> None:
    """A peer that stops after its first bytes is closed in time, and keeps nobody from working."""
    world = FuzzWorld({})
    honest = world.run(honest_session(world, Random(size)))
    link = world.join(BytesPeer(honest[:size]))
    link.peer.piece_bytes = size
    world.run(world.wait(limits.PREFACE_TIMEOUT_S + limits.FRAME_TIMEOUT_S))

    assert link.peer.closed
    world.run(works(world, "honest"))
