"""1,000 small worlds of queues and consumers, each from its own seed.

A failure prints the seed that replays it: ETCDQ_SEED=N sets the first seed, ETCDQ_WORLDS how many
worlds there are.
"""

import os
from random import SystemRandom

import pytest

from tests.simulation.queue_world import World

WORLDS = int(os.environ.get("ETCDQ_WORLDS", "1000"))
BASE_SEED = int(os.environ.get("ETCDQ_SEED") or SystemRandom().randrange(10**9))
CHUNKS = 20


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nothing_is_lost_doubled_or_out_of_order(chunk: int) -> None:
    """Stalls, drops, takeovers, deaths, late acknowledgements and kicks, in any order."""
    for seed in range(BASE_SEED + chunk, BASE_SEED + WORLDS, CHUNKS):
        try:
            World(seed).run(steps=200)
        except BaseException:
            print(f"replay with ETCDQ_SEED={seed} ETCDQ_WORLDS=1")
            raise
