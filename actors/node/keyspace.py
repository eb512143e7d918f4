"""The key space: ordinary keys, the registry, and the watches on both, as one actor.

Answers a batch of requests one by one; at the end of the batch the new revision goes to the board
and the changes go to the watches. Replies are performed before publications and without a
checkpoint between them, so whoever reads a reply finds its revision on the board.

Source: etcd v3.5 API, services KV and Watch.
"""

from typing import Any, assert_never

from etcdq.actors.effect import Effect, Publish, Reply
from etcdq.actors.errors import EtcdqError
from etcdq.actors.node.messages import (
    AskProgress,
    Change,
    DeleteKeys,
    Drained,
    DropRegistry,
    KeyPut,
    KeysDeleted,
    KeySpaceStatistics,
    PutKey,
    RangeKeys,
    SetRegistry,
    UnwatchKeys,
    WatchingKeys,
    WatchKeys,
)
from etcdq.actors.node.mvcc.errors import KeyNotFoundError, LeaseNotFoundError
from etcdq.actors.node.mvcc.range_options import read_range
from etcdq.actors.node.mvcc.store import Store
from etcdq.actors.node.watchers import Watchers

RECORD_BYTES = 160
"""What a record takes beyond key and value: itself, its places in log and index."""

Request = (
    PutKey
    | RangeKeys
    | DeleteKeys
    | SetRegistry
    | DropRegistry
    | WatchKeys
    | UnwatchKeys
    | Drained
    | AskProgress
)


class KeySpaceCore:
    """All keys of a node.

    The current revision is put on the board under "revision" at the end of each batch that
    changed it; before the first one it is `FIRST_REVISION`.
    """

    def __init__(self) -> None:
        self._store = Store()
        self._watchers = Watchers(self._store)
        self._published = 0
        self._puts_total = 0
        self._deletes_total = 0
        self._ranges_total = 0
        self._bytes = 0

    def step(self, message: Request, now_s: float) -> list[Effect]:
        """Answer one request."""
        match message:
            case PutKey():
                return [Reply(message.to, self._put(message))]
            case RangeKeys():
                return [Reply(message.to, self._range(message))]
            case DeleteKeys():
                return [Reply(message.to, self._delete(message))]
            case Drained():
                self._watchers.drained(message.watch)
            case SetRegistry():
                self._registry_changed(self._store.put_current(message.key, message.value))
            case DropRegistry():
                change = self._store.delete_current(message.key)
                if change is not None:
                    self._registry_changed(change)
            case WatchKeys():
                self._watchers.add(message, now_s)
                return [Reply(message.to, WatchingKeys(self._store.revision))]
            case UnwatchKeys():
                self._watchers.drop(message.watch)
            case AskProgress():
                self._watchers.ask_progress(message)
            case _:
                assert_never(message)
        return []

    def settle(self, now_s: float) -> list[Effect]:
        """Publish the revision, tell the watches."""
        effects: list[Effect] = []
        revision = self._store.revision
        if revision != self._published:
            self._published = revision
            effects.append(Publish("revision", revision))
        effects += self._watchers.settle(now_s)
        return effects

    def next_deadline_s(self) -> float:
        """Return when a watch is owed something without anybody's doing."""
        return self._watchers.next_deadline_s()

    def statistics(self) -> KeySpaceStatistics:
        """Return a snapshot of counters and sizes."""
        return KeySpaceStatistics(
            revision=self._store.revision,
            compact_revision=self._store.compact_revision,
            keys=self._store.count(b"", b"\0"),
            approximate_bytes=self._bytes,
            watchers=len(self._watchers),
            slow_watchers=self._watchers.count_slow(),
            puts_total=self._puts_total,
            deletes_total=self._deletes_total,
            ranges_total=self._ranges_total,
            events_total=self._watchers.events_total,
        )

    def _put(self, request: PutKey) -> KeyPut | EtcdqError:
        key, value, lease = request.key, request.value, request.lease
        if lease:
            return LeaseNotFoundError()
        if request.ignore_value or request.ignore_lease:
            before = self._store.get(key)
            if before is None:
                return KeyNotFoundError()
            if request.ignore_value:
                value = before.value
            if request.ignore_lease:
                lease = before.lease
        change = self._store.put(key, value, lease)
        self._puts_total += 1
        self._bytes += len(key) + len(value) + RECORD_BYTES
        self._watchers.changed(change)
        return KeyPut(self._store.revision, change.prev if request.prev_kv else None)

    def _range(self, request: RangeKeys) -> Any:
        self._ranges_total += 1
        try:
            return read_range(self._store, request.start, request.end, request.options)
        except EtcdqError as error:
            return error.with_traceback(None)

    def _delete(self, request: DeleteKeys) -> KeysDeleted:
        held, changes = self._store.delete_range(request.start, request.end)
        self._deletes_total += 1
        for change in changes:
            self._bytes += len(change.kv.key) + RECORD_BYTES
            self._watchers.changed(change)
        return KeysDeleted(self._store.revision, len(held), tuple(held) if request.prev_kv else ())

    def _registry_changed(self, change: Change) -> None:
        record = change.kv if change.prev is None else change.prev
        size = len(record.key) + len(record.value) + RECORD_BYTES
        if change.deleted:
            self._bytes -= size
        elif change.prev is None:
            self._bytes += size
        else:
            self._bytes += len(change.kv.value) - len(record.value)
        self._watchers.registry_changed(change)
