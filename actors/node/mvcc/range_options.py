"""What a RangeRequest may ask beyond its range: filters, order, limit, keys or count only.

The order of these steps is etcd's and can be seen from outside:

1. `count` is of the whole range at the revision, whatever the rest says.
2. A limit cuts first, in key order, where neither filter nor order is given.
3. Filters: bounds on mod and create revision, both ends included, 0 for none.
4. Order. A target without an order sorts upward, but since step 2 looked at the order only, it
   sorts what the limit left (and the one record more by which etcd knows that there is more).
   Records that compare equal stay in key order, downward too.
5. The limit cuts again, and `more` says whether this took something away.

Source: etcd v3.5 API; checked against a real etcd in tests/differential/.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from etcdq.actors.node.messages import KeyRange, KeyValue, RangeOptions, SortOrder, SortTarget
from etcdq.actors.node.mvcc.store import Store

PLAIN = RangeOptions()

_SORT_KEYS: dict[SortTarget, Callable[[KeyValue], Any]] = {
    SortTarget.KEY: attrgetter("key"),
    SortTarget.VERSION: attrgetter("version"),
    SortTarget.CREATE: attrgetter("create_revision"),
    SortTarget.MOD: attrgetter("mod_revision"),
    SortTarget.VALUE: attrgetter("value"),
}


def read_range(store: Store, start: bytes, end: bytes, options: RangeOptions = PLAIN) -> KeyRange:
    """Answer a range read.

    Raises:
        FutureRevisionError, CompactedError: there is no such revision (any more).
    """
    if options.count_only:
        count = store.count(start, end, revision=options.revision)
        return KeyRange(store.revision, (), False, count)
    read_max = read_limit(options)
    records, count = store.read(start, end, revision=options.revision, limit=read_max)
    if options != PLAIN:
        records, more = select(records, options)
        return KeyRange(store.revision, tuple(records), more, count)
    return KeyRange(store.revision, tuple(records), False, count)


def read_limit(options: RangeOptions) -> int:
    """Return how many records in key order are enough to answer; 0: all of them."""
    if options.limit <= 0 or options.sort_order is not SortOrder.NONE or _is_filtered(options):
        return 0
    return options.limit + 1


def select(records: list[KeyValue], options: RangeOptions) -> tuple[list[KeyValue], bool]:
    """Apply all options but revision and count to records that are in key order.

    Args:
        records: the first `read_limit(options)` records of a range, or more of them.

    Returns:
        The records that are left, and whether the limit took some away.
    """
    read_max = read_limit(options)
    if read_max:
        records = records[:read_max]
    if _is_filtered(options):
        records = [record for record in records if _passes(record, options)]
    records = _sorted(records, options)
    more = 0 < options.limit < len(records)
    if more:
        records = records[: options.limit]
    if options.keys_only:
        records = [msgspec.structs.replace(record, value=b"") for record in records]
    return records, more


def _is_filtered(options: RangeOptions) -> bool:
    return bool(
        options.min_mod_revision
        or options.max_mod_revision
        or options.min_create_revision
        or options.max_create_revision
    )


def _passes(record: KeyValue, options: RangeOptions) -> bool:
    mod, created = record.mod_revision, record.create_revision
    return (
        (not options.min_mod_revision or mod >= options.min_mod_revision)
        and (not options.max_mod_revision or mod <= options.max_mod_revision)
        and (not options.min_create_revision or created >= options.min_create_revision)
        and (not options.max_create_revision or created <= options.max_create_revision)
    )


def _sorted(records: list[KeyValue], options: RangeOptions) -> list[KeyValue]:
    downward = options.sort_order is SortOrder.DESCEND
    if options.sort_target is SortTarget.KEY and not downward:
        return records  # as they come
    return sorted(records, key=_SORT_KEYS[options.sort_target], reverse=downward)
