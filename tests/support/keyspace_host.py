"""Stands in for a door: runs a key space core batch by batch and keeps what it is told."""

from typing import Any

from etcdq.actors.effect import Publish, Reply, Tell
from etcdq.actors.message import Address
from etcdq.actors.node.keyspace import KeySpaceCore
from etcdq.actors.node.messages import (
    AskProgress,
    Change,
    Changes,
    DeleteKeys,
    Drained,
    PutKey,
    RangeKeys,
    RangeOptions,
    UnwatchKeys,
    WatchKeys,
)
from etcdq.actors.stage import Stage


class KeySpaceHost:
    """A handle for everything; `heard` has replies and tellings in the order of their coming."""

    def __init__(self) -> None:
        self.core = KeySpaceCore()
        self.heard: list[Any] = []
        self.board: dict[str, Any] = {}
        self._stage = Stage(lambda _: self.core)
        self._tag = 0

    def post(self, message: Any) -> None:
        """Hear something."""
        self.heard.append(message)

    def address(self) -> Address:
        """Return a new address of this host."""
        self._tag += 1
        return Address(self, self._tag)

    def run(self, *messages: Any, now_s: float = 0.0) -> list[Any]:
        """Run one batch and return what was heard of it, in order."""
        before = len(self.heard)
        outcome = self._stage.run([("keys", message) for message in messages], now_s)
        assert not outcome.persists
        assert not outcome.logs
        for reply in outcome.replies:
            reply.to.handle.post(reply)
        for effect in outcome.publications:
            if type(effect) is Tell:
                effect.handle.post(effect.message)
            else:
                assert type(effect) is Publish
                self.board[effect.topic] = effect.value
        return self.heard[before:]

    def next_deadline_s(self) -> float:
        """When the next batch is due at the latest."""
        return self._stage.next_deadline_s()

    def ask(self, message: Any, now_s: float = 0.0) -> Any:
        """Run one request as a batch and return the value of its only reply."""
        replies = [one for one in self.run(message, now_s=now_s) if type(one) is Reply]
        assert [message.to] == [reply.to for reply in replies]
        return replies[0].value

    def put(self, key: bytes, value: bytes = b"", **options: Any) -> Any:
        """Put one key in a batch of its own."""
        return self.ask(PutKey(self.address(), key, value, **options))

    def range(self, start: bytes, end: bytes = b"", **options: Any) -> Any:
        """Read keys in a batch of its own."""
        return self.ask(RangeKeys(self.address(), start, end, RangeOptions(**options)))

    def delete(self, start: bytes, end: bytes = b"", *, prev_kv: bool = False) -> Any:
        """Delete keys in a batch of its own."""
        return self.ask(DeleteKeys(self.address(), start, end, prev_kv))

    def watch(self, start: bytes, end: bytes = b"", **options: Any) -> Address:
        """Begin a watch in a batch of its own; what it is told at once is in `heard`."""
        watch = self.address()
        self.run(WatchKeys(watch, watch, start, end, **options))
        return watch

    def unwatch(self, watch: Address) -> None:
        """End a watch in a batch of its own."""
        self.run(UnwatchKeys(watch))

    def drain(self, watch: Address, now_s: float = 0.0) -> list[Change]:
        """Say `Drained` in a batch of its own; return what the watch was told upon it."""
        before = len(self.told(watch))
        self.run(Drained(watch), now_s=now_s)
        return [change for changes in self.told(watch)[before:] for change in changes.changes]

    def ask_progress(self, *watches: Address) -> Address:
        """Ask for progress in a batch of its own; return where the answer goes."""
        to = self.address()
        self.run(AskProgress(to, watches))
        return to

    def told(self, watch: Address) -> list[Changes]:
        """Return every `Changes` of a watch."""
        return [one for one in self.heard if type(one) is Changes and one.watch == watch]

    def events(self, watch: Address) -> list[tuple[str, bytes, int]]:
        """Return what a watch was told: (PUT or DELETE, key, revision)."""
        return [
            ("DELETE" if change.deleted else "PUT", change.kv.key, change.kv.mod_revision)
            for changes in self.told(watch)
            for change in changes.changes
        ]

    def replies(self, to: Address) -> list[Any]:
        """Return the values of the replies to one address."""
        return [one.value for one in self.heard if type(one) is Reply and one.to == to]
