"""Small worlds of tubes, workers and watches, each from its own seed.

A failure prints the seed that replays it: ETCDQ_SEED=N sets the first seed, ETCDQ_WORLDS how many
worlds there are.
"""

import os
from random import SystemRandom

import pytest

from tests.simulation.tube_world import TubeWorld

WORLDS = int(os.environ.get("ETCDQ_WORLDS", "200"))
BASE_SEED = int(os.environ.get("ETCDQ_SEED") or SystemRandom().randrange(10**9))
CHUNKS = 10


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_job_is_given_twice_or_kept_back(chunk: int) -> None:
    """Reserves, releases, keys, groups, pauses, flushes, watches and ends, in any order."""
    for seed in range(BASE_SEED + chunk, BASE_SEED + WORLDS, CHUNKS):
        try:
            TubeWorld(seed).run(steps=60)
        except BaseException:
            print(f"replay with ETCDQ_SEED={seed} ETCDQ_WORLDS=1")
            raise
