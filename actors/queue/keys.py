"""The living jobs of a queue by producer key: ready, delayed or held; not the buried ones.

Nearly always a key has one job, which then stands in the dict itself: one C call per job, no
memory but the entry. Only a key used again while its job lives gets a dict of its jobs by index.
"""

from etcdq.actors.queue.job import Job

Keys = dict[bytes, Job | dict[int, Job]]


def add(keys: Keys, job: Job) -> None:
    """Take in a job, whose index is higher than those of all others under its key."""
    there = keys.setdefault(job.key, job)
    if there is job:
        return
    if isinstance(there, dict):
        there[job.index] = job
    else:
        keys[job.key] = {there.index: there, job.index: job}


def add_back(keys: Keys, job: Job) -> None:
    """Take in a job that may be older than others under its key."""
    jobs = {**{other.index: other for other in under(keys, job.key)}, job.index: job}
    keys[job.key] = dict(sorted(jobs.items())) if len(jobs) > 1 else job


def remove(keys: Keys, job: Job) -> None:
    """Forget a job; its index is still the one it was added with."""
    there = keys.pop(job.key)
    if there is not job:
        assert isinstance(there, dict), "another job stands in this one's place"
        del there[job.index]
        keys[job.key] = next(iter(there.values())) if len(there) == 1 else there


def oldest(keys: Keys, key: bytes) -> Job | None:
    """Return the job under `key` with the lowest index."""
    there = keys.get(key)
    return next(iter(there.values())) if isinstance(there, dict) else there


def under(keys: Keys, key: bytes) -> list[Job]:
    """Return the jobs under `key`, in index order."""
    there = keys.get(key)
    if there is None:
        return []
    return list(there.values()) if isinstance(there, dict) else [there]
