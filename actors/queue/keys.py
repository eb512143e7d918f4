"""The living jobs of a queue by producer key: ready, delayed or held; not the buried ones."""

from etcdq.actors.queue.job import Job


class Keys:
    """Producer keys to jobs. Nearly always a key has one job, which then stands there itself."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[bytes, Job | dict[int, Job]] = {}

    def add(self, job: Job) -> None:
        """Take in a job, whose index is higher than those of all others under its key."""
        keys = self._keys
        there = keys.get(job.key)
        if there is None:
            keys[job.key] = job
        elif isinstance(there, dict):
            there[job.index] = job
        else:
            keys[job.key] = {there.index: there, job.index: job}

    def remove(self, job: Job) -> None:
        """Forget a job; its index is still the one it was added with."""
        there = self._keys[job.key]
        if there is job:
            del self._keys[job.key]
            return
        assert isinstance(there, dict), "another job stands in this one's place"
        del there[job.index]
        if len(there) == 1:
            self._keys[job.key] = next(iter(there.values()))

    def oldest(self, key: bytes) -> Job | None:
        """Return the job under `key` with the lowest index."""
        there = self._keys.get(key)
        return next(iter(there.values())) if isinstance(there, dict) else there

    def under(self, key: bytes) -> list[Job]:
        """Return the jobs under `key`, in index order."""
        there = self._keys.get(key)
        if there is None:
            return []
        return list(there.values()) if isinstance(there, dict) else [there]
