"""Random lives of a key space: puts, deletes, watches, drains, batches, all from one seed."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from etcdq.actors import limits
from etcdq.actors.message import Address
from etcdq.actors.node.messages import (
    AskProgress,
    Changes,
    DeleteKeys,
    Drained,
    DropRegistry,
    Progress,
    PutKey,
    SetRegistry,
    UnwatchKeys,
    WatchKeys,
)
from tests.support.keyspace_host import KeySpaceHost
from tests.support.watch_history import Model, check_stream, wanted

KEYS = (b"a", b"ab", b"abc", b"b", b"b\xff", b"c")
REGISTRY = (b"/q/j", b"/q/j/c/1", b"/q/j/c/2")
RANGES = (
    *((key, b"") for key in (*KEYS, *REGISTRY)),
    (b"a", b"b"),
    (b"ab", b"ac"),
    (b"b\xff", b"c"),
    (b"/q/j/", b"/q/j0"),
    (b"a", b"\0"),
    (b"aa", b"bz"),
    (b"\0", b"\0"),
)
SMALL, HALF, HUGE = b"v", b"h" * 500_000, b"x" * 1_200_000


@dataclass
class World:
    """A key space, the model beside it, and every watch there ever was."""

    random: Random
    host: KeySpaceHost = field(default_factory=KeySpaceHost)
    model: Model = field(default_factory=Model)
    batch: list[Any] = field(default_factory=list)
    requests: dict[Address, tuple[WatchKeys, int]] = field(default_factory=dict)
    live: list[Address] = field(default_factory=list)
    undrained: dict[Address, Changes] = field(default_factory=dict)
    asks: dict[Address, tuple[int, list[Address]]] = field(default_factory=dict)

    def act(self) -> None:
        """Add one random request to the batch, or run the batch."""
        random, batch, host, model = self.random, self.batch, self.host, self.model
        kind = random.choices(
            ("put", "delete", "set", "drop", "watch", "drain", "unwatch", "ask", "run"),
            (30, 6, 4, 3, 8, 14, 2, 4, 14),
        )[0]
        if kind == "put":
            key, value = random.choice(KEYS), random.choice((SMALL, SMALL, SMALL, HALF, HUGE))
            batch.append(PutKey(host.address(), key, value))
            model.put(key, value)
        elif kind == "delete":
            start, end = random.choice(RANGES)
            batch.append(DeleteKeys(host.address(), start, end))
            model.delete(start, end)
        elif kind == "set":
            batch.append(SetRegistry(random.choice(REGISTRY), SMALL))
            model.set_registry(batch[-1].key, SMALL)
        elif kind == "drop":
            batch.append(DropRegistry(random.choice(REGISTRY)))
            model.drop_registry(batch[-1].key)
        elif kind == "watch":
            self.watch()
        elif kind == "drain" and self.undrained:
            self.drain(random.choice(list(self.undrained)))
        elif kind == "unwatch" and self.live:
            watch = self.live.pop(random.randrange(len(self.live)))
            self.undrained.pop(watch, None)
            batch.append(UnwatchKeys(watch))
        elif kind == "ask":
            named = random.sample(self.live, random.randint(0, len(self.live)))
            to = host.address()
            self.asks[to] = (model.revision, named)
            batch.append(AskProgress(to, tuple(named)))
        elif kind == "run":
            self.run()

    def watch(self) -> None:
        """Begin a watch: from now, from the past or from the future."""
        random = self.random
        start, end = random.choice(RANGES)
        offset = random.choice((None, None, -20, -5, -1, 0, 1, 2, 4))
        revision = 0 if offset is None else max(1, self.model.revision + offset)
        put, delete = random.choice(((True, True), (True, True), (True, False), (False, True)))
        address = self.host.address()
        request = WatchKeys(
            address,
            address,
            start,
            end,
            revision,
            prev_kv=random.random() < 0.5,
            put=put,
            delete=delete,
        )
        self.batch.append(request)
        self.live.append(address)
        self.requests[address] = (request, revision or self.model.revision + 1)

    def drain(self, watch: Address) -> None:
        """What a watch was told is written."""
        del self.undrained[watch]
        self.batch.append(Drained(watch))

    def run(self) -> None:
        """Run the batch; look at what is heard, in order."""
        batch, self.batch = self.batch, []
        for message in self.host.run(*batch):
            if type(message) is Changes:
                assert message.changes, "nothing is told for nothing"
                if message.watch in self.live:
                    assert message.watch not in self.undrained, "one telling at a time"
                    self.undrained[message.watch] = message
                    self.check_size(message)
            elif type(message.value) is Progress:
                self.check_progress(message.to, message.value.revision)
        if "revision" in self.host.board:
            assert self.host.board["revision"] == self.model.revision

    def check_size(self, told: Changes) -> None:
        """About 1 MiB, unless it is one revision."""
        size = sum(
            len(kv.key) + len(kv.value)
            for change in told.changes
            for kv in (change.kv, change.prev)
            if kv is not None
        )
        revisions = {change.kv.mod_revision for change in told.changes}
        assert size <= limits.RESPONSE_EVENTS_BYTES_MAX or len(revisions) == 1

    def check_progress(self, to: Address, revision: int) -> None:
        """Whatever the watches were to be told up to the revision has been written."""
        asked_at, named = self.asks.pop(to)
        assert asked_at <= revision <= self.model.revision
        for watch in named:
            told = self.host.told(watch)
            if watch in self.undrained:
                assert told[-1].changes[0].kv.mod_revision > revision
                told = told[:-1]
            request, since = self.requests[watch]
            seen = [change for one in told for change in one.changes]
            owed = wanted(request, self.model.history, since)
            if watch in self.live:
                for event in owed:
                    assert event.kv.mod_revision > revision or event in seen

    def finish(self) -> None:
        """Let every watch read all there is."""
        self.run()
        while self.undrained:
            for watch in list(self.undrained):
                self.drain(watch)
            self.run()

    def check(self) -> None:
        """Every watch was told what it was owed, and every question was answered."""
        for watch, (request, since) in self.requests.items():
            told = self.host.told(watch)
            check_stream(self.model, request, since, told, complete=watch in self.live)
        assert self.asks == {}
        assert self.host.core.statistics().slow_watchers == 0
