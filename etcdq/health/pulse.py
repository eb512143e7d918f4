"""The heartbeat of a loop: a task that marks the time as long as the loop turns."""

import time
from collections.abc import Callable
from typing import Final

import trio

BEAT_S: Final = 1.0


class Pulse:
    """Made where the loop runs, read from anywhere."""

    def __init__(self) -> None:
        self.beat_s = time.monotonic()

    async def run(self, check: Callable[[], object] = lambda: None) -> None:
        """Beat, for ever.

        Args:
            check: called at each beat; what it raises ends this. `HealthServer.check` for one: then
                a process that can no longer be probed ends rather than go on unseen.
        """
        while True:
            self.beat_s = time.monotonic()
            check()
            await trio.sleep(BEAT_S)
