"""How long to wait before the next attempt to connect."""

import random

BASE_S = 0.05
CAP_S = 5.0
_DOUBLINGS_MAX = 10


class Backoff:
    """Exponential back-off with full jitter: a wait is drawn evenly from 0 to a doubling bound.

    Many clients that lost one server at one moment so come back spread out.

    Args:
        rng: where the waits are drawn from.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._attempts = 0

    def reset(self) -> None:
        """Begin anew: the last attempt succeeded."""
        self._attempts = 0

    def next_wait_s(self) -> float:
        """Return the next wait in seconds, within [0, min(CAP_S, BASE_S * 2 ** attempts)]."""
        bound_s = min(CAP_S, BASE_S * 2.0 ** min(self._attempts, _DOUBLINGS_MAX))
        self._attempts += 1
        return self._rng.uniform(0.0, bound_s)
