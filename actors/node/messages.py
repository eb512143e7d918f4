"""The vocabulary of the key space: ordinary keys, the registry, watches on both.

Keys and values are bytes; `end` follows etcd: b"" is the single key `start`, b"\\0" is everything
from `start` on, else the half-open range [start, end).
"""

from enum import Enum

from etcdq.actors.message import Address
from etcdq.actors.queue.messages import Message


class KeyValue(Message, frozen=True, gc=False):
    """One key at one revision, as etcd shows it."""

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease: int = 0


class SortTarget(Enum):
    """What a range is sorted by; values as on the wire."""

    KEY = 0
    VERSION = 1
    CREATE = 2
    MOD = 3
    VALUE = 4


class SortOrder(Enum):
    """How a range is sorted; values as on the wire."""

    NONE = 0
    ASCEND = 1
    DESCEND = 2


class RangeOptions(Message, frozen=True, gc=False):
    """Everything of a RangeRequest but the range itself; zero values mean "not given"."""

    limit: int = 0
    revision: int = 0
    sort_order: SortOrder = SortOrder.NONE
    sort_target: SortTarget = SortTarget.KEY
    keys_only: bool = False
    count_only: bool = False
    min_mod_revision: int = 0
    max_mod_revision: int = 0
    min_create_revision: int = 0
    max_create_revision: int = 0


class PutKey(Message, frozen=True, gc=False):
    """Put an ordinary key. Replies `KeyPut`, or an error (value or lease ignored on no key)."""

    to: Address
    key: bytes
    value: bytes
    lease: int = 0
    prev_kv: bool = False
    ignore_value: bool = False
    ignore_lease: bool = False


class KeyPut(Message, frozen=True, gc=False):
    """`prev` only if asked for and there was one."""

    revision: int
    prev: KeyValue | None = None


class RangeKeys(Message, frozen=True, gc=False):
    """Read keys. Replies `KeyRange`, or an error: revision compacted or in the future."""

    to: Address
    start: bytes
    end: bytes = b""
    options: RangeOptions = RangeOptions()


class KeyRange(Message, frozen=True, gc=False):
    """`count` is of the whole range, whatever limit and filters say."""

    revision: int
    kvs: tuple[KeyValue, ...]
    more: bool
    count: int


class DeleteKeys(Message, frozen=True, gc=False):
    """Delete keys. Registry keys in the range are counted and stay. Replies `KeysDeleted`."""

    to: Address
    start: bytes
    end: bytes = b""
    prev_kv: bool = False


class KeysDeleted(Message, frozen=True, gc=False):
    """`prevs` only if asked for."""

    revision: int
    deleted: int
    prevs: tuple[KeyValue, ...] = ()


class SetRegistry(Message, frozen=True, gc=False):
    """The server writes a registry key: makes no history, live watchers see it. No reply."""

    key: bytes
    value: bytes


class DropRegistry(Message, frozen=True, gc=False):
    """The owner of a registry key is gone. No reply."""

    key: bytes


class WatchKeys(Message, frozen=True, gc=False):
    """Watch a key or a range; `watch` is told the changes. Replies `WatchingKeys`.

    `start_revision` 0 is "from now on". `put`/`delete` say which events are wanted.
    """

    to: Address
    watch: Address
    start: bytes
    end: bytes = b""
    start_revision: int = 0
    prev_kv: bool = False
    put: bool = True
    delete: bool = True
    progress: bool = False


class WatchingKeys(Message, frozen=True, gc=False):
    """The watch stands; nothing was told before this."""

    revision: int


class UnwatchKeys(Message, frozen=True, gc=False):
    """Forget the watch; nothing is told after the host has posted this. No reply."""

    watch: Address


class Drained(Message, frozen=True, gc=False):
    """The watch's host has written what it was told and can take more. No reply."""

    watch: Address


class AskProgress(Message, frozen=True, gc=False):
    """Replies `Progress` once every watch in `watches` was told all up to the current revision.

    With a watch that lags the reply comes later: progress never overtakes events.
    """

    to: Address
    watches: tuple[Address, ...]


class Progress(Message, frozen=True, gc=False):
    """Everything up to `revision` has been told."""

    revision: int


class Change(Message, frozen=True, gc=False):
    """One event. A delete has only key and mod_revision in `kv`; no previous value: `prev` None."""

    kv: KeyValue
    deleted: bool
    prev: KeyValue | None = None


class Changes(Message, frozen=True, gc=False):
    """Told to a watch: events in revision order, no revision split; then waits for `Drained`."""

    watch: Address
    changes: tuple[Change, ...]
    revision: int


class WatchRefused(Message, frozen=True, gc=False):
    """Told to a watch: it cannot go on, its start revision is compacted."""

    watch: Address
    compact_revision: int


class KeySpaceStatistics(Message, frozen=True, gc=False):
    """A snapshot of the key space. `*_total` counters count since the node's start.

    `keys` are those that are there now. `approximate_bytes` counts every revision that is kept.
    `slow_watchers` have missed changes, or still read the past they asked for.
    """

    revision: int
    compact_revision: int
    keys: int
    approximate_bytes: int
    watchers: int
    slow_watchers: int
    puts_total: int
    deletes_total: int
    ranges_total: int
    events_total: int
