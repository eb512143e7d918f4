"""The line of ready jobs: in which order they leave.

Order is (priority, index). Each priority has a lane: a deque of indexes in rising order, for
jobs that entered at the end, and a small heap of those that came back to their place. A heap of
priorities says which lane is first. The line holds indexes only: an entry is alive while the
job of that index is ready, and of the lane's priority. A job that leaves from the middle leaves
its entry behind, dead; it is skipped when it comes to the front, and swept when the dead outnumber
the living. So adding, removing and taking cost the same however long the line is.

Two kinds of jobs are put aside when they come to the front, still ready and counted: one whose
concurrency key is full is parked until a slot frees (`parking.py`), and one that is too large for
watches goes among the large ones, so that the smaller ones behind it can be offered to them.

What may surprise: an index can have two entries (left from the middle, then came back). At most
one of them is ever used, because taking or parking the job makes the other one dead: entries are
always `live` less the parked, plus dead ones, whichever is which.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, groupby, islice

from etcdq.actors import limits
from etcdq.actors.queue.job import HAND_OUT, READY, Job, Place, key_wanted, place_of
from etcdq.actors.queue.parking import Parking
from etcdq.actors.queue.slots import Slots

Lane = tuple[deque[int], list[int]]
"""Indexes that came in order, and a heap of those that came back."""


class Line:
    """The ready jobs of one queue.

    Args:
        jobs: all jobs of the queue by index; owned and changed by the queue.
        slots: the concurrency keys of all queues.
        queue: the queue's name, under which it waits for slots.
        offer_bytes_max: a job with a larger body is not offered to watches.
    """

    __slots__ = (
        "_dead",
        "_jobs",
        "_lanes",
        "_large",
        "_offer_bytes_max",
        "_parking",
        "_priorities",
        "_queue",
        "_slots",
        "live",
        "urgent",
    )

    def __init__(
        self,
        jobs: Mapping[int, Job],
        slots: Slots,
        queue: bytes,
        offer_bytes_max: int = limits.JOB_BYTES_ALL,
    ) -> None:
        self._jobs = jobs
        self._slots = slots
        self._queue = queue
        self._offer_bytes_max = offer_bytes_max
        self._parking: Parking | None = None
        self._large: list[Place] = []
        """A heap of the jobs put aside because they are not for watches."""
        self._lanes: dict[int, Lane] = {}
        self._priorities: list[int] = []
        self._dead = 0
        self.live = 0
        self.urgent = 0

    def add(self, job: Job) -> None:
        """Put a ready job, whose index is higher than any before, at the end of its lane."""
        priority = job.priority
        lane = self._lanes.get(priority)
        if lane is None:
            lane = self._open_lane(priority)
        lane[0].append(job.index)
        self.live += 1
        if priority < limits.PRIORITY_DEFAULT:
            self.urgent += 1

    def add_back(self, job: Job) -> None:
        """Put a ready job to the place that its index gives it."""
        self._enter_back(job)
        self.live += 1
        if job.priority < limits.PRIORITY_DEFAULT:
            self.urgent += 1

    def discard(self, job: Job) -> None:
        """Take note that `job` is no longer ready, or no longer there; the line did not take it."""
        self._leave(job, job.priority)

    def prioritise(self, job: Job, priority: int) -> None:
        """Give a ready job another priority, and the place that this makes."""
        before, job.priority = job.priority, priority
        self._leave(job, before)
        self.add_back(job)

    def head(self) -> Job | None:
        """Return the job that leaves next, None if there is none."""
        front = self._front(limits.JOB_BYTES_ALL)
        if not self._large:
            return front
        return min(filter(None, (front, self._large_front())), key=place_of, default=None)

    def offerable(self) -> Job | None:
        """Return the first job that a watch may be offered, None if there is none."""
        return self._front(self._offer_bytes_max)

    def take(self, messages: int, body_bytes: int) -> list[Job]:
        """Take jobs that a watch may be offered off the line's front and make them reserved.

        Args:
            messages: how many at most.
            body_bytes: how large their bodies may be together; the first is taken at any size.

        Returns:
            The jobs in line order; the caller gives them their holder.
        """
        return self._take(messages, body_bytes, None, self._offer_bytes_max)

    def reserve(self, count: int, limit: Place | None = None) -> list[Job]:
        """Take jobs of any size off the line's front and make them reserved.

        Args:
            count: how many at most.
            limit: behind that place none is taken.

        Returns:
            The jobs in line order; the caller gives them their holder.
        """
        if not self._large:
            return self._take(count, limits.JOB_BYTES_ALL, limit, limits.JOB_BYTES_ALL)
        taken: list[Job] = []
        job = self.head()
        while job is not None and len(taken) < count and not (limit and place_of(job) > limit):
            if self._large and self._large[0] == place_of(job):
                heapq.heappop(self._large)
                job.state = HAND_OUT[READY]
                if key := key_wanted(job):
                    self._take_slot(key)
                self._lose(job.priority, 1)
            else:
                self._take(1, 0, None, limits.JOB_BYTES_ALL)
            taken.append(job)
            job = self.head()
        return taken

    def _front(self, size_max: int) -> Job | None:
        """Return the first job of the first lane that has one; those that must not go now are put
        aside, and so are those with a larger body than `size_max`."""
        jobs = self._jobs
        while True:
            lane = self._first_lane()
            if lane is None:
                return None
            fresh, back = lane
            came_back = back and (not fresh or back[0] < fresh[0])
            job = jobs.get(back[0] if came_back else fresh[0])
            large = None
            if job is None or job.state is not READY:
                self._bury_entry()
            elif (extra := job.extra) is None:
                return job  # it came by a put of the etcd door: never too large
            elif (extra.tags is None and job.priority == self._priorities[0]) or self._may_go(job):
                if len(job.body) <= size_max:
                    return job
                large = job
            if came_back:
                heapq.heappop(back)
            else:
                fresh.popleft()
            if large is not None:
                self._put_aside(large)

    def _may_go(self, job: Job) -> bool:
        """Return whether a ready job at the front of the first lane is alive and may leave; one
        that may not is put aside."""
        if job.priority != self._priorities[0]:
            self._bury_entry()
            return False
        return self._has_slot(job)

    def _put_aside(self, job: Job) -> None:
        """Put a job, whose entry left the lane, among the large ones."""
        heapq.heappush(self._large, place_of(job))
        key = key_wanted(job)
        if key:
            self.slot_freed(key)  # a watch may have the slot that is free for this one

    def _large_front(self) -> Job | None:
        """Return the first of the large jobs that may go; those that must not are put aside."""
        large = self._large
        while large:
            job = self._living(*large[0])
            if job is None:
                self._bury_entry()
            elif self._has_slot(job):
                return job
            heapq.heappop(large)
        return None

    def _has_slot(self, job: Job) -> bool:
        """Return whether a ready job's concurrency key has a slot for it; else it is parked."""
        key = key_wanted(job)
        if not key:
            return True
        if self._parking is not None and job in self._parking:
            self._bury_entry()  # left behind when it left from the middle, before it was parked
            return False
        if not self._slots.is_full(key):
            return True
        if self._parking is None:
            self._parking = Parking(self._jobs)
        self._parking.add(key, job)
        self._slots.park(key, self._queue)
        return False

    def _take(
        self, messages: int, body_bytes: int, limit: Place | None, size_max: int
    ) -> list[Job]:
        taken: list[Job] = []
        get = self._jobs.get
        job = self._front(size_max)
        while job is not None and messages > 0:
            priority = job.priority
            fresh, back = self._lanes[priority]
            count = len(taken)
            while job is not None and job.state is READY and messages > 0:
                body_bytes -= len(job.body)
                if (body_bytes < 0 and taken) or (limit and (priority, job.index) > limit):
                    messages = 0
                    break
                if fresh and fresh[0] == job.index:
                    fresh.popleft()
                else:
                    heapq.heappop(back)
                job.state = HAND_OUT[READY]
                if job.extra is not None and (key := key_wanted(job)):
                    self._take_slot(key)
                taken.append(job)
                messages -= 1
                # Nearly always the next one is right behind it; else _front() finds it.
                job = get(fresh[0]) if fresh and not back else None
                if job is not None and (extra := job.extra) is not None:
                    plain = extra.tags is None and job.priority == priority
                    if not plain or len(job.body) > size_max:
                        job = None
            self._lose(priority, len(taken) - count)
            job = self._front(size_max) if messages > 0 else None
        return taken

    def _take_slot(self, key: bytes) -> None:
        self._slots.take(key, self._queue)
        if self._parking is not None and not self._parking.waits_for(key):
            self._slots.unpark(key, self._queue)

    def slot_freed(self, key: bytes) -> None:
        """Slots of this concurrency key are free: so many parked jobs go back to their place."""
        parking = self._parking
        if parking is None:
            return
        for _ in range(self._slots.room(key) if parking.waits_for(key) else 0):
            job = parking.take(key)
            if job is None:
                break
            self._enter_back(job)  # the queue keeps its place among others until it has the slot

    def first(self, limit: int) -> list[Job]:
        """Return the first `limit` ready jobs in line order, without taking them."""
        if limit == 1:  # peeked at all the time: nothing is sorted for it
            heads = (self.head(), self._parking.first() if self._parking is not None else None)
            return sorted(filter(None, heads), key=place_of)[:1]
        in_order = chain.from_iterable(map(self._lane_in_order, sorted(self._lanes)))
        parked = heapq.nsmallest(limit, self._parking or (), key=place_of)
        merged = heapq.merge(in_order, parked, self._large_in_order(), key=place_of)
        return [job for job, _ in islice(groupby(merged), limit)]

    def oldest(self) -> Job | None:
        """Return the ready job with the lowest index, whatever its priority."""
        heads = chain.from_iterable(map(self._lane_heads, self._lanes))
        aside = chain(self._parking or (), self._large_in_order())
        return min(chain(heads, aside), key=_index_of, default=None)

    def _leave(self, job: Job, priority: int) -> None:
        """Take note that a job leaves the line from anywhere, where it stood with `priority`."""
        self._lose(priority, 1)
        key = key_wanted(job)
        if key and self._leave_parking(key, job):
            return
        self._dead += 1
        if self._dead > limits.LINE_DEAD_MIN and self._dead > self.live:
            self._sweep()

    def _bury_entry(self) -> None:
        self._dead -= 1
        assert self._dead >= 0, "more dead entries met than were counted"

    def _leave_parking(self, key: bytes, job: Job) -> bool:
        """Take note that a job with a concurrency key is not ready any more, parked or not."""
        parking = self._parking
        if parking is None:
            return False
        was_parked = parking.discard(job)
        if not parking.waits_for(key):
            self._slots.unpark(key, self._queue)
        elif not was_parked and not self._slots.is_full(key):
            self.slot_freed(key)  # the slot that this one was to have
        return was_parked

    def _enter_back(self, job: Job) -> None:
        lane = self._lanes.get(job.priority)
        if lane is None:
            lane = self._open_lane(job.priority)
        heapq.heappush(lane[1], job.index)

    def _lose(self, priority: int, count: int) -> None:
        self.live -= count
        if priority < limits.PRIORITY_DEFAULT:
            self.urgent -= count
        assert self.live >= 0, "more jobs left the line than entered it"

    def _open_lane(self, priority: int) -> Lane:
        lane: Lane = (deque(), [])
        self._lanes[priority] = lane
        heapq.heappush(self._priorities, priority)
        return lane

    def _first_lane(self) -> Lane | None:
        # The last lane stays when it is empty: most queues only ever use one priority.
        priorities = self._priorities
        while priorities:
            lane = self._lanes[priorities[0]]
            if lane[0] or lane[1]:
                return lane
            if len(priorities) == 1:
                return None
            del self._lanes[heapq.heappop(priorities)]
        return None

    def _sweep(self) -> None:
        lanes: dict[int, Lane] = {}
        entries = 0
        for priority in self._lanes:
            living = deque(job.index for job in self._lane_in_order(priority))
            if living:
                lanes[priority] = (living, [])
                entries += len(living)
        self._lanes = lanes
        self._priorities = sorted(lanes)
        self._large = [place_of(job) for job in self._large_in_order()]
        entries += len(self._large)
        # The job that leaves in this moment may look alive still.
        self._dead = entries - (self.live - len(self._parking or ()))

    def _living(self, priority: int, index: int) -> Job | None:
        """Return the job of an entry if it is alive, or looks so: it may have another one."""
        job = self._jobs.get(index)
        return job if job and job.state is READY and job.priority == priority else None

    def _lane_heads(self, priority: int) -> Iterator[Job]:
        """Iterate over the first of those that came in order, and of those that came back."""
        fresh, back = self._lanes[priority]
        for indexes, pop in ((fresh, fresh.popleft), (back, lambda: heapq.heappop(back))):
            while indexes and self._living(priority, indexes[0]) is None:
                pop()
                self._bury_entry()
            if indexes:
                yield self._jobs[indexes[0]]

    def _lane_in_order(self, priority: int) -> Iterator[Job]:
        fresh, back = self._lanes[priority]
        indexes = heapq.merge(fresh, sorted(back)) if back else fresh
        living = (self._living(priority, index) for index, _ in groupby(indexes))
        return filter(None, living)

    def _large_in_order(self) -> Iterator[Job]:
        return filter(None, (self._living(*place) for place in sorted(set(self._large))))


def _index_of(job: Job) -> int:
    return job.index
