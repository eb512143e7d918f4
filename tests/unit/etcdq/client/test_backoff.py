"""Waits between attempts to connect."""

import random

from etcdq.client.backoff import BASE_S, CAP_S, Backoff


class Highest(random.Random):
    """Draws the upper bound."""

    def uniform(self, a: float, b: float) -> float:
        assert a == 0.0
        return b


def test_bound_doubles_up_to_the_cap() -> None:
    """The bound begins at BASE_S, doubles, and stays at CAP_S for ever."""
    backoff = Backoff(Highest())

    bounds = [backoff.next_wait_s() for _ in range(2000)]

    assert bounds[:4] == [BASE_S, 2 * BASE_S, 4 * BASE_S, 8 * BASE_S]
    assert bounds[7:] == [CAP_S] * 1993


def test_jitter_is_full(seed: int) -> None:
    """Waits fill the whole range from 0 to the bound, not only its upper end."""
    waits = []
    rng = random.Random(seed)
    for _ in range(1000):
        backoff = Backoff(rng)
        backoff.next_wait_s()
        waits.append(backoff.next_wait_s())

    assert 0.0 <= min(waits) < 0.2 * BASE_S
    assert 1.8 * BASE_S < max(waits) <= 2 * BASE_S


def test_reset_begins_anew() -> None:
    """After a success the next wait is a first one."""
    backoff = Backoff(Highest())
    for _ in range(5):
        backoff.next_wait_s()

    backoff.reset()

    assert backoff.next_wait_s() == BASE_S


def test_same_seed_same_waits() -> None:
    """The jitter is the caller's: the same generator gives the same waits."""
    first, second = (Backoff(random.Random(7)) for _ in range(2))

    assert [first.next_wait_s() for _ in range(9)] == [second.next_wait_s() for _ in range(9)]
