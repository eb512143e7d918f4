"""Groups of jobs, and the jobs held until a group is complete; over all queues of a node.

A job with tag `grp` is a member of that group until it is deleted, in whatever state it is: a
buried one too, which so keeps its group from completing. A group without members is complete; that
goes for one that nobody ever named. A job with tag `aft` is held while that group is not complete,
however many members enter meanwhile, and is let go with the group's last member. A flush deletes,
so it completes groups as any delete does. A group is known exactly as long as it has members.

A held job may itself be a member of a group, which then cannot complete before the other one does:
an edge from the one to the other. Groups whose edges come full circle wait for ever, until someone
deletes one of the held jobs: no kick lets one go. The edges are counted as jobs are held and let
go, and searched when somebody asks, at most so far as `limits` says.

Source: docs/semantics.md section 4; tuber's README, "Job Groups".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from etcdq.actors import limits

Waiter = tuple[bytes, int]
"""Queue and id of a held job."""


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """A snapshot of a group that has members.

    `cycle`: groups each of which waits for the next and the last for the first, if this one is
    among them or waits for them: it will not complete by itself.
    """

    pending: int
    buried: int
    waiting: int
    cycle: tuple[bytes, ...] = ()


class _Group:
    __slots__ = ("buried", "held", "pending", "waits_for")

    def __init__(self) -> None:
        self.pending = 0
        self.buried = 0
        self.held: dict[int, tuple[bytes, bytes]] = {}
        """Of each held job its queue and the group it is a member of, in order of holding."""
        self.waits_for: dict[bytes, int] = {}
        """By group: how many members of this one it holds."""


class Groups:
    """The groups of a node; shared by all queues."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[bytes, _Group] = {}

    def enter(self, name: bytes) -> None:
        """Take in a member: a new job, before it is itself held."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group()
        group.pending += 1

    def leave(self, name: bytes) -> list[Waiter]:
        """Take note that a member is deleted; it is no longer held or buried.

        Returns:
            The jobs that may go, in order of holding: all that were held, if it was the last
            member. They are held no longer.
        """
        group = self._groups[name]
        group.pending -= 1
        assert group.buried <= group.pending, "a deleted job is still counted as buried"
        if group.pending:
            return []
        assert not group.waits_for, "a deleted job is still held"
        del self._groups[name]
        released = []
        for job_id, (queue, member_of) in group.held.items():
            self._cut(member_of, name)
            released.append((queue, job_id))
        return released

    def bury(self, name: bytes) -> None:
        """Take note that a member is buried."""
        group = self._groups[name]
        group.buried += 1
        assert group.buried <= group.pending, "more buried than there are"

    def unbury(self, name: bytes) -> None:
        """Take note that a member is buried no longer: kicked, reserved by its id, deleted."""
        group = self._groups[name]
        assert group.buried > 0, "a member comes back that was not buried"
        group.buried -= 1

    def is_complete(self, name: bytes) -> bool:
        """Say whether a job after `name` may go now."""
        return name not in self._groups

    def hold(self, name: bytes, queue: bytes, job_id: int, member_of: bytes = b"") -> bool:
        """Hold a job that would be ready now until group `name` is complete.

        Args:
            member_of: the group that the job is a member of, empty if none; entered before.

        Returns:
            False if the group is complete: the job is not held.
        """
        group = self._groups.get(name)
        if group is None:
            return False
        assert job_id not in group.held, "a job is held twice"
        group.held[job_id] = (queue, member_of)
        if member_of:
            waits_for = self._groups[member_of].waits_for
            waits_for[name] = waits_for.get(name, 0) + 1
        return True

    def drop(self, name: bytes, job_id: int) -> bool:
        """Hold a job no longer: it is deleted, or kicked. Return whether it was held."""
        group = self._groups.get(name)
        held = None if group is None else group.held.pop(job_id, None)
        if held is None:
            return False
        self._cut(held[1], name)
        return True

    def statistics(self, name: bytes) -> GroupStatistics | None:
        """Return a snapshot of a group, None if it has no members."""
        group = self._groups.get(name)
        if group is None:
            return None
        return GroupStatistics(group.pending, group.buried, len(group.held), self._cycle(name))

    def would_wait_for_ever(self, member_of: bytes, name: bytes) -> bool:
        """Say whether a job of one group (or b"": of none), held after another, would never go.

        The same job in and after one group would, in and after groups of a cycle, and after one
        that waits for a cycle.
        """
        return bool(self._cycle(name, member_of))

    def _cut(self, member_of: bytes, name: bytes) -> None:
        if member_of:
            waits_for = self._groups[member_of].waits_for
            waits_for[name] -= 1
            if waits_for[name] == 0:
                del waits_for[name]

    def _cycle(self, name: bytes, member_of: bytes = b"") -> tuple[bytes, ...]:
        """Return a cycle that `name` is in or waits for, as if `member_of` waited for `name`."""
        path = {name: self._edges(name, member_of, name)}
        done: set[bytes] = set()
        for _ in range(limits.GROUP_STEPS_MAX):
            if not path:
                break
            group = next(next(reversed(path.values())), None)
            if group is None:
                done.add(path.popitem()[0])
            elif group in path:
                names = list(path)
                return tuple(names[names.index(group) :])
            elif group not in done:
                path[group] = self._edges(group, member_of, name)
        return ()

    def _edges(self, name: bytes, member_of: bytes, after: bytes) -> Iterator[bytes]:
        if name == member_of:
            return iter((after,))  # closes a cycle: the search needs no other
        group = self._groups.get(name)
        return iter(()) if group is None else iter(group.waits_for)
