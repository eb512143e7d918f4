"""The last change of every registry key: what a watch that lagged is told of the registry.

Registry keys have no history in the store, or else the comings and goings of consumers would
fill it. So a watch that lags sees the last change of each key only: what stands, and what went.
What went is remembered for a bounded number of keys, the latest; a lagging watch that would miss
an older one is refused like one whose revision was compacted, and its client reads anew.
"""

from collections import OrderedDict

from etcdq.actors import limits
from etcdq.actors.node.messages import Change


class RegistryLog:
    """One change per key, in revision order."""

    def __init__(self, gone_max: int = limits.REGISTRY_GONE_MAX) -> None:
        self._gone_max = gone_max
        self._last: OrderedDict[bytes, Change] = OrderedDict()
        self._gone: OrderedDict[bytes, None] = OrderedDict()

    def add(self, change: Change) -> None:
        """Note a change; it replaces the one noted of that key before."""
        key = change.kv.key
        self._last[key] = change
        self._last.move_to_end(key)
        self._gone.pop(key, None)
        if change.deleted:
            self._gone[key] = None

    def since(self, revision: int) -> list[Change]:
        """Return the changes after `revision`, oldest first."""
        changes = []
        for change in reversed(self._last.values()):
            if change.kv.mod_revision <= revision:
                break
            changes.append(change)
        changes.reverse()
        return changes

    def forget(self) -> list[Change]:
        """Drop what is beyond the bound, and return it: deletes, the oldest ones."""
        dropped = []
        while len(self._gone) > self._gone_max:
            key, _ = self._gone.popitem(last=False)
            dropped.append(self._last.pop(key))
        return dropped
