"""Jobs in: puts, and the producer keys under which they wait."""

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Reply
from etcdq.actors.errors import DrainingError, EtcdqError, OverLimitError
from etcdq.actors.queue import keys, look
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.idempotency import Idempotency, Tombstone, tombstone_cost_bytes
from etcdq.actors.queue.job import DELAYED, READY, RESERVED, Job, JobExtra
from etcdq.actors.queue.removing import delete
from etcdq.actors.queue.state import QueueState
from etcdq.actors.queue.tube_messages import Duplicate, Puts

Answer = m.Inserted | Duplicate | EtcdqError


def put(queue: QueueState, message: m.Put, now_s: float) -> list[Effect]:
    """Enter a job."""
    answer = _enter(queue, message, now_s)
    reply = Reply(message.to, answer)
    if queue.registered or type(answer) is not m.Inserted:
        return [reply]
    return [*queue.register(), reply]


def puts(queue: QueueState, message: Puts, now_s: float) -> list[Effect]:
    """Enter several jobs, one by one."""
    answers = tuple([_enter(queue, one, now_s) for one in message.puts])
    reply = Reply(message.to, answers)
    return [*queue.register(), reply] if queue.places.all else [reply]


def _enter(queue: QueueState, message: m.Put, now_s: float) -> Answer:
    """Enter a job into the line, among the delays, or behind its group."""
    key, tail, body, tags = message.key, message.tail, message.body, message.tags
    cost_bytes = len(body) + len(key) + limits.JOB_OVERHEAD_BYTES
    context = queue.context
    if context.draining or context.budget.bytes_max or context.max_jobs:
        refusal = _refusal(queue, cost_bytes, tags)
        if refusal is not None:
            return refusal
    if tags is not None and tags.idp:
        duplicate = _duplicate(queue, message, tags.idp, now_s)
        if duplicate is not None:
            return duplicate
    numbers = context.numbers
    index, job_id = numbers.next_index(), numbers.next_job_id()
    if tail == key:
        tail = key
    job = Job(index, job_id, queue.name, key, tail, body, message.priority, now_s, READY)
    delay_s, ttr_s = message.delay_s, message.ttr_s
    if delay_s or ttr_s or tags is not None:
        job.extra = JobExtra(delay_s, ttr_s, now_s + delay_s if delay_s else NEVER_S, tags=tags)
        if delay_s or (tags is not None and _must_wait(queue, tags)):
            job.state = DELAYED
    queue.places.enter(job, cost_bytes)
    if tags is not None and tags.idp:
        assert queue.idempotency is not None, "the look for a duplicate made it"
        queue.idempotency.enter(tags.idp, job)
    queue.puts_total += 1
    context.totals.jobs += 1
    if key:
        queue.used_s = now_s
        queue.lingers = True
    return m.Inserted(job_id, index)


def _refusal(queue: QueueState, cost_bytes: int, tags: m.Tags | None) -> EtcdqError | None:
    context = queue.context
    budget = context.budget
    if context.draining:
        return DrainingError("the node is draining and takes no new jobs")
    if tags is not None and tags.idp and tags.idp_ttl_s:
        cost_bytes += tombstone_cost_bytes(tags.idp)
    if budget.bytes_max and budget.used_bytes + cost_bytes > budget.bytes_max:
        text = f"the node's jobs take all of --max-jobs-size ({budget.bytes_max} bytes)"
        return OverLimitError(text)
    if context.max_jobs and len(queue.places.all) >= context.max_jobs:
        text = f"the queue has all of --max-jobs-per-queue ({context.max_jobs} jobs)"
        return OverLimitError(text)
    return None


def _must_wait(queue: QueueState, tags: m.Tags) -> bool:
    # A job in and after one group waits for itself, as in tuber: stats-group shows the circle.
    if not tags.aft:
        return False
    return tags.aft == tags.grp or not queue.context.groups.is_complete(tags.aft)


def _duplicate(queue: QueueState, message: m.Put, idp: bytes, now_s: float) -> Duplicate | None:
    """Return the answer if `idp` is taken; a more urgent put makes a living job more urgent."""
    if queue.idempotency is None:
        queue.idempotency = Idempotency(queue.context.budget)
    found = queue.idempotency.find(idp, now_s)
    if found is None:
        return None
    if isinstance(found, Tombstone):
        return Duplicate(found.job_id, None)
    if message.priority >= found.priority:
        return Duplicate(found.job_id, found.state)
    if found.state is READY:
        queue.places.line.prioritise(found, message.priority)
    else:
        found.priority = message.priority
    return Duplicate(found.job_id, found.state, message.priority)


# producer keys ------------------------------------------------------------------------------


def read_key(queue: QueueState, message: m.ReadKey, now_s: float) -> list[Effect]:
    """Show the oldest living job under a producer key."""
    job, by_id = keys.oldest(queue.places.by_key, message.key), _keyed_by_id(queue, message.key)
    if job is None or (by_id is not None and by_id.index < job.index):
        job = by_id
    if job is None:
        return [Reply(message.to, m.Listing((), 0))]
    return [Reply(message.to, m.Listing((look.view(job, now_s),), 1))]


def delete_key(queue: QueueState, message: m.DeleteKey, now_s: float) -> list[Effect]:
    """Delete the jobs that wait under a producer key."""
    jobs = keys.under(queue.places.by_key, message.key)
    by_id = _keyed_by_id(queue, message.key)
    if by_id is not None:
        jobs = sorted([*jobs, by_id], key=lambda job: job.index)
    return delete(queue, message, [job for job in jobs if job.state is not RESERVED], now_s)


def _keyed_by_id(queue: QueueState, key: bytes) -> Job | None:
    """Return the living job that was put without a producer key and whose id `key` spells."""
    if not key.isdigit() or len(key) > limits.JOB_ID_DIGITS_MAX:
        return None
    job = queue.context.directory.get(int(key))
    if job is None or job.queue != queue.name or job.key or b"%d" % job.job_id != key:
        return None
    return None if job.state is m.JobState.BURIED else job
