"""All watches on the key space: who is told what, and when.

A watch is in one of three states:

- *idle*: it was told everything. News of a batch go to it at the end of the batch.
- *outstanding*: it was told changes and its host has not said `Drained`. Nothing is queued for
  it. The first change that it misses makes it *behind*: everything up to `told` is told, the rest
  is in the store's history.
- *catching up*: drained, but behind. It reads the history, a response's worth at a time.

So a slow watch costs the store nothing but a revision, and there is no gap and no repeat. What a
batch may spend on reading history is bounded; what is left is done in the next batch, which is
due at once.

Registry keys have no history: a watch that is behind is told the last change of each (see
`registry_log`), at its place among the others, for registry changes have revisions too. A watch
from a past revision is behind from the start and is treated alike.

Progress is a reply, and replies are performed before anything told in the same batch. So it may
be given in the very moment when a watch has drained and before it is told more; under a steady
load there is no other moment.
"""

from collections import OrderedDict

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply, Tell
from etcdq.actors.message import Address
from etcdq.actors.node.history import History, Response, cut, merged, without_prev
from etcdq.actors.node.messages import (
    AskProgress,
    Change,
    Changes,
    Progress,
    WatchKeys,
    WatchRefused,
)
from etcdq.actors.node.mvcc.errors import CompactedError
from etcdq.actors.node.mvcc.store import Store
from etcdq.actors.node.progress import Asks
from etcdq.actors.node.registry_log import RegistryLog
from etcdq.actors.node.watch_index import Group, WatchIndex


class Watch:
    """One watch. `minimum` is the first revision it wants; `told` counts while it is behind."""

    __slots__ = ("address", "behind", "group", "lost", "minimum", "outstanding", "progress", "told")

    def __init__(self, address: Address, group: Group, minimum: int, progress: bool) -> None:
        self.address = address
        self.group = group
        self.minimum = minimum
        self.progress = progress
        self.told = minimum - 1
        self.outstanding = False
        self.behind = False
        self.lost = False

    @property
    def idle(self) -> bool:
        """Whether it was told everything and everything is written."""
        return not (self.outstanding or self.behind)


class Watchers:
    """The watches on one store. `settle` is called once per batch, after all changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = WatchIndex()
        self._watches: dict[Address, Watch] = {}
        self._registry = RegistryLog()
        self._asks = Asks()
        self._news: list[Change] = []
        self._settled = store.revision
        self._catching: dict[Watch, None] = {}
        self._silent_since_s: OrderedDict[Watch, float] = OrderedDict()
        self._now_s = 0.0
        self._effects: list[Reply | Tell] = []
        self.events_total = 0

    def __len__(self) -> int:
        return len(self._watches)

    def count_slow(self) -> int:
        """Count the watches that are behind."""
        return sum(watch.behind for watch in self._watches.values())

    # what the batch brings --------------------------------------------------------------

    def changed(self, change: Change) -> None:
        """Note one change of an ordinary key, in order."""
        if self._watches:
            self._news.append(change)

    def registry_changed(self, change: Change) -> None:
        """Note one change of a registry key, in order."""
        self._registry.add(change)
        self.changed(change)

    def add(self, request: WatchKeys, now_s: float) -> None:
        """Begin a watch; `request.watch` names it from now on."""
        assert request.watch not in self._watches, "a watch is named once"
        now = self._store.revision
        start = request.start_revision
        group = self._index.group(
            request.start, request.end, request.prev_kv, request.put, request.delete
        )
        watch = Watch(request.watch, group, start or now + 1, request.progress)
        group.watches[watch] = None
        self._watches[request.watch] = watch
        if watch.minimum <= now:
            watch.behind = True
            self._catching[watch] = None
        if request.progress:
            self._silent_since_s[watch] = now_s

    def drop(self, address: Address) -> None:
        """Forget a watch; nothing happens if it is unknown."""
        watch = self._watches.pop(address, None)
        if watch is None:
            return
        group = watch.group
        del group.watches[watch]
        if not group.watches:
            self._index.discard(group)
        self._catching.pop(watch, None)
        self._silent_since_s.pop(watch, None)
        self._asks.drop(watch)

    def drained(self, address: Address) -> None:
        """Let a watch be told more; nothing happens if it is unknown or was told nothing."""
        watch = self._watches.get(address)
        if watch is None or not watch.outstanding:
            return
        watch.outstanding = False
        if watch.behind:
            self._catching[watch] = None
        self._asks.moved(watch)

    def ask_progress(self, request: AskProgress) -> None:
        """Answer once every watch named was told all up to now; unknown ones do not count."""
        found = [self._watches[address] for address in request.watches if address in self._watches]
        self._asks.add(request.to, self._store.revision, found)

    # what follows from it ---------------------------------------------------------------

    def settle(self, now_s: float) -> list[Reply | Tell]:
        """Tell what is to be told: news, history, progress."""
        effects = self._effects = []
        if not self._watches and not self._asks:
            self._news.clear()
            self._registry.forget()
            self._settled = self._store.revision
            return effects
        self._now_s = now_s
        self._answer(self._settled)
        for group in self._gather_news():
            self._tell_group(group)
        for change in self._registry.forget():
            self._mark_lost(change)
        if self._catching:
            self._catch_up_some()
        self._settled = self._store.revision
        self._answer(self._settled)
        self._break_silence()
        return effects

    def next_deadline_s(self) -> float:
        """Now, if history is left to read; else when a silent watch is owed a sign of progress."""
        if self._catching:
            return self._now_s
        if self._silent_since_s:
            return next(iter(self._silent_since_s.values())) + limits.PROGRESS_NOTIFY_S
        return NEVER_S

    def _answer(self, idle_at: int) -> None:
        for to, revision in self._asks.answers(idle_at):
            self._effects.append(Reply(to, Progress(revision)))

    # news -------------------------------------------------------------------------------

    def _gather_news(self) -> list[Group]:
        """Give each group what it wants of the batch; return the groups that got something."""
        touched = []
        for change in self._news:
            for group in self._index.find(change.kv.key):
                if group.delete if change.deleted else group.put:
                    if not group.news:
                        touched.append(group)
                    group.news.append(change if group.prev_kv else without_prev(change))
        self._news.clear()
        return touched

    def _tell_group(self, group: Group) -> None:
        news, group.news = group.news, []
        first, last = news[0].kv.mod_revision, news[-1].kv.mod_revision
        told, up_to = cut(news, self._store.revision)
        for watch in group.watches:
            minimum = watch.minimum
            if watch.behind or minimum > last:
                continue
            if watch.outstanding:
                watch.behind = True
                watch.told = max(first, minimum) - 1
            elif minimum <= first:
                self._tell(watch, told, up_to)
            else:
                wanted = [change for change in news if change.kv.mod_revision >= minimum]
                self._tell(watch, *cut(wanted, self._store.revision))

    def _tell(self, watch: Watch, changes: tuple[Change, ...], up_to: int) -> None:
        assert not watch.outstanding, "a watch is told one thing at a time"
        watch.outstanding = True
        watch.told = up_to
        watch.behind = up_to < self._store.revision
        self.events_total += len(changes)
        if watch.progress:
            self._heard(watch)
        address = watch.address
        self._effects.append(Tell(address.handle, Changes(address, changes, up_to)))

    # history ----------------------------------------------------------------------------

    def _mark_lost(self, change: Change) -> None:
        revision = change.kv.mod_revision
        for group in self._index.find(change.kv.key):
            if group.delete:
                for watch in group.watches:
                    if watch.behind and watch.told < revision and watch.minimum <= revision:
                        watch.lost = True

    def _catch_up_some(self) -> None:
        history = History(self._store)
        for watch in list(self._catching):
            if history.is_enough:
                break
            del self._catching[watch]
            try:
                self._catch_up(watch, history)
            except CompactedError as error:
                # Where nothing was ever compacted etcd says -1: the revision is below all.
                self._refuse(watch, error.compact_revision or -1)

    def _refuse(self, watch: Watch, compact_revision: int) -> None:
        address = watch.address
        self._effects.append(Tell(address.handle, WatchRefused(address, compact_revision)))
        self.drop(address)

    def _catch_up(self, watch: Watch, history: History) -> None:
        """Tell the next response's worth of what a watch has missed, if there is any."""
        if watch.lost:
            return self._refuse(watch, self._store.revision)
        registry = self._registry.since(watch.told)
        history.read_events += len(registry)
        found = Response(watch.group)
        up_to = watch.told
        while True:
            revisions = history.since(up_to + 1)
            end = revisions[-1][0] if revisions else self._store.revision
            full_at = found.take(merged(revisions, registry, up_to, end))
            up_to = end if full_at is None else full_at - 1
            if full_at is not None or not revisions or history.is_enough:
                break
        watch.told = up_to
        if found.changes:
            self._tell(watch, tuple(found.changes), up_to)
        elif up_to < self._store.revision:
            self._catching[watch] = None
        else:
            watch.behind = False
        return None

    # signs of progress ------------------------------------------------------------------

    def _break_silence(self) -> None:
        due_s = self._now_s - limits.PROGRESS_NOTIFY_S
        while self._silent_since_s:
            watch, since_s = next(iter(self._silent_since_s.items()))
            if since_s > due_s:
                break
            if watch.idle:
                self._tell(watch, (), self._store.revision)
            else:
                self._heard(watch)

    def _heard(self, watch: Watch) -> None:
        self._silent_since_s[watch] = self._now_s
        self._silent_since_s.move_to_end(watch)
