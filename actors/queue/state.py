"""What one queue is made of; the steps that change it are in the rooms beside (`core.py` has the
table)."""

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Tell
from etcdq.actors.node.messages import DropRegistry, SetRegistry
from etcdq.actors.queue.consumers import Consumer, Roster
from etcdq.actors.queue.context import QueueContext
from etcdq.actors.queue.idempotency import Idempotency
from etcdq.actors.queue.names import spelled
from etcdq.actors.queue.places import Places
from etcdq.actors.queue.timing import Timing
from etcdq.actors.queue.tubes import DEFAULT
from etcdq.actors.queue.waiting import Waiting


class QueueState:
    """One queue.

    Args:
        name: as the tube's (see `names.py`).
        context: what it shares with the node's other queues.
    """

    __slots__ = (
        "acknowledged_total",
        "buried_total",
        "consumers_next",
        "context",
        "deleted_total",
        "deletes_total",
        "deliveries_total",
        "dropped_total",
        "exists",
        "idempotency",
        "kicked_total",
        "lingers",
        "name",
        "now_s",
        "offering",
        "pause_s",
        "paused_until_s",
        "pauses_total",
        "places",
        "puts_total",
        "registered",
        "reserves_total",
        "roster",
        "timeouts_total",
        "timing",
        "used_s",
        "using",
        "waiting",
        "watching",
    )

    def __init__(self, name: bytes, context: QueueContext) -> None:
        self.name = name
        self.context = context
        self.exists = False
        self.registered = False
        """Whether its registry key is set: from its first job or consumer on."""
        self.lingers = False
        """Whether the etcd door used it: then it is reaped only after `idle_s` without use."""
        self.using = 0
        """beanstalk connections that use it; `watching` those that watch it."""
        self.watching = 0
        self.places = Places(name, context)
        self.roster = Roster()
        self.waiting = Waiting()
        self.consumers_next = True
        """Whose turn it is where consumers and waiting connections could take the next job."""
        self.idempotency: Idempotency | None = None
        self.timing: Timing | None
        self.offering: Consumer | None = None
        """Whose answer to an offer is awaited."""
        self.used_s = 0.0
        self.now_s = 0.0
        self._begin_counting()

    def _begin_counting(self) -> None:
        self.pause_s = 0.0
        self.paused_until_s = 0.0
        self.timing = None
        self.puts_total = 0
        self.deliveries_total = 0
        self.acknowledged_total = 0
        self.deleted_total = 0
        self.deletes_total = 0
        """Jobs deleted as beanstalk counts: by `delete`, `delete-batch` and `flush-tube`."""
        self.kicked_total = 0
        self.buried_total = 0
        self.dropped_total = 0
        self.reserves_total = 0
        self.timeouts_total = 0
        self.pauses_total = 0

    def begin(self) -> None:
        """Exist, if it did not."""
        if not self.exists:
            self.exists = True
            self.context.tubes.add(self.name)

    def register(self) -> list[Effect]:
        """Exist, and be seen in the registry."""
        self.begin()
        if self.registered:
            return []
        self.registered = True
        return [Tell(self.context.registry, SetRegistry(self.registry_key(), self.context.node_id))]

    def end(self) -> list[Effect]:
        """Exist no longer; one that begins again in the same batch begins anew."""
        self.exists = self.lingers = False
        self.context.tubes.remove(self.name)
        self._begin_counting()
        if not self.registered:
            return []
        self.registered = False
        return [Tell(self.context.registry, DropRegistry(self.registry_key()))]

    def fade(self) -> list[Effect]:
        """Exist no longer if it is a tube that nothing keeps: as in beanstalkd, at once."""
        return self.end() if self.exists and self.idle_deadline_s() == 0.0 else []

    def is_needed(self) -> bool:
        """Return whether a job, a consumer or a connection keeps it alive."""
        return bool(
            self.places.all
            or self.using
            or self.watching
            or len(self.roster)
            or (self.idempotency is not None and not self.idempotency.is_empty())
        )

    def idle_deadline_s(self) -> float:
        """Return when the queue is to be reaped; a pause counts as use until it ends."""
        if self.is_needed() or self.name == DEFAULT:
            return NEVER_S
        if not self.lingers:
            return 0.0  # a tube goes with what kept it
        return max(self.used_s, self.paused_until_s) + self.context.idle_s

    def is_oversized(self, body_bytes: int) -> bool:
        """Return whether a body of that size is never offered to a watch."""
        return bool(self.context.request_bytes_max) and body_bytes > self.context.request_bytes_max

    def text(self) -> str:
        """Return its name for people."""
        return self.name.decode(errors="replace")

    def registry_key(self) -> bytes:
        """Return its registry key."""
        return self.context.prefix + spelled(self.name)

    def consumer_key(self, consumer: Consumer) -> bytes:
        """Return the registry key of one of its consumers."""
        return self.registry_key() + b"/c/" + consumer.identity.encode()
