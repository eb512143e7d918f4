"""What probes are told of a worker process; see `etcdq.health.Status`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from etcdq.health import Pulse
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.control import Control

_SUMS: Final = ("done", "failed", "given_up", "lost", "handed_back")


class WorkerStatus:
    """Read from the thread that answers probes.

    Args:
        consumers: that run in this process.
        control: says whether it stops.
        pulse: of its loop.
    """

    kind = "worker"

    def __init__(self, consumers: Sequence[TubeConsumer], control: Control, pulse: Pulse) -> None:
        self._consumers = consumers
        self._control = control
        self._pulse = pulse
        self.tasks_down: Collection[str] = ()
        """Tasks that ended by a failure."""

    @property
    def beat_s(self) -> float:
        """When the loop last turned."""
        return self._pulse.beat_s

    @property
    def is_connected(self) -> bool:
        """Whether every connection of every consumer is there."""
        return all(each.counters.connected == each.concurrency for each in self._consumers)

    @property
    def is_accepting(self) -> bool:
        """Whether it reserves jobs."""
        return not self._control.is_stopping

    @property
    def jobs_running(self) -> int:
        """How many jobs run now."""
        return sum(each.counters.running for each in self._consumers)

    @property
    def counts(self) -> Mapping[str, int]:
        """Sums of all consumers."""
        return {
            name: sum(getattr(each.counters, name) for each in self._consumers) for name in _SUMS
        }
