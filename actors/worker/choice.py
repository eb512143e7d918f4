"""Which of the watched queues the next job is taken from.

FIFO is beanstalkd's order: the smallest priority, then the smallest index, over all watched queues.
Weighted: a queue that has a job, at random by its weight; in it the same order. Weighted-fair: the
weight is divided by the average time of the queue's jobs, so that a queue of slow jobs does not get
more of the workers' time. Source: tuber's README, "Weighted Reserve".
"""

from collections.abc import Callable, Iterable

from etcdq.actors import limits
from etcdq.actors.queue.tube_messages import Face, Head
from etcdq.actors.worker.messages import ReserveMode

Offer = tuple[bytes, int, Face]
"""A queue that has a job, the weight it is watched with, and what it shows."""

Choice = tuple[bytes, Head | None]
"""The queue to claim from, and how far back its job may stand."""


def choose(offers: Iterable[Offer], mode: ReserveMode, draw: Callable[[], float]) -> Choice | None:
    """Return what to claim; None if no queue has a job.

    Args:
        offers: the queues that have a job, in the order in which they are watched.
        draw: gives a random number in [0, 1).
    """
    if mode is not ReserveMode.FIFO:
        return _draw(list(offers), mode, draw)
    best: bytes | None = None
    best_head: Head | None = None
    second: Head | None = None
    for queue, _, face in offers:
        head = face.head
        if best_head is None or head < best_head:
            best, best_head, second = queue, head, best_head
        elif second is None or head < second:
            second = head
    return None if best is None else (best, second)


def _draw(offers: list[Offer], mode: ReserveMode, draw: Callable[[], float]) -> Choice | None:
    if not offers:
        return None
    weights = [_weight(weight, face, mode) for _, weight, face in offers]
    left = draw() * sum(weights)
    for (queue, _, _), weight in zip(offers, weights, strict=True):
        left -= weight
        if left < 0:
            return queue, None
    return offers[-1][0], None


def _weight(weight: int, face: Face, mode: ReserveMode) -> float:
    if mode is ReserveMode.WEIGHTED_FAIR and face.samples >= limits.FAIR_SAMPLES_MIN:
        return weight / max(face.processing_s, limits.FAIR_PROCESSING_MIN_S)
    return float(weight)
