"""The times of one queue: averages, extremes, percentiles of the last."""

import math

from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.queue.messages import TimingStatistics
from etcdq.actors.queue.timing import Recent, Spread, Timing

TIMES_S = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=30)


def processed(*values_s: float) -> TimingStatistics:
    """What a queue shows after jobs that took so long."""
    timing = Timing()
    for value_s in values_s:
        timing.processed(value_s)
    return timing.statistics()


def test_nothing_has_happened() -> None:
    """Without a sample everything is 0."""
    assert Timing().statistics() == TimingStatistics()


def test_first_sample_is_the_average() -> None:
    """The first sample is not averaged with a 0 that nobody measured."""
    average = Recent()
    average.add(4.0)
    assert (average.ewma_s, average.samples) == (4.0, 1)


def test_later_samples_weigh_a_tenth() -> None:
    """Each further sample moves the average by a tenth of the way."""
    average = Recent()
    for value_s in (4.0, 14.0, 5.0):
        average.add(value_s)
    assert average.samples == 3
    assert math.isclose(average.ewma_s, 0.1 * 5.0 + 0.9 * (0.1 * 14.0 + 0.9 * 4.0))


def test_smallest_and_largest() -> None:
    """The smallest sample may be the first, the last, or 0."""
    spread = Spread()
    seen = []
    for value_s in (3.0, 5.0, 2.0, 0.0, 1.0):
        spread.add(value_s)
        seen.append((spread.min_s, spread.max_s))
    assert seen == [(3.0, 3.0), (3.0, 5.0), (2.0, 5.0), (0.0, 5.0), (0.0, 5.0)]


@given(TIMES_S)
def test_average_lies_between(values_s: list[float]) -> None:
    """An average is never outside of what was measured."""
    spread = Spread()
    for value_s in values_s:
        spread.add(value_s)
    slack = 1e-9 * max(values_s)
    assert (spread.min_s, spread.max_s) == (min(values_s), max(values_s))
    assert spread.min_s - slack <= spread.ewma_s <= spread.max_s + slack
    assert spread.samples == len(values_s)


def test_fast_and_slow_are_kept_apart() -> None:
    """A job of exactly the threshold is slow; the common average has both kinds."""
    shown = processed(0.05, limits.FAST_JOB_S, 2.0, 0.0)
    assert (shown.fast_samples, shown.slow_samples, shown.processing_samples) == (2, 2, 4)
    assert math.isclose(shown.fast_ewma_s, 0.9 * 0.05)
    assert math.isclose(shown.slow_ewma_s, 0.9 * 0.1 + 0.1 * 2.0)
    assert math.isclose(shown.processing_ewma_s, 0.9 * (0.9 * (0.9 * 0.05 + 0.01) + 0.2))
    assert (shown.processing_min_s, shown.processing_max_s) == (0.0, 2.0)


def test_percentiles_of_one() -> None:
    """One sample is every percentile."""
    shown = processed(0.7)
    assert (shown.p50_s, shown.p95_s, shown.p99_s) == (0.7, 0.7, 0.7)


def test_percentiles_are_samples_half_rounded_up() -> None:
    """A percentile between two samples is the nearer one, half way the larger one."""
    shown = processed(*(float(value) for value in range(10, 0, -1)))
    # ranks 4.5, 8.55 and 8.91 of 0 to 9
    assert (shown.p50_s, shown.p95_s, shown.p99_s) == (6.0, 10.0, 10.0)


def test_percentiles_are_of_slow_jobs() -> None:
    """As long as there are slow jobs, fast ones do not count."""
    shown = processed(0.01, 0.02, 5.0, 0.03)
    assert (shown.p50_s, shown.p95_s, shown.p99_s) == (5.0, 5.0, 5.0)


def test_percentiles_without_slow_jobs() -> None:
    """Where all jobs are fast, percentiles are of those."""
    shown = processed(0.03, 0.01, 0.02)
    assert (shown.p50_s, shown.p95_s, shown.p99_s) == (0.02, 0.03, 0.03)


def test_percentiles_forget() -> None:
    """Only the last 1,000 of a kind count; averages and extremes are of all."""
    shown = processed(*[9.0] * 7, *[1.0] * limits.TIMING_SAMPLES_MAX)
    assert (shown.p50_s, shown.p95_s, shown.p99_s) == (1.0, 1.0, 1.0)
    assert shown.processing_max_s == 9.0
    assert shown.slow_samples == limits.TIMING_SAMPLES_MAX + 7


def test_percentiles_of_a_full_window() -> None:
    """Of 1,000 different samples: ranks 499.5, 949.05 and 989.01, counted from 0."""
    shown = processed(*(1.0 + rank for rank in range(limits.TIMING_SAMPLES_MAX)))
    assert (shown.p50_s, shown.p95_s, shown.p99_s) == (501.0, 950.0, 990.0)


def test_fast_jobs_do_not_push_slow_ones_out() -> None:
    """Each kind has its own last 1,000."""
    shown = processed(3.0, *[0.01] * (limits.TIMING_SAMPLES_MAX + 1))
    assert shown.p99_s == 3.0


def test_waiting_is_not_processing() -> None:
    """Times in the queue are averaged on their own, without percentiles."""
    timing = Timing()
    timing.queue.add(30.0)
    timing.queue.add(10.0)
    assert timing.statistics() == TimingStatistics(
        queue_ewma_s=28.0, queue_min_s=10.0, queue_max_s=30.0, queue_samples=2
    )
