"""What the death of a worker process means."""

import random
import signal

import pytest

from etcdq.worker.supervision import CAP_S, DEATHS_MAX, SOUND_S, Deaths, worst


class Highest(random.Random):
    """Draws the upper bound."""

    def uniform(self, a: float, b: float) -> float:
        assert 2 * a == b
        return b


def test_waits_grow_to_a_cap_and_end() -> None:
    """A place whose processes die young waits longer each time, and is given up at last."""
    deaths = Deaths(Highest())

    waits = [deaths.died(1.0) for _ in range(DEATHS_MAX)]

    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, CAP_S, CAP_S, CAP_S, CAP_S, None]


def test_who_lived_long_died_of_something_new() -> None:
    """After a sound life the count begins anew, however often that happens."""
    deaths = Deaths(Highest())
    for _ in range(3 * DEATHS_MAX):
        deaths.died(1.0)
        assert deaths.died(SOUND_S) == 1.0
    assert deaths.died(SOUND_S - 0.1) == 2.0


@pytest.mark.parametrize(
    ("codes", "whole"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, 4, 4], 4),
        ([2], 2),
        ([0, 1], 1),
        ([1, 4], 1),
        ([0, -signal.SIGKILL], 1),
        ([143, 0], 1),
    ],
)
def test_never_zero_on_an_abnormal_end(codes: list[int], whole: int) -> None:
    """The whole ended cleanly only if each of its parts did."""
    assert worst(codes) == whole
