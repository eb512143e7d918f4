"""What the beanstalk door shows of all queues together, put together when it is asked."""

from collections.abc import Mapping
from typing import Any

from etcdq.actors.queue.context import QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.job import tags_of
from etcdq.server.beanstalk.door import GroupStatistics, NodeTotals
from etcdq.server.beanstalk.reading import is_name


def tube_names(context: QueueContext) -> list[bytes]:
    """Return the names of the queues that the door can say, in the order of `list-tubes`."""
    return [name for name in context.tubes.names() if is_name(name)]


class TotalsLook:
    """Sums up the queues of a node.

    Args:
        context: what the queues share.
        cores: the living cores of their stage.
    """

    def __init__(self, context: QueueContext, cores: Mapping[Any, Any]) -> None:
        self._context = context
        self._cores = cores
        self._drift_events = 0

    def __call__(self) -> NodeTotals:
        """Return the sums now."""
        context = self._context
        queues = [core for core in self._cores.values() if type(core) is QueueCore]
        places = [queue.places for queue in queues]
        budget = context.budget
        tombstones = [q.idempotency.cost_bytes for q in queues if q.idempotency is not None]
        if not context.directory and budget.used_bytes != sum(tombstones):
            self._drift_events += 1
            budget.used_bytes = sum(tombstones)
        waiting = {connection for queue in queues for connection in queue.waiting}
        consumers = sum(one.is_waiting() for queue in queues for one in queue.roster)
        return NodeTotals(
            urgent=sum(one.line.urgent for one in places),
            ready=sum(one.line.live for one in places),
            reserved=sum(one.reserved() for one in places),
            delayed=sum(one.delays.live for one in places),
            buried=sum(len(one.buried) for one in places),
            waiting=len(waiting) + consumers,
            timeouts_total=context.totals.timeouts,
            jobs_total=context.totals.jobs,
            tubes=len(tube_names(context)),
            concurrency_keys=context.slots.statistics().taken_keys,
            jobs_bytes=budget.used_bytes,
            jobs_bytes_max=budget.bytes_max,
            drift_events=self._drift_events,
        )


class GroupLook:
    """Looks at one group.

    Args:
        context: what the queues share.
    """

    def __init__(self, context: QueueContext) -> None:
        self._context = context

    def __call__(self, name: bytes) -> GroupStatistics | None:
        """Return the group's statistics now; None if nobody belongs to it."""
        context = self._context
        group = context.groups.statistics(name)
        if group is None:
            return None
        states = dict.fromkeys(("ready", "reserved", "delayed", "buried"), 0)
        for job in context.directory.values():
            tags = tags_of(job)
            if tags is not None and tags.grp == name:
                states[job.state.value] += 1
        return GroupStatistics(**states, waiting=group.waiting, cycle=group.cycle)
