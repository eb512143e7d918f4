"""Looking at jobs without touching them: views, and ranges over `{index}/{tail}`.

A bound is a text such as b"1764525600000001/job-1", or any part or neighbour of one, because
clients may ask for any range. Jobs are kept by number, so a bound is turned into the first
(index, rest) at or after it once, and jobs are compared by number from then on.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from etcdq.actors.limits import INDEX_DIGITS
from etcdq.actors.queue.consumers import Roster
from etcdq.actors.queue.job import (
    BURIED,
    DELAYED,
    READY,
    RESERVED,
    Job,
    key_of,
    tail_of,
)
from etcdq.actors.queue.messages import JobView, Listing, Look, Peek, ReadDelivery
from etcdq.actors.queue.places import Places

Bound = tuple[int, bytes]
"""Jobs from here on have an index above the first, or the same and `b"/" + tail` >= the second."""

_DIGITS = frozenset(b"0123456789")


def view(job: Job, now_s: float) -> JobView:
    """Return `job` as it is shown at `now_s`."""
    extra = job.extra
    holder = job.holder
    return JobView(
        job.job_id,
        job.index,
        key_of(job),
        tail_of(job),
        job.body,
        job.priority,
        job.state,
        extra.delay_s if extra is not None else 0.0,
        extra.ttr_s if extra is not None else 0.0,
        now_s - job.put_s,
        holder.identity if holder is not None else "",
    )


def bound(text: bytes) -> Bound:
    """Return the first place a job can have at or after `text`, as bytes are ordered."""
    digits = text[:INDEX_DIGITS]
    for position, byte in enumerate(digits):
        if byte not in _DIGITS:
            number = int(digits[:position] or b"0") + (byte > ord("9"))
            return number * 10 ** (INDEX_DIGITS - position), b""
    if len(digits) < INDEX_DIGITS:
        return int(digits or b"0") * 10 ** (INDEX_DIGITS - len(digits)), b""
    return int(digits), text[INDEX_DIGITS:]


def is_whole(start: bytes, end: bytes | None) -> bool:
    """Return whether [start, end) has room for every job: nothing has to be compared then."""
    return bound(start) <= (0, b"/") and (end is None or bound(end)[0] >= 10**INDEX_DIGITS)


def in_range(jobs: Mapping[int, Job], start: bytes, end: bytes | None) -> Iterator[Job]:
    """Iterate over the jobs in [start, end), in index order.

    Args:
        jobs: jobs by index, in index order.
        start: first place that is meant.
        end: first place that is not; None for no end.
    """
    first, first_rest = bound(start)
    last, last_rest = bound(end) if end is not None else (10**INDEX_DIGITS, b"")
    if first == last:
        # One key: what Range and DeleteRange of a delivery key ask for.
        job = jobs.get(first)
        if job is not None and first_rest <= b"/" + tail_of(job) < last_rest:
            yield job
        return
    for index, job in jobs.items():
        if index < first or (index == first and b"/" + tail_of(job) < first_rest):
            continue
        if index > last or (index == last and b"/" + tail_of(job) >= last_rest):
            return
        yield job


def held_by(holder: str | None, places: Places, roster: Roster) -> Mapping[int, Job]:
    """Return what that consumer holds, all jobs of the queue if None; in index order."""
    if holder is None:
        return places.all
    consumer = roster.get(holder)
    return dict(sorted(consumer.held.items())) if consumer is not None else {}


def listing(message: Look, places: Places, roster: Roster, now_s: float) -> Listing:
    """Return the answer to `Look`."""
    jobs = held_by(message.holder, places, roster)
    state = (RESERVED,) if message.holder is not None else (READY, DELAYED)
    found = (job for job in in_range(jobs, message.start, message.end) if job.state in state)
    limit = min(message.limit or len(jobs), len(jobs))  # islice takes no number beyond 63 bits
    shown = tuple([view(job, now_s) for job in islice(found, limit)])
    if message.holder is None and is_whole(message.start, message.end):
        count = places.line.live + places.delayed()
    else:
        count = len(shown) + sum(1 for _ in found)
    return Listing(shown, count)


def delivery(message: ReadDelivery, places: Places, now_s: float) -> Listing:
    """Return the answer to `ReadDelivery`."""
    job = places.all.get(message.index)
    if job is None or tail_of(job) != message.tail:
        return Listing((), 0)
    if message.holder is not None and (job.holder is None or job.holder.identity != message.holder):
        return Listing((), 0)
    return Listing((view(job, now_s),), 1)


def peek(message: Peek, places: Places, now_s: float) -> Listing:
    """Return the answer to `Peek`; reserved jobs are shown in index order."""
    state, limit = message.state, min(message.limit, len(places.all))
    if state is READY:
        jobs, count = places.line.first(limit), places.line.live
    elif state is DELAYED:
        jobs, count = places.delays.first(limit), places.delays.live
    elif state is BURIED:
        jobs, count = list(islice(places.buried.values(), limit)), len(places.buried)
    else:
        held = (job for job in places.all.values() if job.state is RESERVED)
        jobs, count = list(islice(held, limit)), places.reserved()
    return Listing(tuple([view(job, now_s) for job in jobs]), count)
