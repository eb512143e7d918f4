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
from itertools import chain, islice

from etcdq.actors import limits
from etcdq.actors.queue.job import HAND_OUT, READY, Job, tags_of
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
    """

    __slots__ = (
        "_dead",
        "_jobs",
        "_lanes",
        "_parking",
        "_priorities",
        "_queue",
        "_slots",
        "live",
        "urgent",
    )

    def __init__(self, jobs: Mapping[int, Job], slots: Slots, queue: bytes) -> None:
        self._jobs = jobs
        self._slots = slots
        self._queue = queue
        self._parking: Parking | None = None
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
        self._lose(job.priority, 1)
        key = key_wanted(job)
        if key and self._leave_parking(key, job):
            return
        self._dead += 1
        if self._dead > limits.LINE_DEAD_MIN and self._dead > self.live:
            self._sweep()

    def head(self) -> Job | None:
        """Return the job that leaves next, None if there is none."""
        jobs = self._jobs
        while True:
            lane = self._first_lane()
            if lane is None:
                return None
            fresh, back = lane
            came_back = back and (not fresh or back[0] < fresh[0])
            job = jobs.get(back[0] if came_back else fresh[0])
            if job is not None and job.state is READY:
                key = key_wanted(job)
                if not key or not self._slots.is_full(key):
                    return job
                self._park(key, job)
            else:
                self._dead -= 1
                assert self._dead >= 0, "more dead entries met than were counted"
            if came_back:
                heapq.heappop(back)
            else:
                fresh.popleft()

    def take(
        self, messages: int, body_bytes: int, limit: tuple[int, int] | None = None
    ) -> list[Job]:
        """Take jobs off the line's front and make them reserved.

        Args:
            messages: how many at most.
            body_bytes: how large their bodies may be together; the first is taken at any size.
            limit: (priority, index) beyond which none is taken.

        Returns:
            The jobs in line order; the caller gives them their holder.
        """
        taken: list[Job] = []
        get = self._jobs.get
        job = self.head()
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
                taken.append(job)
                messages -= 1
                if job.extra is not None and (key := key_wanted(job)):
                    self._slots.take(key, self._queue)
                # Nearly always the next one is right behind it; else head() finds it.
                job = get(fresh[0]) if fresh and not back else None
                if job is not None and job.extra is not None and job.extra.tags is not None:
                    job = None  # its concurrency key may be full by now
            self._lose(priority, len(taken) - count)
            job = self.head()
        return taken

    def slot_freed(self, key: bytes) -> None:
        """Slots of this concurrency key are free: so many parked jobs go back to their place."""
        parking = self._parking
        if parking is None:
            return
        for _ in range(self._slots.room(key) if parking.waits_for(key) else 0):
            job = parking.take(key)
            if job is None:
                break
            self._enter_back(job)
        if not parking.waits_for(key):
            self._slots.unpark(key, self._queue)

    def prioritise(self, job: Job, priority: int) -> None:
        """Give a ready job another priority, and the place that this makes."""
        self.discard(job)
        job.priority = priority
        self.add_back(job)

    def first(self, limit: int) -> list[Job]:
        """Return the first `limit` ready jobs in line order, without taking them."""
        parked = sorted(self._parking or (), key=_place_of)
        return list(islice(heapq.merge(self._in_order(), parked, key=_place_of), limit))

    def oldest(self) -> Job | None:
        """Return the ready job with the lowest index, whatever its priority."""
        heads = [next(self._lane_in_order(priority), None) for priority in self._lanes]
        heads += self._parking or ()
        return min((job for job in heads if job is not None), key=_index_of, default=None)

    def _park(self, key: bytes, job: Job) -> None:
        if self._parking is None:
            self._parking = Parking(self._jobs)
        self._parking.add(key, job)
        self._slots.park(key, self._queue)

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
        for priority in self._lanes:
            living = deque(job.index for job in self._lane_in_order(priority))
            if living:
                lanes[priority] = (living, [])
        self._lanes = lanes
        self._priorities = sorted(lanes)
        self._dead = 0

    def _in_order(self) -> Iterator[Job]:
        return chain.from_iterable(map(self._lane_in_order, sorted(self._lanes)))

    def _lane_in_order(self, priority: int) -> Iterator[Job]:
        fresh, back = self._lanes[priority]
        last = -1
        for index in heapq.merge(fresh, sorted(back)) if back else fresh:
            job = self._jobs.get(index)
            if job is not None and job.state is READY and index != last:
                last = index
                yield job


def key_wanted(job: Job) -> bytes:
    """Return the concurrency key of which a job takes a slot while it is reserved, or nothing."""
    tags = tags_of(job)
    return tags.con if tags is not None else b""


def _index_of(job: Job) -> int:
    return job.index


def _place_of(job: Job) -> tuple[int, int]:
    return job.priority, job.index
