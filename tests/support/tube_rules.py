"""What must hold between batches, whatever happened: looked up the dumb way, by going through
everything."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue import keys
from etcdq.actors.queue.consumers import Consumer
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.idempotency import Tombstone, tombstone_cost_bytes
from etcdq.actors.queue.job import BURIED, DELAYED, READY, RESERVED, Job, JobExtra, tags_of
from etcdq.actors.queue.messages import Tags
from etcdq.actors.queue.tube_messages import Reserver

if TYPE_CHECKING:
    from tests.support.tube_book import TubeBook

NO_TAGS = Tags()
NO_EXTRA = JobExtra()


def check_rules(book: "TubeBook") -> None:
    """Check them all."""
    queues = [core for core in book.stage.cores.values() if isinstance(core, QueueCore)]
    jobs = list(book.context.directory.values())
    all_jobs = [job for queue in queues for job in queue.places.all.values()]
    assert same(all_jobs, jobs), "each job is of one queue"
    assert all(job.job_id == job_id for job_id, job in book.context.directory.items())
    for queue in queues:
        check_places(queue)
        check_timers(queue, book.now_s)
    check_slots(book, jobs)
    check_groups(book, queues, jobs)
    check_idempotency(book, queues, jobs)
    check_life(book, queues)
    check_waiting(book, queues)


def tags(job: Job) -> Tags:
    """Return a job's tags."""
    return tags_of(job) or NO_TAGS


def of(queue: QueueCore, state: Any) -> list[Job]:
    """Return the jobs of a state in line order."""
    jobs = [job for job in queue.places.all.values() if job.state is state]
    return sorted(jobs, key=lambda job: (job.priority, job.index))


def same(jobs: Any, others: Any) -> bool:
    """Return whether these are the same jobs, each as often."""
    return sorted(map(id, jobs)) == sorted(map(id, others))


def check_places(queue: QueueCore) -> None:
    """Every job is in exactly one place, that of its state."""
    places = queue.places
    ready, buried = of(queue, READY), of(queue, BURIED)
    assert list(places.all) == sorted(job.index for job in places.all.values())
    assert all(job.queue == queue.name for job in places.all.values())
    assert places.line.first(len(places.all) + 2) == ready
    assert places.line.first(1) == ready[:1]
    assert places.line.live == len(ready)
    assert places.line.urgent == sum(job.priority < limits.PRIORITY_DEFAULT for job in ready)
    assert places.line.oldest() == min(ready, key=lambda job: job.index, default=None)
    lanes = sum(len(fresh) + len(back) for fresh, back in places.line._lanes.values())
    parked = len(places.line._parking or ())
    entries = lanes + len(places.line._large)
    assert entries == places.line.live - parked + places.line._dead, "entries are miscounted"
    delayed = [*places.delays.first(len(places.all)), *places.held.values()]
    assert same(delayed, of(queue, DELAYED))
    assert places.delays.live + len(places.held) == len(delayed) == places.delayed()
    assert same(places.buried.values(), buried)
    assert places.spent <= set(places.buried)
    reserved = of(queue, RESERVED)
    assert places.reserved() == len(reserved)
    for job in places.all.values():
        assert (job.holder is not None) == (job.state is RESERVED)
    held = [job for consumer in queue.roster for job in consumer.held.values()]
    assert same(held, [job for job in reserved if isinstance(job.holder, Consumer)])
    for consumer in queue.roster:
        assert all(job.holder is consumer for job in consumer.held.values())
    living = [job for job in places.all.values() if job.state is not BURIED and job.key]
    by_key = [job for key in places.by_key for job in keys.under(places.by_key, key)]
    assert same(living, by_key)
    assert places.body_bytes == sum(len(job.body) for job in places.all.values())


def check_timers(queue: QueueCore, now_s: float) -> None:
    """What is due has happened, and what will be wakes the queue."""
    places = queue.places
    instants = []
    for job in places.all.values():
        due_s = (job.extra or NO_EXTRA).due_s
        held = job.index in places.held
        timed = (job.state is DELAYED and not held) or (
            isinstance(job.holder, Reserver) and (job.extra or NO_EXTRA).ttr_s > 0
        )
        assert (due_s != NEVER_S) == timed, (job, due_s)
        if timed:
            assert due_s > now_s, "it is overdue"
            instants.append(due_s)
    assert places.delays.live + places.expiries.live == len(instants)
    assert queue.next_deadline_s() <= min(instants, default=NEVER_S)
    assert not places.freed, "nobody was told of a slot"
    assert not places.completed, "nobody was told of a group"


def check_slots(book: "TubeBook", jobs: list[Job]) -> None:
    """A key's slots are those of its reserved jobs, and never more than it allows."""
    slots = book.context.slots
    keyed = [job for job in jobs if tags(job).con]
    living = Counter(tags(job).con for job in keyed)
    taken = Counter(tags(job).con for job in keyed if job.state is RESERVED)
    assert slots.statistics().keys == len(living)
    assert slots.statistics().taken == sum(taken.values())
    for key in living:
        limit = slots._keys[key].limit
        assert limit >= max(tags(job).con_limit for job in keyed if tags(job).con == key)
        assert taken[key] <= limit, "more are reserved than the key allows"
        assert slots.room(key) == limit - taken[key]
        wanting = {job.queue for job in keyed if tags(job).con == key and job.state is READY}
        assert set(slots.parked(key)) <= wanting, "a queue is told of slots that it does not want"


def check_groups(book: "TubeBook", queues: list[QueueCore], jobs: list[Job]) -> None:
    """A group has the members that live, and holds who waits for it and nobody else."""
    groups = book.context.groups
    pending = Counter(tags(job).grp for job in jobs if tags(job).grp)
    buried = Counter(tags(job).grp for job in jobs if tags(job).grp and job.state is BURIED)
    held = Counter(tags(job).aft for queue in queues for job in queue.places.held.values())
    assert set(groups._groups) == set(pending)
    assert set(held) <= set(pending), "a job is held for a group that is complete"
    for name in pending:
        shown = groups.statistics(name)
        assert shown is not None
        assert (shown.pending, shown.buried) == (pending[name], buried[name])
        assert shown.waiting == held[name]


def check_idempotency(book: "TubeBook", queues: list[QueueCore], jobs: list[Job]) -> None:
    """Every living job has its key, every byte is counted."""
    tombstones = 0
    for queue in queues:
        known = queue.idempotency._keys if queue.idempotency is not None else {}
        living = [job for job in queue.places.all.values() if tags(job).idp]
        assert same(living, [one for one in known.values() if isinstance(one, Job)])
        assert all(known[tags(job).idp] is job for job in living)
        for key, one in known.items():
            if isinstance(one, Tombstone):
                assert one.ends_s > book.now_s
                tombstones += tombstone_cost_bytes(key)
    cost = sum(len(job.body) + len(job.key) + limits.JOB_OVERHEAD_BYTES for job in jobs)
    assert book.context.budget.used_bytes == cost + tombstones


def check_life(book: "TubeBook", queues: list[QueueCore]) -> None:
    """A tube lives while something keeps it, and is known to whoever lists tubes."""
    open_ones = book.connections.values()
    for queue in queues:
        assert queue.exists, "a queue that is none stays"
        assert queue.using == sum(one.using == queue.name for one in open_ones)
        assert queue.watching == sum(queue.name in one.watched for one in open_ones)
        assert queue.is_needed() or queue.lingers or queue.name == b"default"
        registered = queue.registry_key() in book.registry.keys
        assert registered == queue.registered
        assert registered or not (queue.places.all or len(queue.roster))
    names = {queue.name for queue in queues} | {b"default"}
    assert sorted(book.context.tubes.names()) == sorted(names)
    workers = {key[1] for key in book.stage.cores if type(key) is tuple}
    assert workers == set(book.connections), "a worker without a connection, or the reverse"


def can_leave(book: "TubeBook", queue: QueueCore) -> list[Job]:
    """Return the ready jobs that may be handed out now, in line order."""
    if book.now_s < queue.paused_until_s:
        return []
    slots = book.context.slots
    return [job for job in of(queue, READY) if not tags(job).con or slots.room(tags(job).con)]


def check_waiting(book: "TubeBook", queues: list[QueueCore]) -> None:
    """Nobody waits while there is a job for him, and all queues he watches know that he waits."""
    by_name = {queue.name: queue for queue in queues}
    for connection in book.connections.values():
        worker = connection.core
        waits = worker.statistics().waits
        assert not worker._claiming, "a claim outlives its batch"
        for name in connection.watched:
            queue = by_name[name]
            assert (connection.number in queue.waiting) == waits
            if waits:
                assert not can_leave(book, queue), f"{connection.number} waits at {name!r} in vain"
        if waits:
            assert worker.next_deadline_s() > book.now_s
    for queue in queues:
        assert queue.waiting.invited == 0, "an invitation that nobody took up"
        watchers = {one.number for one in book.connections.values() if queue.name in one.watched}
        assert set(queue.waiting) <= watchers
        check_offers(book, queue)


def check_offers(book: "TubeBook", queue: QueueCore) -> None:
    """No watch with room is without an offer while there is a job for it."""
    small = [job for job in can_leave(book, queue) if not queue.is_oversized(len(job.body))]
    if queue.offering is not None or not small:
        return
    first = small[0]
    before = [len(job.body) for job in of(queue, READY) if job.priority <= first.priority]
    for consumer in queue.roster:
        if consumer.is_free() and consumer.has_credit(len(first.body)):
            # One for which its credit was short stood in front, until its slot was taken elsewhere.
            short = not all(map(consumer.has_credit, before))
            assert short, f"{consumer.identity} could be offered job {first.job_id}"
