"""Waits between attempts to connect, and C65: no reconnect storm."""

import random

import pytest

from etcdq.worker.backoff import BASE_S, CAP_S, Reconnects

WORKERS = 50
WINDOW_S = 0.1


class Highest(random.Random):
    """Draws the upper bound."""

    def uniform(self, a: float, b: float) -> float:
        assert a == 0.0
        return b


def test_delays_grow_to_a_cap() -> None:
    """The bound begins at BASE_S, doubles, and stays at CAP_S for ever."""
    reconnects = Reconnects(Highest())

    bounds = [reconnects.failed() for _ in range(2000)]

    assert bounds[:4] == [BASE_S, 2 * BASE_S, 4 * BASE_S, 8 * BASE_S]
    assert bounds[4:] == [CAP_S] * 1996


def test_success_begins_anew() -> None:
    """After an answer the next wait is a first one, and the failures before do not count."""
    reconnects = Reconnects(Highest(), failures_max=3)
    reconnects.failed()
    reconnects.failed()

    reconnects.succeeded()

    assert reconnects.failures == 0
    assert [reconnects.failed() for _ in range(3)] == [BASE_S, 2 * BASE_S, None]


@pytest.mark.parametrize("seed", range(20))
def test_attempts_of_many_workers_are_spread(seed: int) -> None:
    """Of 50 workers that lost one server at once, no tenth of a second sees more than 10."""
    instants_s = []
    for number in range(WORKERS):
        reconnects = Reconnects(random.Random(f"{seed} {number}"))
        now_s = 0.0
        while now_s < 20.0:
            now_s += reconnects.failed() or 0.0
            instants_s.append((now_s, number))
    for start_s, _ in instants_s:
        among = {n for at_s, n in instants_s if start_s <= at_s < start_s + WINDOW_S}
        assert len(among) <= WORKERS * 0.2
