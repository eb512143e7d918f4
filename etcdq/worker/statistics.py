"""What a consumer has done so far."""

from msgspec import Struct


class ConsumerStatistics(Struct, frozen=True, gc=False):
    """A snapshot; the sums are since the start of the process."""

    connected: int
    """Connections that have introduced themselves to the server, of `concurrency`."""
    running: int
    """Jobs whose handler runs now."""
    done: int
    """Deleted after their handler returned."""
    failed: int
    """Runs that failed, the last one of a job that was given up among them."""
    given_up: int
    """Jobs."""
    lost: int
    """Runs whose reservation was gone before they were settled; neither done nor failed."""
    handed_back: int
    """Jobs that were made ready again because the worker stopped, or to be run alone."""


class Counters(Struct):
    """The same, while it changes."""

    connected: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    given_up: int = 0
    lost: int = 0
    handed_back: int = 0

    def snapshot(self) -> ConsumerStatistics:
        """Return the values of this moment."""
        return ConsumerStatistics(
            connected=self.connected,
            running=self.running,
            done=self.done,
            failed=self.failed,
            given_up=self.given_up,
            lost=self.lost,
            handed_back=self.handed_back,
        )
