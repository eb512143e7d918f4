"""etcdserverpb.Watch: one stream, many watches, each on keys or a consumer of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etcdq.actors import limits
from etcdq.actors.consumer.core import ConsumerCore
from etcdq.actors.errors import EtcdqError, InvalidKeyError
from etcdq.actors.node import messages as keys
from etcdq.actors.queue.messages import Credit, Register
from etcdq.server.etcd.keys import ConsumerKey, QueueKey, consumer_identity
from etcdq.server.etcd.pb import rpc_pb2
from etcdq.server.etcd.transport.frames import ErrorCode
from etcdq.server.etcd.watches import ConsumerWatch, KeysWatch, Watch

if TYPE_CHECKING:
    from etcdq.server.etcd.session import Session

INVALID_WATCH_ID = -1
_DUPLICATE = "mvcc: duplicate watch ID provided on the WatchStream"
_EMPTY_RANGE = "mvcc: watcher range is empty"
_NO_PUT = "etcdq: a consumer receives PUT events only: its watch cannot filter them out (NOPUT)"
_COMPACTED = "etcdserver: mvcc: required revision has been compacted"

_ENDED_HALF_SENT = "a watch ended with a message of it half written"


class WatchStream:
    """One Watch call of a session. `watches` are those that live, by watch id."""

    def __init__(self, session: Session, stream_id: int, credit: Credit) -> None:
        self.session = session
        self._credit = credit
        self.stream_id = stream_id
        self.transport = session.transport
        self.context = session.context
        self.watches: dict[int, Watch] = {}
        self._next_watch_id = 0
        self._unread_requests = 0
        self._awaits_progress = False
        self._asks_again = False

    # what the client says ---------------------------------------------------------------

    def take(self, data: bytes, now_s: float) -> None:
        """Take one message of the client.

        Raises:
            DecodeError: not a WatchRequest.
        """
        if not self.transport.queued_bytes(self.stream_id):
            self._unread_requests = 0
        self._unread_requests += 1
        if self._unread_requests > limits.UNREAD_WATCH_REQUESTS_MAX:
            return self.session.reset_stream(self.stream_id, ErrorCode.ENHANCE_YOUR_CALM, now_s)
        request = rpc_pb2.WatchRequest.FromString(data)
        kind = request.WhichOneof("request_union")
        if kind == "create_request":
            self._create(request.create_request, now_s)
        elif kind == "cancel_request":
            self._cancel(request.cancel_request.watch_id, now_s)
        elif kind == "progress_request":
            self._ask_progress()
        return None

    def close(self, now_s: float) -> bool:
        """End every watch from our side.

        Returns:
            Whether the stream can end with a status. If not, a message is half sent, which only a
            reset can stop.
        """
        whole = True
        for watch in list(self.watches.values()):
            self._forget(watch)
            whole = self._take_back(watch, _ENDED_HALF_SENT) and whole
            watch.gone(now_s)
        return whole

    def gone(self, now_s: float) -> None:
        """The stream or the connection is over."""
        for watch in list(self.watches.values()):
            self._forget(watch)
            watch.gone(now_s)

    def _create(self, request: rpc_pb2.WatchCreateRequest, now_s: float) -> None:
        start = request.key or b"\0"
        end = request.range_end
        watch_id = request.watch_id
        if end and end != b"\0" and end <= start:
            return self._refuse(_EMPTY_RANGE)
        if watch_id and watch_id in self.watches:
            return self._refuse(_DUPLICATE)
        form = None
        if not end:
            try:
                form = self.context.spelling.parse(start)
            except InvalidKeyError:
                form = None  # an exact key of no form: an ordinary watch that sees nothing
        if isinstance(form, ConsumerKey) and rpc_pb2.WatchCreateRequest.NOPUT in request.filters:
            return self._refuse(_NO_PUT)
        if not watch_id:
            watch_id = self._free_watch_id()
        if isinstance(form, ConsumerKey):
            self._create_consumer(form, start, watch_id)
        else:
            self._create_keys(request, start, form, watch_id)
        return None

    def _free_watch_id(self) -> int:
        while self._next_watch_id in self.watches:
            self._next_watch_id += 1
        self._next_watch_id += 1
        return self._next_watch_id - 1

    def _create_consumer(self, form: ConsumerKey, key: bytes, watch_id: int) -> None:
        session = self.session
        consumer = consumer_identity(form.segment) or session.identity_for(form.segment)
        address = session.new_address()
        door = self.context.door
        queue = door.queue(form.name)
        timeout_s = door.settings.accept_timeout_s
        lead = self.context.spelling.queue_lead(key)
        overhead_bytes = limits.EVENT_OVERHEAD_BYTES + len(lead)
        core = ConsumerCore(consumer, queue, address, timeout_s, overhead_bytes)
        self._enter(ConsumerWatch(self, watch_id, address, core, lead))
        queue.post(Register(address, address, consumer, session.peer, self._credit))

    def _create_keys(
        self,
        request: rpc_pb2.WatchCreateRequest,
        start: bytes,
        form: object,
        watch_id: int,
    ) -> None:
        respell = None
        end = request.range_end
        if isinstance(form, QueueKey):
            canonical = self.context.spelling.queue_key(form.name)
            respell, start = (canonical, start), canonical
        elif end:
            covered = self.context.spelling.respell_watched(start, end)
            start, end = covered.start, covered.end
            if covered.lead != covered.canonical:
                respell = (covered.canonical, covered.lead)
        session = self.session
        address = session.new_address()
        self._enter(KeysWatch(self, watch_id, address, respell, fragment=request.fragment))
        filters = request.filters
        self.context.door.keys.post(
            keys.WatchKeys(
                address,
                address,
                start,
                end,
                request.start_revision,
                request.prev_kv,
                rpc_pb2.WatchCreateRequest.NOPUT not in filters,
                rpc_pb2.WatchCreateRequest.NODELETE not in filters,
                request.progress_notify,
            )
        )

    def _cancel(self, watch_id: int, now_s: float) -> None:
        watch = self.watches.get(watch_id)
        if watch is None:
            return None  # etcd says nothing either
        self._forget(watch)
        whole = self._take_back(watch, _ENDED_HALF_SENT)
        watch.gone(now_s)
        if not whole:
            return self._stop_half_sent(now_s)
        if not watch.announced:
            self._announce(watch, None)
        self._send(
            rpc_pb2.WatchResponse(header=self.context.header(), watch_id=watch_id, canceled=True)
        )
        return None

    def _ask_progress(self) -> None:
        # One question at a time, and one more for all that came meanwhile: a client that asks
        # and does not read piles nothing up.
        if self._awaits_progress:
            self._asks_again = True
            return
        self._awaits_progress = True
        session = self.session
        watches = tuple(
            watch.address for watch in self.watches.values() if isinstance(watch, KeysWatch)
        )
        to = session.new_address()
        session.expect_progress(to, self)
        self.context.door.keys.post(keys.AskProgress(to, watches))

    # what the actors say ----------------------------------------------------------------

    def answered(self, watch: Watch, value: object, now_s: float) -> None:
        """The queue or the key space answered the request to watch."""
        if isinstance(value, EtcdqError):
            self._forget(watch)
            return self._refuse(value.text)
        self._announce(watch, value.revision if isinstance(value, keys.WatchingKeys) else None)
        return None

    def _announce(self, watch: Watch, revision: int | None) -> None:
        watch.announced = True
        self._send(
            rpc_pb2.WatchResponse(
                header=self.context.header(revision), watch_id=watch.watch_id, created=True
            )
        )

    def progress(self, value: keys.Progress) -> None:
        """Every watch was told everything up to here."""
        self._send(
            rpc_pb2.WatchResponse(
                header=self.context.header(value.revision), watch_id=INVALID_WATCH_ID
            )
        )
        self._awaits_progress = False
        if self._asks_again:
            self._asks_again = False
            self._ask_progress()

    def refuse_compacted(self, watch: KeysWatch, compact_revision: int) -> None:
        """The watch's start revision is compacted: it cannot go on."""
        self._forget(watch)
        self._send(
            rpc_pb2.WatchResponse(
                header=self.context.header(),
                watch_id=watch.watch_id,
                canceled=True,
                compact_revision=compact_revision,
                cancel_reason=_COMPACTED,
            )
        )

    def cancel_consumer(self, watch: ConsumerWatch, reason: str, now_s: float) -> None:
        """End a consumer's watch from our side, with a reason.

        What it was sent is taken back; where that is half sent the stream is reset, and where the
        socket itself is stuck with it the connection ends: else it could arrive twice.
        """
        self._forget(watch)
        if not self._take_back(watch, reason):
            return self._stop_half_sent(now_s)
        self._send(
            rpc_pb2.WatchResponse(
                header=self.context.header(),
                watch_id=watch.watch_id,
                canceled=True,
                cancel_reason=reason,
            )
        )
        return None

    def _take_back(self, watch: Watch, reason: str) -> bool:
        """Take back what a consumer was sent and has not got: others will get it.

        Returns:
            False if a byte of it is framed. Where it is framed whole, or the socket is stuck,
            even a reset would come too late, and the connection ends with `reason`.
        """
        if not isinstance(watch, ConsumerWatch):
            return True  # news of keys may come late
        framed = watch.outgoing.is_framed
        withdrawn = watch.outgoing.withdraw()
        if withdrawn is None:
            if framed or self.session.blocked:
                self.session.abort(reason)
            return False
        if withdrawn:
            for other in self.watches.values():
                other.outgoing.move_up(withdrawn)
        return True

    def _stop_half_sent(self, now_s: float) -> None:
        """Reset the stream. REFUSED_STREAM is what gRPC clients read as UNAVAILABLE."""
        if not self.session.aborted:
            self.session.reset_stream(self.stream_id, ErrorCode.REFUSED_STREAM, now_s)

    # what the watches need --------------------------------------------------------------

    def room(self) -> int:
        """Bytes that a response could have now and be written at once."""
        return 0 if self.session.blocked else self.transport.room(self.stream_id)

    def look_after_write(self, watch: Watch) -> None:
        """Have `watch.look` called after the next write."""
        self.session.look_after_write(watch)

    def _enter(self, watch: Watch) -> None:
        self.watches[watch.watch_id] = watch
        self.session.enter_watch(watch)

    def _forget(self, watch: Watch) -> None:
        if self.watches.get(watch.watch_id) is watch:
            del self.watches[watch.watch_id]
            self.session.forget_watch(watch)

    def _refuse(self, reason: str) -> None:
        self._send(
            rpc_pb2.WatchResponse(
                header=self.context.header(),
                watch_id=INVALID_WATCH_ID,
                created=True,
                canceled=True,
                cancel_reason=reason,
            )
        )

    def _send(self, response: rpc_pb2.WatchResponse) -> None:
        self.transport.send_message(self.stream_id, response.SerializeToString())
