"""What every translation of the door needs, and the answers that are the same bytes every time."""

from dataclasses import dataclass
from typing import Any

import msgspec

from etcdq.actors.message import Handle
from etcdq.server.etcd.door import Door
from etcdq.server.etcd.keys import Spelling
from etcdq.server.etcd.pb import rpc_pb2

RAFT_TERM = 2
"""One node has no elections; real etcds start with term 2, and clients want it positive."""


class Ask(msgspec.Struct, gc=False):
    """A request, translated: post `message` to `handle`, and turn its reply into bytes.

    `answer(context, value, asked)` is called with the reply's value and this Ask, whose `extra`
    may carry what the answer needs of the request.
    """

    handle: Handle
    message: Any
    answer: Any
    extra: Any = None


class Context:
    """One door's constants: the node behind it, its spelling, its response headers."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.queue = door.queue
        self.request_bytes_max = door.settings.request_bytes_max
        self.spelling = Spelling(door.settings.queue_prefixes)
        self._revision = -1
        self._put_answer = b""
        self._deleted_answers = (b"", b"")

    def revision(self) -> int:
        """Return the store's current revision."""
        revision: int = self.door.board["revision"]
        return revision

    def header(self, revision: int | None = None) -> rpc_pb2.ResponseHeader:
        """Return a response header at `revision`, by default the current one."""
        identity = self.door.identity
        return rpc_pb2.ResponseHeader(
            cluster_id=identity.cluster_id,
            member_id=identity.member_id,
            revision=self.revision() if revision is None else revision,
            raft_term=RAFT_TERM,
        )

    def put_answer(self) -> bytes:
        """Return the answer to a queue put: only a header, so the same until the next revision."""
        if self._revision != self.door.board["revision"]:
            self._renew()
        return self._put_answer

    def deleted_answer(self, deleted: int) -> bytes:
        """Return the answer to an acknowledgement that removed no job or one."""
        if self._revision != self.door.board["revision"]:
            self._renew()
        return self._deleted_answers[deleted]

    def _renew(self) -> None:
        self._revision = self.revision()
        header = self.header()
        self._put_answer = rpc_pb2.PutResponse(header=header).SerializeToString()
        none = rpc_pb2.DeleteRangeResponse(header=header)
        one = rpc_pb2.DeleteRangeResponse(header=header, deleted=1)
        self._deleted_answers = (none.SerializeToString(), one.SerializeToString())


@dataclass(frozen=True, slots=True)
class Unary:
    """One unary method: how its request is parsed, asked, and answered.

    `ask(context, request, to)` returns an `Ask`, or the answer's bytes where nobody need be
    asked; it raises a RequestError for a request that cannot be.
    """

    request_type: Any
    ask: Any
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A method of the API that is not built yet: UNIMPLEMENTED, with a sentence."""

    path: str
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class WatchMethod:
    """etcdserverpb.Watch/Watch: the session hands its messages to a `WatchStream`."""

    streaming: bool = True


Method = Unary | Unbuilt | WatchMethod
