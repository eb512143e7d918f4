"""The queue's core against a dumb model, message by message, as Hypothesis likes."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from etcdq.actors.effect import Log
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from tests.support.queue_book import ASKER, FIRST, REGISTRY, put, watch
from tests.support.queue_model import QueueModel

CREDITS = st.sampled_from([None, m.Credit(1, 0), m.Credit(3, 0), m.Credit(0, 9), m.Credit(0, 0)])
KEYS = st.sampled_from([b"a", b"b", b"c/d"])
OFFSETS = st.integers(0, 25)


class QueueMachine(RuleBasedStateMachine):
    """Messages in any order that watches and clients could send them in."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = JobsBudget()
        credit = m.Credit(4, 20)
        context = QueueContext(
            b"node", REGISTRY, Numbers(FIRST), budget=self.budget, credit=credit, idle_s=1e9
        )
        self.core = QueueCore(b"jobs", context)
        self.model = QueueModel(b"jobs", REGISTRY, FIRST, credit)
        self.now_s = 0.0
        self.living: list[Address] = []
        self.offers: dict[Address, list[int]] = {}
        self.stalled: dict[Address, list[int]] = {}
        self.watches = 0
        # A queue that does not exist asks to be stopped at every settle: begin with one that does.
        self.send(put(b"first"))

    def send(self, message: Any) -> None:
        wanted = self.model.step(message, self.now_s)
        seen = [e for e in self.core.step(message, self.now_s) if type(e) is not Log]
        assert sorted(map(repr, seen)) == sorted(map(repr, wanted))

    @rule()
    def settle(self) -> None:
        wanted = self.model.settle(self.now_s)
        assert self.core.settle(self.now_s) == wanted
        for effect in wanted:
            offer = effect.message
            self.offers[offer.watch] = [delivery.index for delivery in offer.deliveries]

    @rule(keys=st.lists(KEYS, min_size=1, max_size=8), size=st.integers(0, 12),
          priority=st.sampled_from([3, 1024, 1024]))  # fmt: skip
    def put(self, keys: list[bytes], size: int, priority: int) -> None:
        for key in keys:
            tail = key.rpartition(b"/")[2]
            self.send(put(key, bytes(size), tail=tail, priority=priority))
        self.settle()

    @rule(key=KEYS, delay_s=st.sampled_from([1.0, 5.0]))
    def put_with_delay(self, key: bytes, delay_s: float) -> None:
        self.send(put(key, tail=key.rpartition(b"/")[2], delay_s=delay_s))

    @rule(consumer=st.sampled_from(["c1", "c2", "c3"]), credit=CREDITS)
    def register(self, consumer: str, credit: m.Credit | None) -> None:
        self.watches += 1
        address = watch(f"w{self.watches}")
        self.living.append(address)
        self.send(m.Register(ASKER, address, consumer, credit=credit))
        self.settle()

    @precondition(lambda self: self.offers)
    @rule(word=st.sampled_from(["decline", "stall", "take"]), cut=st.integers(0, 3))
    def accept(self, word: str, cut: int) -> None:
        address, indexes = self.offers.popitem()
        if word == "take":
            cut = len(indexes)
        rest = cut + 1 if word == "stall" else cut
        if indexes[cut:rest]:
            self.stalled[address] = indexes[cut:rest]
        taken, stalled, declined = indexes[:cut], indexes[cut:rest], indexes[rest:]
        self.send(m.Accepted(address, tuple(taken), tuple(stalled), tuple(declined)))
        self.settle()

    @precondition(lambda self: self.stalled)
    @rule()
    def take(self) -> None:
        address, indexes = self.stalled.popitem()
        self.send(m.Taken(address, tuple(indexes)))

    @precondition(lambda self: self.living)
    @rule(data=st.data(), dropped=st.booleans())
    def end(self, data: st.DataObject, dropped: bool) -> None:
        address = data.draw(st.sampled_from(self.living))
        self.living.remove(address)
        untaken = self.offers.pop(address, []) + self.stalled.pop(address, [])
        cut = data.draw(st.integers(0, len(untaken)))
        self.send(m.Ended(address, tuple(untaken[:cut]), dropped))
        # It is over: whatever it still says is ignored.
        self.send(m.Accepted(address, tuple(untaken)))

    @rule(offset=OFFSETS, tail=st.sampled_from([b"a", b"b", b"d", b"first"]))
    def acknowledge(self, offset: int, tail: bytes) -> None:
        self.send(m.Acknowledge(ASKER, FIRST + offset, tail))

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data())
    def acknowledge_a_living_job(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.model.jobs))
        self.send(m.Acknowledge(ASKER, job.index, job.put.tail))
        self.settle()

    @rule(
        act=st.sampled_from(["kick", "delete key", "purge", "pause"]),
        key=KEYS,
        start=OFFSETS,
        number=st.integers(0, 3),
        holder=st.sampled_from([None, "c1", "c2"]),
    )
    def operate(self, act: str, key: bytes, start: int, number: int, holder: str | None) -> None:
        if act == "kick":
            self.send(m.Kick(ASKER, number))
        elif act == "delete key":
            self.send(m.DeleteKey(ASKER, key))
        elif act == "purge":
            first, end = (b"%016d/" % (FIRST + place) for place in (start, start + number))
            self.send(m.Purge(ASKER, first, end, holder))
        else:
            self.send(m.Pause(ASKER, float(number)))

    @rule(
        start=OFFSETS,
        limit=st.integers(0, 3),
        holder=st.sampled_from([None, "c1", "c2"]),
        key=KEYS,
    )
    def look(self, start: int, limit: int, holder: str | None, key: bytes) -> None:
        self.send(m.Look(ASKER, b"%016d/" % (FIRST + start), None, holder, limit))
        self.send(m.Look(ASKER, holder=holder, limit=limit))
        self.send(m.ReadKey(ASKER, key))
        for state in m.JobState:
            self.send(m.Peek(ASKER, state, limit))

    @rule(seconds=st.sampled_from([0.5, 1.0, 4.0]))
    def wait(self, seconds: float) -> None:
        self.now_s += seconds
        self.settle()

    @invariant()
    def counts_agree(self) -> None:
        self.model.check(self.core.statistics(self.now_s))
        spent = sum(len(job.put.body) + len(job.put.key) + 512 for job in self.model.jobs)
        assert self.budget.used_bytes == spent


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
