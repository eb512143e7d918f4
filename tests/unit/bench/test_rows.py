"""Targets and their judgement."""

import pytest

from bench import tube_experiments, worker_experiments
from bench.processes import BEANSTALK_KINDS, WORKER_KINDS
from bench.rows import ROWS, Row, Target, quotient, row


@pytest.mark.parametrize(
    ("target", "ours", "etcd", "met"),
    [
        (Target(at_least=2.5), 250.0, 100.0, True),
        (Target(at_least=2.5), 249.0, 100.0, False),
        (Target(at_most=0.5), 50.0, 100.0, True),
        (Target(at_most=0.5), 51.0, 100.0, False),
        (Target(at_least=2.5), 250.0, None, None),
        (Target(at_least=2.5), None, 100.0, None),
        (Target(at_most=512, ratio=False), 512.0, None, True),
        (Target(at_most=512, ratio=False), 513.0, None, False),
        (Target(at_least=0.75, ratio=False), 0.75, None, True),
        (Target(at_most=512, ratio=False), None, 100.0, None),
    ],
)
def test_a_target_is_judged_where_its_figures_are_known(
    target: Target, ours: float | None, etcd: float | None, met: bool | None
) -> None:
    """At the bound it is met; without the figures it is neither met nor missed."""
    assert target.met(ours, etcd) is met


def test_a_target_says_its_bound() -> None:
    """An x marks a ratio; the aim is said and not judged."""
    assert str(Target(at_least=2.5, aim=4)) == ">= 2.5x (aim 4)"
    assert str(Target(at_most=512, ratio=False)) == "<= 512"
    assert str(Target(at_least=5_000, ratio=False)) == ">= 5,000"
    assert str(Target(at_least=1.5, aim="300,000/s")) == ">= 1.5x (aim 300,000/s)"


def test_no_quotient_without_two_figures() -> None:
    """A missing or zero divisor gives none."""
    assert quotient(3.0, 2.0) == 1.5
    assert quotient(3.0, 0.0) is None
    assert quotient(None, 2.0) is None


def test_rows_of_the_client_library_need_no_entry() -> None:
    """Its module names its own rates."""
    assert row("cycle-512") is ROWS["cycle-512"]
    assert row("client-put").unit == "1/s"


def test_rows_that_an_experiment_names_are_rows_of_its_table() -> None:
    """`--only` finds experiments by them."""
    named = [name for each in tube_experiments.EXPERIMENTS for name in each.rows]
    assert named == ["bs-put-1", "bs-take-1", "bs-put-100", "bs-take-100"]
    assert all(ROWS[name].kinds == BEANSTALK_KINDS for name in named)


def test_rows_of_workers_are_judged_by_the_best_of_their_peers() -> None:
    """Each of them, also where one peer was not measured; others by the first one."""
    (experiment,) = worker_experiments.EXPERIMENTS
    assert all(ROWS[name].kinds == WORKER_KINDS for name in experiment.rows)
    assert ROWS["worker-empty"].rival([3.0, None, 5.0]) == 5.0
    assert ROWS["worker-empty"].rival([None, None, None]) is None
    assert Row("x", "1/s").rival([3.0, 5.0]) == 3.0
