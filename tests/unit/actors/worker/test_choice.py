"""Which queue the next job is taken from."""

import pytest

from etcdq.actors.queue.tube_messages import Face
from etcdq.actors.worker.choice import choose
from etcdq.actors.worker.messages import ReserveMode

FIFO, WEIGHTED, FAIR = ReserveMode.FIFO, ReserveMode.WEIGHTED, ReserveMode.WEIGHTED_FAIR


def face(priority: int, index: int, processing_s: float = 0.0, samples: int = 0) -> Face:
    return Face((priority, index), 0, processing_s, samples)


def never() -> float:
    raise AssertionError("nothing is drawn")


def test_fifo_takes_the_smallest_head_up_to_the_second() -> None:
    """By priority, then index, over all queues."""
    offers = [(b"a", 1, face(5, 1)), (b"b", 1, face(3, 9)), (b"c", 1, face(3, 4))]
    assert choose(offers, FIFO, never) == (b"c", (3, 9))
    assert choose(offers[:1], FIFO, never) == (b"a", None)
    assert choose([], FIFO, never) is None


@pytest.mark.parametrize(
    ("drawn", "queue"), [(0.0, b"a"), (0.249, b"a"), (0.25, b"b"), (0.999, b"b")]
)
def test_weights_share_what_is_drawn(drawn: float, queue: bytes) -> None:
    """A queue of weight 3 is taken three times as often as one of weight 1."""
    offers = [(b"a", 1, face(9, 1)), (b"b", 3, face(0, 2))]
    assert choose(offers, WEIGHTED, lambda: drawn) == (queue, None)
    assert choose([], WEIGHTED, never) is None


@pytest.mark.parametrize(("samples", "share"), [(9, 0.5), (10, 0.8)])
def test_fair_divides_by_the_time_that_jobs_take(samples: int, share: float) -> None:
    """Once there are ten samples: then a queue of jobs four times as slow is taken a fourth."""
    offers = [(b"fast", 1, face(0, 1, 0.1, samples)), (b"slow", 1, face(0, 2, 0.4, samples))]
    assert choose(offers, FAIR, lambda: share - 0.001) == (b"fast", None)
    assert choose(offers, FAIR, lambda: share + 0.001) == (b"slow", None)


def test_fair_has_a_floor() -> None:
    """Jobs of no time at all do not take all the workers: they count as 10 ms."""
    offers = [(b"none", 1, face(0, 1, 0.0001, 99)), (b"some", 1, face(0, 2, 0.03, 99))]
    assert choose(offers, FAIR, lambda: 0.74) == (b"none", None)
    assert choose(offers, FAIR, lambda: 0.76) == (b"some", None)
