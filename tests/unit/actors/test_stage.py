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


def new_stage_with_aliases(known: dict[int, str]) -> Stage:
    """Return a stage in which numbers are aliases, as the ids of jobs are of their queues."""
    stage = new_stage()
    stage.aliases = lambda key: known.get(key) if type(key) is int else key
    return stage


def test_an_alias_leads_to_the_core_behind_it() -> None:
    """Which is born if there is none, and settles once, under its own key."""
    stage = new_stage_with_aliases({7: "a"})
    stage.run([(7, []), ("a", []), (7, [])], 1.0)
    assert {key: core.statistics() for key, core in stage.cores.items()} == {"a": 3}
    assert stage.cores["a"].settled_s == [1.0]


def test_an_alias_of_nobody_is_answered_and_forgotten() -> None:
    """By a core for that message alone; what it tells and answers counts."""
    born: list[Scripted] = []

    def birth(key: Any) -> Scripted:
        born.append(Scripted(key))
        return born[-1]

    stage = Stage(birth)
    stage.aliases = lambda key: None
    outcome = stage.run([(7, [Reply(ASKER, 1)]), (7, [Reply(ASKER, 2)]), (8, [])], 1.0)
    assert [reply.value for reply in outcome.replies] == [1, 2]
    assert [core.key for core in born] == [7, 7, 8]
    assert stage.cores == {}
    assert stage.next_deadline_s() == NEVER_S


def test_an_alias_is_looked_up_at_every_message() -> None:
    """It may be nobody's and then somebody's, in one batch, and of another core in the next."""
    known: dict[int, str] = {}
    stage = new_stage_with_aliases(known)

    class Namer(Scripted):
        def step(self, message: Any, now_s: float) -> list[Effect]:
            known[7] = message
            return []

    stage.cores["namer"] = Namer("namer")
    stage.run([(7, []), ("namer", "a"), (7, []), ("namer", "b"), (7, []), (7, [])], 1.0)
    assert (stage.cores["a"].statistics(), stage.cores["b"].statistics()) == (1, 2)


def test_what_is_told_to_an_alias_stays_in_the_batch() -> None:
    """As what is told to a core by its name."""
    stage = new_stage_with_aliases({7: "b"})
    home = stage.home = Mailbox()
    outcome = stage.run([("a", [Tell(KeyedHandle(home, 7), [Reply(ASKER, 1)])])], 1.0)
    assert [reply.value for reply in outcome.replies] == [1]
    assert set(stage.cores) == {"a", "b"}


def test_what_is_told_as_cores_settle_is_stepped_in_the_batch() -> None:
    """And whoever hears of it settles again, until nobody says anything."""
    stage = new_stage()
    home = stage.home = Mailbox()
    stage.run([("a", []), ("b", [])], 1.0)
    a, b = stage.cores["a"], stage.cores["b"]
    a.at_settle = [Tell(KeyedHandle(home, "b"), [Reply(ASKER, 1)])]
    outcome = stage.run([("a", [])], 2.0)
    assert [reply.value for reply in outcome.replies] == [1]
    assert (a.settled_s, b.settled_s) == ([1.0, 2.0], [1.0, 2.0])


def test_a_core_that_stopped_is_born_again_by_what_is_told_to_it() -> None:
    """In the same batch: its name is free at once."""
    stage = new_stage()
    home = stage.home = Mailbox()
    stage.run([("a", [])], 1.0)
    stage.cores["a"].at_settle = [Tell(KeyedHandle(home, "a"), [Reply(ASKER, 1)]), Stop()]
    outcome = stage.run([("a", [])], 2.0)
    assert [reply.value for reply in outcome.replies] == [1]
    assert stage.cores["a"].statistics() == 1
