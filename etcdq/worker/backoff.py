"""How long to wait before the next attempt to reach the server, and when to stop trying."""

import random
from typing import Final

BASE_S: Final = 3.0
"""Of 50 workers that lost one server at one moment, 1 or 2 come back in each tenth of a second."""
CAP_S: Final = 30.0
_DOUBLINGS_MAX: Final = 10


class Reconnects:
    """Attempts to connect: exponential back-off with full jitter.

    A wait is drawn evenly from 0 to a bound that doubles, so that many workers spread out.

    Args:
        rng: where the waits are drawn from.
        failures_max: give up after so many failed attempts in a row; None: never.
    """

    def __init__(self, rng: random.Random, failures_max: int | None = None) -> None:
        self._rng = rng
        self._failures_max = failures_max
        self.failures = 0
        """Failed attempts since the last success."""

    def succeeded(self) -> None:
        """The server has answered: the next wait is a first one again."""
        self.failures = 0

    def failed(self) -> float | None:
        """Count a failure; return the wait before the next attempt in seconds, None: give up."""
        self.failures += 1
        if self._failures_max is not None and self.failures >= self._failures_max:
            return None
        bound_s = min(CAP_S, BASE_S * 2.0 ** min(self.failures - 1, _DOUBLINGS_MAX))
        return self._rng.uniform(0.0, bound_s)
