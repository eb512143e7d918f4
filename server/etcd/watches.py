"""The two kinds of watch on a Watch stream: a consumer of a queue, and a watch on keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etcdq.actors import limits
from etcdq.actors.consumer.core import ConsumerCore
from etcdq.actors.consumer.messages import (
    CancelWatch,
    Deliver,
    Offered,
    WatchGone,
    Written,
)
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Tell
from etcdq.actors.message import Address
from etcdq.actors.node import messages as keys
from etcdq.actors.queue.messages import Offer, Superseded
from etcdq.server.etcd.delivering import watch_response
from etcdq.server.etcd.kv import wire_kv
from etcdq.server.etcd.outgoing import Outgoing
from etcdq.server.etcd.pb import kv_pb2, rpc_pb2

if TYPE_CHECKING:
    from etcdq.server.etcd.watch import WatchStream


class ConsumerWatch:
    """Hosts a consumer's core: hands it offers and progress, performs what it wants.

    Args:
        lead: what delivery keys begin with, as the consumer spelled its watch.

    `announced`: whether its client was told that it is created.
    """

    def __init__(
        self,
        stream: WatchStream,
        watch_id: int,
        address: Address,
        core: ConsumerCore,
        lead: bytes,
    ) -> None:
        self.stream = stream
        self.watch_id = watch_id
        self.address = address
        self.core = core
        self.lead = lead
        self.announced = False
        self.outgoing = Outgoing(stream.transport, stream.stream_id)

    def hear(self, message: Any, now_s: float) -> None:
        """Take the queue's word."""
        if type(message) is Offer:
            room = self.stream.room() - limits.RESPONSE_OVERHEAD_BYTES
            self._perform(self.core.step(Offered(message, max(0, room)), now_s), now_s)
            self.stream.look_after_write(self)
        elif type(message) is Superseded:
            self._perform(self.core.step(message, now_s), now_s)

    def look(self, written_position: int, now_s: float) -> bool:
        """Tell the core what was written; return whether something still is not."""
        written, moved = self.outgoing.look(written_position)
        self._perform(self.core.step(Written(written, moved), now_s), now_s)
        return bool(self.outgoing.sent)

    def settle(self, now_s: float) -> None:
        """Let the accept timeout pass, if it has."""
        self._perform(self.core.settle(now_s), now_s)

    def next_deadline_s(self) -> float:
        """When the accept timeout passes."""
        return self.core.next_deadline_s()

    def gone(self, now_s: float) -> None:
        """The watch is over on the client's side."""
        self._perform(self.core.step(WatchGone(), now_s), now_s)

    def _perform(self, effects: list[Any], now_s: float) -> None:
        for effect in effects:
            if type(effect) is Tell:
                effect.handle.post(effect.message)
            elif type(effect) is Deliver:
                self._deliver(effect)
            else:
                assert type(effect) is CancelWatch, effect
                self.stream.cancel_consumer(self, effect.reason, now_s)

    def _deliver(self, effect: Deliver) -> None:
        context = self.stream.context
        deliveries = effect.deliveries
        self.outgoing.send(watch_response(context, self.watch_id, self.lead, deliveries))


class KeysWatch:
    """A watch on ordinary keys: passes changes on, and asks for more when they are written.

    Args:
        respell: how registry keys begin, in canonical and in asked-for spelling; None where
            they are one.
        fragment: whether a response over the request limit is split.
    """

    def __init__(
        self,
        stream: WatchStream,
        watch_id: int,
        address: Address,
        respell: tuple[bytes, bytes] | None,
        *,
        fragment: bool,
    ) -> None:
        self.stream = stream
        self.watch_id = watch_id
        self.address = address
        self.announced = False
        self.outgoing = Outgoing(stream.transport, stream.stream_id)
        self._respell = respell
        self._fragment = fragment
        self._owes_drained: keys.Drained | None = None

    def hear(self, message: Any, now_s: float) -> None:
        """Take the key space's word."""
        if type(message) is keys.Changes:
            self._send(message)
            self._owes_drained = keys.Drained(message.watch)
            self.stream.look_after_write(self)
        elif type(message) is keys.WatchRefused:
            self.stream.refuse_compacted(self, message.compact_revision)

    def look(self, written_position: int, now_s: float) -> bool:
        """Ask for more once everything is written; return whether something still is not."""
        self.outgoing.look(written_position)
        if self.outgoing.sent:
            return True
        if self._owes_drained is not None:
            self.stream.context.door.keys.post(self._owes_drained)
            self._owes_drained = None
        return False

    def settle(self, now_s: float) -> None:
        """Nothing falls due here: a slow watch lags, and catches up when it reads."""

    def next_deadline_s(self) -> float:
        """Never."""
        return NEVER_S

    def gone(self, now_s: float) -> None:
        """The watch is over."""
        self.stream.context.door.keys.post(keys.UnwatchKeys(self.address))

    def _send(self, message: keys.Changes) -> None:
        context = self.stream.context
        header = context.header(message.revision)
        events = [self._event(change) for change in message.changes]
        response = rpc_pb2.WatchResponse(header=header, watch_id=self.watch_id, events=events)
        bytes_max = context.request_bytes_max
        if not self._fragment or response.ByteSize() <= bytes_max:
            self.outgoing.send(response.SerializeToString())
            return
        pieces = _pieces(events, bytes_max)
        for number, piece in enumerate(pieces, 1):
            part = rpc_pb2.WatchResponse(
                header=header,
                watch_id=self.watch_id,
                events=piece,
                fragment=number < len(pieces),
            )
            self.outgoing.send(part.SerializeToString())

    def _event(self, change: keys.Change) -> kv_pb2.Event:
        kind = kv_pb2.Event.DELETE if change.deleted else kv_pb2.Event.PUT
        event = kv_pb2.Event(type=kind, kv=self._spelled(change.kv))
        if change.prev is not None:
            event.prev_kv.CopyFrom(self._spelled(change.prev))
        return event

    def _spelled(self, record: keys.KeyValue) -> kv_pb2.KeyValue:
        kv: kv_pb2.KeyValue = wire_kv(record)
        if self._respell is not None:
            kv.key = self._respell[1] + kv.key[len(self._respell[0]) :]
        return kv


Watch = ConsumerWatch | KeysWatch


def _pieces(events: list[kv_pb2.Event], bytes_max: int) -> list[list[kv_pb2.Event]]:
    pieces: list[list[kv_pb2.Event]] = [[]]
    size = 0
    for event in events:
        event_bytes = event.ByteSize() + 8
        if pieces[-1] and size + event_bytes > bytes_max:
            pieces.append([])
            size = 0
        pieces[-1].append(event)
        size += event_bytes
    return pieces
