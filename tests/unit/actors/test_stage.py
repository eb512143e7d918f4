"""Many cores behind one mailbox."""

from typing import Any

import pytest

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Log, Persist, Publish, Reply, Stop, Tell
from etcdq.actors.errors import CoreFault
from etcdq.actors.mailbox import KeyedHandle, Mailbox
from etcdq.actors.message import Address
from etcdq.actors.stage import Stage
from tests.support.playbook import Named

ASKER = Address(Named("asker"), 1)


class Scripted:
    """A core that does what it is told: a message is the list of effects it causes."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.steps = 0
        self.settled_s: list[float] = []
        self.deadline_s = NEVER_S
        self.at_settle: list[Effect] = []

    def step(self, message: Any, now_s: float) -> list[Effect]:
        self.steps += 1
        if isinstance(message, Exception):
            raise message
        if isinstance(message, float):
            self.deadline_s = message
            return []
        if isinstance(message, Stop):
            self.at_settle = [Publish("bye", self.key), message]
            return []
        return list(message)

    def settle(self, now_s: float) -> list[Effect]:
        self.settled_s.append(now_s)
        if now_s >= self.deadline_s:
            self.deadline_s = NEVER_S
        effects, self.at_settle = self.at_settle, []
        return effects

    def next_deadline_s(self) -> float:
        return self.deadline_s

    def statistics(self) -> int:
        return self.steps


def new_stage() -> Stage:
    return Stage(Scripted)


def test_a_core_is_born_by_its_first_message() -> None:
    """And is the same for every later one."""
    stage = new_stage()
    stage.run([("a", []), ("b", []), ("a", [])], 1.0)
    stage.run([("a", [])], 2.0)
    assert {key: core.statistics() for key, core in stage.cores.items()} == {"a": 3, "b": 1}


def test_effects_are_sorted_into_the_order_of_duties() -> None:
    """Persist, reply, publish; within each the order of the steps, over all cores."""
    stage = new_stage()
    tell, publish = Tell(Named("other"), 1), Publish("topic", 2)
    first, second = Reply(ASKER, 1), Reply(ASKER, 2)
    log = Log("info", "event", {})
    batch = [("a", [tell, first, Persist("r1")]), ("b", [second, log, Persist("r2"), publish])]
    outcome = stage.run(batch, 1.0)
    assert outcome.persists == ["r1", "r2"]
    assert outcome.replies == [first, second]
    assert outcome.publications == [tell, publish]
    assert outcome.logs == [log]


def test_what_is_told_within_the_stage_comes_before_the_next_message() -> None:
    """In the order of telling, each with all that it causes; nothing of it leaves the stage."""
    stage = new_stage()
    home = stage.home = Mailbox()
    b, c = KeyedHandle(home, "b"), KeyedHandle(home, "c")
    deeper = [Tell(c, [Reply(ASKER, 1)]), Reply(ASKER, 0)]
    batch = [("a", [Tell(b, deeper), Tell(c, [Reply(ASKER, 2)])]), ("a", [Reply(ASKER, 3)])]
    outcome = stage.run(batch, 1.0)
    assert [reply.value for reply in outcome.replies] == [0, 1, 2, 3]
    assert outcome.publications == []
    assert {key: core.statistics() for key, core in stage.cores.items()} == {"a": 2, "b": 1, "c": 2}


def test_every_touched_core_settles_once_per_batch() -> None:
    """After its last message, and only if it had one."""
    stage = new_stage()
    stage.run([("a", []), ("a", []), ("b", [])], 1.0)
    stage.run([("b", [])], 2.0)
    assert stage.cores["a"].settled_s == [1.0]
    assert stage.cores["b"].settled_s == [1.0, 2.0]


def test_a_core_settles_at_its_deadline() -> None:
    """Even with an empty batch; nobody else does."""
    stage = new_stage()
    stage.run([("a", 5.0), ("b", 7.0)], 1.0)
    assert stage.next_deadline_s() == 5.0
    stage.run([], 5.0)
    assert stage.cores["a"].settled_s == [1.0, 5.0]
    assert stage.cores["b"].settled_s == [1.0]
    assert stage.next_deadline_s() == 7.0


def test_a_deadline_that_moved_later_is_asked_for_anew() -> None:
    """The old one wakes the core for nothing, once, and the new one is kept."""
    stage = new_stage()
    stage.run([("a", 5.0)], 1.0)
    stage.run([("a", 9.0)], 2.0)
    stage.run([], 5.0)
    assert stage.next_deadline_s() == 9.0
    stage.run([], 9.0)
    assert stage.next_deadline_s() == NEVER_S


def test_a_deadline_that_moved_earlier_is_kept() -> None:
    """The core is not late."""
    stage = new_stage()
    stage.run([("a", 9.0)], 1.0)
    stage.run([("a", 5.0)], 2.0)
    assert stage.next_deadline_s() == 5.0


def test_a_stopped_core_is_forgotten_and_born_anew() -> None:
    """Its last effects are performed, Stop is not one of them, its deadline wakes nobody."""
    stage = new_stage()
    stage.run([("a", 9.0)], 1.0)
    outcome = stage.run([("a", Stop())], 2.0)
    assert outcome.publications == [Publish("bye", "a")]
    assert "a" not in stage.cores
    stage.run([], 9.0)
    assert "a" not in stage.cores
    stage.run([("a", [])], 10.0)
    assert stage.cores["a"].statistics() == 1


def test_a_fault_names_the_core_and_the_message() -> None:
    """And carries what was raised."""
    bug = ValueError("bug")
    with pytest.raises(CoreFault, match="the core of 'b' failed on ValueError") as caught:
        new_stage().run([("a", []), ("b", bug)], 1.0)
    assert (caught.value.key, caught.value.message, caught.value.__cause__) == ("b", bug, bug)


def test_a_fault_in_settle_names_the_core() -> None:
    """The message is then the settling itself."""

    class Broken(Scripted):
        def settle(self, now_s: float) -> list[Effect]:
            raise ValueError("bug")

    with pytest.raises(CoreFault, match="the core of 'a' failed on 'settle'"):
        Stage(Broken).run([("a", [])], 1.0)


class Restless:
    """A core that is due at once as long as it is told so, and has a far deadline besides."""

    def __init__(self) -> None:
        self.due_at_once = False

    def step(self, message: bool, now_s: float) -> list[Effect]:
        """Be due at once, or not."""
        self.due_at_once = message
        return []

    def settle(self, now_s: float) -> list[Effect]:
        """Nothing."""
        return []

    def next_deadline_s(self) -> float:
        """Now, or far away."""
        return 0.0 if self.due_at_once else 600.0

    def statistics(self) -> None:
        """Nothing."""


def test_a_far_deadline_is_scheduled_once_however_often_a_near_one_passes() -> None:
    """A core that alternates between due now and due later leaves one entry, not one a turn."""
    stage = Stage(lambda key: Restless())
    for _ in range(100):
        stage.run([("a", False)], 0.0)
        stage.run([("a", True)], 0.0)

    assert stage.next_deadline_s() == 0.0
    assert len(stage._due) <= 2
