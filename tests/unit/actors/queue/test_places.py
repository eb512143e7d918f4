"""Bytes of a queue's jobs, as they come and go."""

import pytest

from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.job import READY, Job
from etcdq.actors.queue.places import Places
from tests.support.playbook import Named


def new_places(budget: JobsBudget) -> Places:
    return Places(b"jobs", QueueContext(b"node", Named("registry"), Numbers(1), budget=budget))


def test_bytes_are_counted_in_and_out() -> None:
    """The budget and the queue's own bytes return to where they were."""
    budget = JobsBudget(used_bytes=1000)
    places = new_places(budget)
    job = Job(1, 1, b"jobs", b"key", b"key", b"body", 1024, 0.0, READY)
    places.enter(job, 519)
    assert (places.body_bytes, budget.used_bytes) == (4, 1519)
    places.remove(job)
    assert (places.body_bytes, budget.used_bytes) == (0, 1000)
    assert places.reserved() == 0


def test_a_job_in_two_places_is_noticed() -> None:
    """The counts of all places are checked against the number of jobs."""
    places = new_places(JobsBudget())
    job = Job(1, 1, b"jobs", b"key", b"key", b"body", 1024, 0.0, READY)
    places.enter(job, 519)
    places.buried[1] = job
    with pytest.raises(AssertionError, match="two places"):
        places.reserved()
