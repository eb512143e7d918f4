"""Groups of jobs, the jobs held until a group is complete, and groups that wait in a circle."""

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from etcdq.actors import limits
from etcdq.actors.queue.groups import Groups, GroupStatistics

NAMES = (b"a", b"b", b"c")


def entered(*names: bytes) -> Groups:
    groups = Groups()
    for name in names:
        groups.enter(name)
    return groups


def test_an_unknown_group_is_complete() -> None:
    """A job after a group that nobody named is not held, and makes no group."""
    groups = Groups()
    assert groups.is_complete(b"g")
    assert not groups.hold(b"g", b"q", 1)
    assert groups.statistics(b"g") is None


def test_the_last_member_lets_go_in_the_order_of_holding() -> None:
    """All jobs held in all queues go with the last member, none before; nothing is left."""
    groups = entered(b"g", b"g")
    for queue, job_id in ((b"q2", 9), (b"q1", 3), (b"q2", 5)):
        assert groups.hold(b"g", queue, job_id)
    assert groups.leave(b"g") == []
    assert not groups.is_complete(b"g")
    assert groups.leave(b"g") == [(b"q2", 9), (b"q1", 3), (b"q2", 5)]
    assert groups.is_complete(b"g")
    assert groups.statistics(b"g") is None


def test_a_group_begins_anew() -> None:
    """Members that enter after completion hold the jobs that come then, and only those."""
    groups = entered(b"g")
    groups.hold(b"g", b"q", 1)
    groups.leave(b"g")
    groups.enter(b"g")
    assert groups.hold(b"g", b"q", 2)
    assert groups.leave(b"g") == [(b"q", 2)]


def test_late_members_hold_too() -> None:
    """A member that enters while a job is held keeps it held."""
    groups = entered(b"g")
    groups.hold(b"g", b"q", 1)
    groups.enter(b"g")
    assert groups.leave(b"g") == []
    assert groups.leave(b"g") == [(b"q", 1)]


def test_a_buried_member_blocks() -> None:
    """Burying and kicking complete nothing; deletion does, of a buried job too."""
    groups = entered(b"g", b"g")
    groups.hold(b"g", b"q", 1)
    groups.bury(b"g")
    assert groups.statistics(b"g") == GroupStatistics(pending=2, buried=1, waiting=1)
    assert groups.leave(b"g") == []
    assert groups.statistics(b"g") == GroupStatistics(pending=1, buried=1, waiting=1)
    groups.unbury(b"g")
    assert groups.statistics(b"g") == GroupStatistics(pending=1, buried=0, waiting=1)
    assert groups.leave(b"g") == [(b"q", 1)]


def test_a_deleted_held_job_leaves_nothing_behind() -> None:
    """It is not let go later, and those that come after the group's end are not held."""
    groups = entered(b"g")
    groups.hold(b"g", b"q", 1)
    groups.hold(b"g", b"q", 2)
    assert groups.drop(b"g", 1)
    assert groups.leave(b"g") == [(b"q", 2)]
    assert not groups.hold(b"g", b"q", 3)


def test_dropping_a_job_that_is_not_held() -> None:
    """It was let go a moment ago, or never held: nothing happens."""
    groups = entered(b"g")
    assert not groups.drop(b"g", 1)
    groups.hold(b"g", b"q", 1)
    assert groups.drop(b"g", 1)
    assert not groups.drop(b"g", 1)
    groups.leave(b"g")
    assert not groups.drop(b"g", 1)


def test_stages_follow_each_other() -> None:
    """A job may wait for one group and be a member of the next."""
    groups = entered(b"extract", b"transform")
    groups.hold(b"extract", b"q", 2, member_of=b"transform")
    groups.hold(b"transform", b"q", 3)
    assert groups.leave(b"extract") == [(b"q", 2)]
    assert groups.statistics(b"transform") == GroupStatistics(pending=1, buried=0, waiting=1)
    assert groups.leave(b"transform") == [(b"q", 3)]


def test_a_circle_is_shown() -> None:
    """Of two groups that wait for each other each says so, until one of the jobs goes."""
    groups = entered(b"a", b"a", b"b", b"b")
    groups.hold(b"b", b"q", 1, member_of=b"a")
    groups.hold(b"a", b"q", 2, member_of=b"b")
    assert groups.statistics(b"a") == GroupStatistics(2, 0, 1, cycle=(b"a", b"b"))
    assert groups.statistics(b"b") == GroupStatistics(2, 0, 1, cycle=(b"b", b"a"))
    groups.drop(b"b", 1)
    assert groups.statistics(b"a") == GroupStatistics(2, 0, 1)
    assert groups.statistics(b"b") == GroupStatistics(2, 0, 0)


def test_a_job_after_its_own_group_is_a_circle() -> None:
    """It keeps its own group from completing."""
    groups = entered(b"g")
    assert groups.would_wait_for_ever(b"g", b"g")
    groups.hold(b"g", b"q", 1, member_of=b"g")
    assert groups.statistics(b"g") == GroupStatistics(1, 0, 1, cycle=(b"g",))
    groups.drop(b"g", 1)
    assert groups.leave(b"g") == []


def test_a_group_that_waits_for_a_circle_shows_it() -> None:
    """Without being in the circle it will not complete either."""
    groups = entered(b"before", b"a", b"b")
    groups.hold(b"a", b"q", 1, member_of=b"before")
    groups.hold(b"b", b"q", 2, member_of=b"a")
    groups.hold(b"a", b"q", 3, member_of=b"b")
    assert groups.statistics(b"before") == GroupStatistics(1, 0, 0, cycle=(b"a", b"b"))


def test_a_circle_can_be_seen_before_it_closes() -> None:
    """A job that would close one, and one that would wait for one, would never go."""
    groups = entered(b"a", b"b", b"c")
    groups.hold(b"b", b"q", 1, member_of=b"a")
    groups.hold(b"c", b"q", 2, member_of=b"b")
    assert groups.would_wait_for_ever(b"c", b"a")
    assert not groups.would_wait_for_ever(b"a", b"c")
    assert not groups.would_wait_for_ever(b"c", b"unknown")
    assert not groups.would_wait_for_ever(b"", b"a")
    groups.hold(b"a", b"q", 3, member_of=b"c")
    assert groups.would_wait_for_ever(b"", b"a")


def test_several_paths_are_no_circle() -> None:
    """Groups that wait for the same group over different ones complete, if it does."""
    groups = entered(b"a", b"a", b"b", b"c", b"d")
    groups.hold(b"b", b"q", 1, member_of=b"a")
    groups.hold(b"c", b"q", 2, member_of=b"a")
    groups.hold(b"d", b"q", 3, member_of=b"b")
    groups.hold(b"d", b"q", 4, member_of=b"c")
    assert groups.statistics(b"a") == GroupStatistics(2, 0, 0)


def test_a_group_is_searched_once() -> None:
    """However many paths lead to it: a circle behind a million of paths is found."""
    groups = Groups()
    job_ids = iter(range(1000))

    def wait(member_of: bytes, name: bytes) -> None:
        for group in (member_of, name):
            groups.enter(group)
        groups.hold(name, b"q", next(job_ids), member_of)

    for level in range(20):
        for side in (b"left", b"right"):
            wait(b"%d" % level, b"%d %s" % (level, side))
            wait(b"%d %s" % (level, side), b"%d" % (level + 1))
    wait(b"0", b"circle")
    wait(b"circle", b"circle")
    statistics = groups.statistics(b"0")
    assert statistics is not None
    assert statistics.cycle == (b"circle",)


def test_a_circle_stays_while_one_of_several_jobs_closes_it() -> None:
    """Edges are counted: what one job lets go another may still hold."""
    groups = entered(b"a", b"a", b"b")
    groups.hold(b"b", b"q", 1, member_of=b"a")
    groups.hold(b"b", b"q", 2, member_of=b"a")
    groups.hold(b"a", b"q", 3, member_of=b"b")
    groups.drop(b"b", 1)
    assert groups.statistics(b"b") == GroupStatistics(1, 0, 1, cycle=(b"b", b"a"))


def test_a_search_ends() -> None:
    """A circle longer than the bound is not found, one within it is."""
    groups = Groups()
    for count, found in ((limits.GROUP_STEPS_MAX, True), (limits.GROUP_STEPS_MAX + 1, False)):
        names = [b"%d/%d" % (count, number) for number in range(count)]
        for name in names:
            groups.enter(name)
        for number, name in enumerate(names):
            groups.hold(names[number - 1], b"q", number, member_of=name)
        statistics = groups.statistics(names[0])
        assert statistics is not None
        assert (len(statistics.cycle) == count) == found


def test_what_cannot_be_is_a_fault() -> None:
    """Holding twice, burying too often and deleting what is still held or buried are bugs."""
    groups = entered(b"g", b"h")
    groups.hold(b"g", b"q", 1, member_of=b"h")
    with pytest.raises(AssertionError, match="held twice"):
        groups.hold(b"g", b"q", 1, member_of=b"h")
    with pytest.raises(AssertionError, match="was not buried"):
        groups.unbury(b"g")
    groups.bury(b"g")
    with pytest.raises(AssertionError, match="more buried"):
        groups.bury(b"g")
    with pytest.raises(AssertionError, match="still held"):
        groups.leave(b"h")
    groups = entered(b"g")
    groups.bury(b"g")
    with pytest.raises(AssertionError, match="still counted as buried"):
        groups.leave(b"g")


@dataclass(eq=False)
class ModelJob:
    job_id: int
    grp: bytes
    aft: bytes
    is_held: bool = False
    is_buried: bool = False


class GroupsModel(RuleBasedStateMachine):
    """Against a list of jobs that is searched anew each time."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups()
        self.jobs: list[ModelJob] = []
        self.next_id = 1
        self.held: list[ModelJob] = []
        """In order of holding."""

    def members(self, name: bytes) -> list[ModelJob]:
        return [job for job in self.jobs if job.grp == name]

    def edges(self) -> set[tuple[bytes, bytes]]:
        return {(job.grp, job.aft) for job in self.held if job.grp}

    def reached(self, *names: bytes) -> set[bytes]:
        """Return the groups that these wait for, over however many others."""
        found: set[bytes] = set()
        more = set(names)
        while more:
            more = {after for before, after in self.edges() if before in more} - found
            found |= more
        return found

    def waits_for_ever(self, name: bytes) -> bool:
        return any(group in self.reached(group) for group in {name} | self.reached(name))

    def hold(self, job: ModelJob) -> None:
        job.is_held = bool(self.members(job.aft))
        circles = job.grp == job.aft or job.grp in self.reached(job.aft)
        stuck = job.is_held and (circles or self.waits_for_ever(job.aft))
        if job.is_held:
            assert self.groups.would_wait_for_ever(job.grp, job.aft) == stuck
            self.held.append(job)
        assert self.groups.hold(job.aft, b"q", job.job_id, job.grp) == job.is_held

    @rule(grp=st.sampled_from((b"", *NAMES)), aft=st.sampled_from((b"", *NAMES)))
    def put(self, grp: bytes, aft: bytes) -> None:
        job = ModelJob(self.next_id, grp, aft)
        self.next_id += 1
        self.jobs.append(job)
        if grp:
            self.groups.enter(grp)
        if aft:
            self.hold(job)

    @precondition(lambda self: any(job.aft and not job.is_held for job in self.jobs))
    @rule(data=st.data())
    def ripen(self, data: st.DataObject) -> None:
        """A job that was let go, or kicked, was released with a delay that is over."""
        free = [job for job in self.jobs if job.aft and not job.is_held and not job.is_buried]
        if free:
            self.hold(data.draw(st.sampled_from(free)))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def kick_held(self, data: st.DataObject) -> None:
        self.drop(data.draw(st.sampled_from(self.held)))

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def bury_or_unbury(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        if job.is_held:
            return
        job.is_buried = not job.is_buried
        if job.grp and job.is_buried:
            self.groups.bury(job.grp)
        elif job.grp:
            self.groups.unbury(job.grp)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        self.jobs.remove(job)
        self.drop(job)
        if not job.grp:
            return
        if job.is_buried:
            self.groups.unbury(job.grp)
        freed = [] if self.members(job.grp) else [h for h in self.held if h.aft == job.grp]
        assert self.groups.leave(job.grp) == [(b"q", other.job_id) for other in freed]
        for other in freed:
            other.is_held = False
            self.held.remove(other)

    def drop(self, job: ModelJob) -> None:
        assert self.groups.drop(job.aft, job.job_id) == job.is_held
        if job.is_held:
            job.is_held = False
            self.held.remove(job)

    @invariant()
    def nobody_is_stranded(self) -> None:
        """A held job has a living member to wait for."""
        for job in self.held:
            assert not self.groups.is_complete(job.aft)

    @invariant()
    def tells_the_truth(self) -> None:
        for name in NAMES:
            members = self.members(name)
            statistics = self.groups.statistics(name)
            assert self.groups.is_complete(name) == (not members)
            if statistics is None:
                assert members == []
                continue
            buried = sum(job.is_buried for job in members)
            waiting = sum(job.aft == name for job in self.held)
            cycle = statistics.cycle
            assert statistics == GroupStatistics(len(members), buried, waiting, cycle)
            assert bool(cycle) == self.waits_for_ever(name)
            assert set(zip(cycle, cycle[1:] + cycle[:1], strict=True)) <= self.edges()
            assert not cycle or cycle[0] in {name} | self.reached(name)

    @invariant()
    def nothing_is_left_behind(self) -> None:
        assert set(self.groups._groups) == {job.grp for job in self.jobs if job.grp}


TestGroupsModel = GroupsModel.TestCase
