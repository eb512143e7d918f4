"""Small worlds of tubes, workers and watches, each from its own seed.

A failure prints what replays it: ETCDQ_SEED=N sets the first seed, ETCDQ_WORLDS how many worlds
there are, and a chunk is every tenth of them.
"""

import os
from random import SystemRandom

import pytest

from etcdq.actors import limits
from tests.simulation.tube_world import TubeWorld

WORLDS = int(os.environ.get("ETCDQ_WORLDS", "200"))
BASE_SEED = int(os.environ.get("ETCDQ_SEED") or SystemRandom().randrange(10**9))
CHUNKS = 10


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_job_is_given_twice_or_kept_back(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reserves, releases, keys, groups, pauses, flushes, watches and ends, in any order."""
    if chunk % 2:  # what is dead is swept all the time; else in small worlds never
        for bound in ("LINE_DEAD_MIN", "HELD_GONE_MAX", "OPEN_DEAD_MIN"):
            monkeypatch.setattr(limits, bound, 1)
    for seed in range(BASE_SEED + chunk, BASE_SEED + WORLDS, CHUNKS):
        try:
            TubeWorld(seed).run(steps=60)
        except BaseException:
            print(f"replay chunk {chunk} with ETCDQ_SEED={seed - chunk} ETCDQ_WORLDS={chunk + 1}")
            raise
