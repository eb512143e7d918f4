"""Jobs by producer key."""

from etcdq.actors.queue import keys
from etcdq.actors.queue.job import READY, Job


def new_job(index: int, key: bytes = b"k") -> Job:
    return Job(index, index, b"jobs", key, key, b"", 1024, 0.0, READY)


def test_several_jobs_under_one_key_come_oldest_first() -> None:
    """A key used again while its job lives has them all, in index order."""
    by_key: keys.Keys = {}
    jobs = [new_job(index) for index in range(3)]
    for job in jobs:
        keys.add(by_key, job)
    assert keys.under(by_key, b"k") == jobs
    assert keys.oldest(by_key, b"k") is jobs[0]


def test_removing_leaves_the_others() -> None:
    """Whichever goes, the others stay, down to one and to none."""
    jobs = [new_job(index) for index in range(3)]
    for first in jobs:
        by_key: keys.Keys = {}
        for job in jobs:
            keys.add(by_key, job)
        keys.remove(by_key, first)
        others = [job for job in jobs if job is not first]
        assert keys.under(by_key, b"k") == others
        keys.remove(by_key, others[0])
        assert keys.oldest(by_key, b"k") is others[1]
        assert by_key[b"k"] is others[1], "a single job stands in the dict itself"
        keys.remove(by_key, others[1])
        assert by_key == {}


def test_an_unknown_key_has_no_jobs() -> None:
    """Looking makes no entry."""
    by_key: keys.Keys = {}
    assert keys.oldest(by_key, b"k") is None
    assert keys.under(by_key, b"k") == []
    assert by_key == {}
