"""What the death of a worker process means, and how the whole of them ended. Without I/O."""

import random
from collections.abc import Iterable
from typing import Final

EXIT_CLEAN: Final = 0
EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_KEPT_DYING: Final = 3
EXIT_UNFINISHED: Final = 4
"""The grace was over: jobs whose handlers still ran were handed back."""
EXIT_SIGNAL: Final = 128
"""Plus the number of the second signal, as shells count."""

DEATHS_MAX: Final = 10
"""So many in a row, and what is wrong does not go away by starting again."""
SOUND_S: Final = 60.0
"""Who lived so long died of something new."""
BASE_S: Final = 1.0
CAP_S: Final = 30.0


class Deaths:
    """The deaths of one place among the processes.

    Args:
        rng: for the jitter of the waits.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.in_a_row = 0

    def died(self, lived_s: float) -> float | None:
        """Count a death; return the wait before the next start in seconds, None: give up.

        Args:
            lived_s: from the start of the process to its end.
        """
        self.in_a_row = 1 if lived_s >= SOUND_S else self.in_a_row + 1
        if self.in_a_row >= DEATHS_MAX:
            return None
        bound_s = min(CAP_S, BASE_S * 2.0 ** (self.in_a_row - 1))
        return self._rng.uniform(bound_s / 2, bound_s)


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of a whole from those of its parts, 0 only if all of them are 0.

    Args:
        codes: as `subprocess` gives them: -N for a process that was ended by signal N.
    """
    found = set(codes) - {EXIT_CLEAN}
    if not found:
        return EXIT_CLEAN
    for code in (EXIT_USAGE, EXIT_UNFINISHED):
        if found == {code}:
            return code
    return EXIT_ERROR
