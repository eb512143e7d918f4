"""Consumers of the etcd door: they register, are offered jobs, take them, and end.

At most one offer is unresolved. Only when the watch has said what it took is the next one made,
to the same consumer or the next in rank. So jobs are handed over strictly in line order, and what
a consumer declines is back in its place before anyone else is asked.
"""

from etcdq.actors.effect import Effect, Log, Reply, Tell
from etcdq.actors.node.messages import DropRegistry, SetRegistry
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.consumers import Consumer
from etcdq.actors.queue.job import tail_of
from etcdq.actors.queue.state import QueueState


def register(queue: QueueState, message: m.Register, now_s: float) -> list[Effect]:
    """A consumer begins to watch, or takes its place over from an older watch."""
    effects: list[Effect] = [Reply(message.to, m.Registered())]
    queue.used_s = now_s
    queue.lingers = True
    effects += queue.register()
    consumer = queue.roster.get(message.consumer)
    if consumer is None:
        consumer = queue.roster.add(message.consumer, message.watch, now_s)
        entry = SetRegistry(queue.consumer_key(consumer), queue.context.node_id)
        effects.append(Tell(queue.context.registry, entry))
    else:
        superseded = queue.roster.take_over(consumer, message.watch)
        if superseded is not None:
            effects.append(Tell(superseded.handle, m.Superseded(superseded)))
    consumer.peer = message.peer
    consumer.credit = message.credit or queue.context.credit
    return effects


def hand_out(queue: QueueState, consumer: Consumer) -> list[Effect]:
    """Offer jobs from the front of the line to a consumer that can take the first."""
    watch = consumer.watch
    assert watch is not None, "an open consumer has a watch"
    assert not consumer.offered, "one offer at a time"
    messages, body_bytes = consumer.room()
    if len(queue.waiting):
        messages = 1  # the next one is for those that wait
    jobs = queue.places.hand_out(consumer, messages, body_bytes)
    consumer.offered = tuple([m.Delivery(job.index, tail_of(job), job.body) for job in jobs])
    consumer.serving = watch
    queue.offering = consumer
    queue.consumers_next = False
    return [Tell(watch.handle, m.Offer(watch, consumer.offered))]


def accepted(queue: QueueState, message: m.Accepted, now_s: float) -> list[Effect]:
    """A watch says what it took of its offer."""
    consumer = queue.roster.of_watch(message.watch)
    if consumer is None:
        return []
    taken, stalled, declined = message.taken, message.stalled, message.declined
    assert consumer is queue.offering, "only an offer can be accepted"
    assert consumer.serving == message.watch, "the offer was made to another watch"
    assert len(consumer.offered) == len(taken) + len(stalled) + len(declined), (
        "every offered index is taken, stalled or declined"
    )
    queue.offering = None
    consumer.offered = ()
    consumer.stalled = dict.fromkeys(stalled)
    queue.deliveries_total += len(taken)
    queue.used_s = now_s
    for index in declined:
        job = consumer.held.get(index)
        if job is not None:
            queue.places.give_back(job)
    queue.roster.wake(consumer)
    return []


def taken(queue: QueueState, message: m.Taken, now_s: float) -> list[Effect]:
    """Stalled jobs were written after all."""
    consumer = queue.roster.of_watch(message.watch)
    if consumer is None:
        return []
    assert consumer.serving == message.watch, "the jobs were sent to another watch"
    for index in message.indexes:
        del consumer.stalled[index]
    queue.deliveries_total += len(message.indexes)
    queue.used_s = now_s
    queue.roster.wake(consumer)
    return []


def ended(queue: QueueState, message: m.Ended, now_s: float) -> list[Effect]:
    """A watch is over; with its last watch a consumer ends."""
    watch = message.watch
    consumer = queue.roster.of_watch(watch)
    if consumer is None:
        return []
    effects: list[Effect] = []
    queue.used_s = now_s
    if consumer.serving == watch:
        taken = frozenset(message.taken)
        queue.deliveries_total += len(taken)
        for job in consumer.not_taken():
            if job.index not in taken:
                queue.places.give_back(job)
        if queue.offering is consumer:
            queue.offering = None
    if message.dropped:
        queue.dropped_total += 1
        fields = {"queue": queue.text(), "consumer": consumer.identity, "peer": consumer.peer}
        effects.append(Log("warning", "dropped a consumer that made no progress", fields))
    queue.roster.end_watch(consumer, watch)
    if consumer.watch is None and not consumer.leaving:
        effects += _end_consumer(queue, consumer)
    else:
        queue.roster.wake(consumer)
    return effects


def _end_consumer(queue: QueueState, consumer: Consumer) -> list[Effect]:
    effects: list[Effect] = []
    if consumer.held:
        fields = {"queue": queue.text(), "consumer": consumer.identity}
        text = f"buried {len(consumer.held)} jobs that an ended consumer held"
        effects.append(Log("warning", text, fields))
    # In index order, which is the order they were handed over in.
    for _, job in sorted(consumer.held.items()):
        queue.places.bury(job, spent=True)
        queue.buried_total += 1
    queue.roster.remove(consumer)
    entry = DropRegistry(queue.consumer_key(consumer))
    return [*effects, Tell(queue.context.registry, entry)]
