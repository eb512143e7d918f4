"""One random sequence of puts, deletes and ranges on a real etcd and on the store."""

import os
import random
from typing import Any, TypeVar

import grpc
import pytest
from google.protobuf.message import Message

from etcdq.actors.node.messages import Change, KeyValue, RangeOptions, SortOrder, SortTarget
from etcdq.actors.node.mvcc.errors import FutureRevisionError
from etcdq.actors.node.mvcc.range_options import read_range
from etcdq.actors.node.mvcc.store import Store
from etcdq.server.etcd.pb import kv_pb2, rpc_pb2

STEPS = 1500
KEYS = [b"\0", b"a", b"a\0", b"aa", b"ab", b"b", b"b/1", b"b/2", b"b\xff", b"c", b"z", b"\xff\xff"]
ENDS = [*KEYS, b"", b"", b"\0", b"\0", b"b0", b"d"]
CALL_S = 20

Reply = TypeVar("Reply", bound=Message)


def call(channel: grpc.Channel, path: str, request: Message, reply: type[Reply]) -> Reply:
    """Make one unary call."""
    stub = channel.unary_unary(
        path,
        request_serializer=type(request).SerializeToString,
        response_deserializer=reply.FromString,
    )
    answer: Reply = stub(request, timeout=CALL_S)
    return answer


def ours(kv: kv_pb2.KeyValue) -> KeyValue:
    """A key as our cores see it."""
    return KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision, kv.version, kv.lease)


def previous(holder: Any) -> KeyValue | None:
    """What prev_kv holds, None where it is absent (not: empty)."""
    return ours(holder.prev_kv) if holder.HasField("prev_kv") else None


class Pair:
    """The real etcd and our store, given the same requests."""

    def __init__(self, channel: grpc.Channel, rng: random.Random) -> None:
        self.channel = channel
        self.store = Store()
        self.rng = rng

    def put(self) -> None:
        """Compare the revision and what was there before."""
        key, value = self.rng.choice(KEYS), b"%08x" % self.rng.getrandbits(32)
        request = rpc_pb2.PutRequest(key=key, value=value, prev_kv=True)
        theirs = call(self.channel, "/etcdserverpb.KV/Put", request, rpc_pb2.PutResponse)
        change = self.store.put(key, value)
        assert theirs.header.revision == self.store.revision
        assert previous(theirs) == change.prev

    def delete(self) -> None:
        """Compare the revision, the number and what was there before."""
        key = self.rng.choice(KEYS)
        end = self.rng.choice(ENDS) if self.rng.random() < 0.2 else b""
        request = rpc_pb2.DeleteRangeRequest(key=key, range_end=end, prev_kv=True)
        path = "/etcdserverpb.KV/DeleteRange"
        theirs = call(self.channel, path, request, rpc_pb2.DeleteRangeResponse)
        held, _ = self.store.delete_range(key, end)
        assert theirs.header.revision == self.store.revision
        assert theirs.deleted == len(held)
        assert [ours(kv) for kv in theirs.prev_kvs] == held

    def some_revision(self) -> int:
        """Nought half of the time, else one that has been, or may come soon."""
        return self.rng.choice([0, self.rng.randint(1, self.store.revision + 2)])

    def options(self) -> RangeOptions:
        """Any mixture of options, each given now and then; bounds hit what is there."""
        chance = self.rng.random
        there, _ = self.store.read(b"\0", b"\0")
        created = [0, 1, *(kv.create_revision for kv in there)]
        mod = [0, 1, *(kv.mod_revision for kv in there)]
        return RangeOptions(
            limit=self.rng.choice([0, 0, 1, 2, 3, 5, 2**63 - 2, -1]),
            revision=self.some_revision(),
            sort_order=self.rng.choice(list(SortOrder)),
            sort_target=self.rng.choice(list(SortTarget)),
            keys_only=chance() < 0.2,
            count_only=chance() < 0.1,
            min_mod_revision=self.rng.choice(mod) if chance() < 0.2 else 0,
            max_mod_revision=self.rng.choice(mod) if chance() < 0.2 else 0,
            min_create_revision=self.rng.choice(created) if chance() < 0.2 else 0,
            max_create_revision=self.rng.choice(created) if chance() < 0.2 else 0,
        )

    def range(self) -> None:
        """Compare keys, order, more, count, revision, and the error."""
        key, end, options = self.rng.choice(KEYS), self.rng.choice(ENDS), self.options()
        request = rpc_pb2.RangeRequest(key=key, range_end=end)
        for name in RangeOptions.__struct_fields__:
            value = getattr(options, name)
            setattr(request, name, getattr(value, "value", value))
        if options.revision > self.store.revision:
            with pytest.raises(FutureRevisionError) as mine_refused:
                read_range(self.store, key, end, options)
            with pytest.raises(grpc.RpcError) as refused:
                call(self.channel, "/etcdserverpb.KV/Range", request, rpc_pb2.RangeResponse)
            assert refused.value.details() == mine_refused.value.text
            assert refused.value.code() is grpc.StatusCode.OUT_OF_RANGE
            return
        mine = read_range(self.store, key, end, options)
        theirs = call(self.channel, "/etcdserverpb.KV/Range", request, rpc_pb2.RangeResponse)
        context = (key, end, options)
        assert theirs.header.revision == mine.revision, context
        assert (theirs.count, theirs.more) == (mine.count, mine.more), context
        found = [ours(kv) for kv in theirs.kvs]
        if options.sort_target is SortTarget.VERSION:
            # etcd leaves the order of equal versions open, and so which of them a limit cuts.
            assert [kv.version for kv in found] == [kv.version for kv in mine.kvs], context
            if not mine.more:
                assert sorted(kv.key for kv in found) == sorted(kv.key for kv in mine.kvs)
        else:
            assert found == list(mine.kvs), context

    def history(self) -> None:
        """Compare every event from the first revision on, as a watch tells them."""
        told = self.store.events_since(0, 1 << 40)
        expected = [change for _, changes in told for change in changes]
        create = rpc_pb2.WatchCreateRequest(
            key=b"\0", range_end=b"\0", start_revision=1, prev_kv=True
        )
        watch = self.channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=rpc_pb2.WatchRequest.SerializeToString,
            response_deserializer=rpc_pb2.WatchResponse.FromString,
        )(iter([rpc_pb2.WatchRequest(create_request=create)]), timeout=CALL_S)
        found: list[Change] = []
        for response in watch:
            for event in response.events:
                deleted = event.type == kv_pb2.Event.DELETE
                found.append(Change(ours(event.kv), deleted, previous(event)))
            if len(found) >= len(expected):
                break
        watch.cancel()
        assert found == expected


@pytest.mark.peer
def test_store_answers_as_etcd_does(etcd: grpc.Channel) -> None:
    """Values, revisions, counts, order, more, errors and history are the reference's.

    ETCDQ_SEED replays a failure.
    """
    seed = int(os.environ.get("ETCDQ_SEED", random.SystemRandom().getrandbits(32)))
    print(f"ETCDQ_SEED={seed}")
    pair = Pair(etcd, random.Random(seed))
    for _ in range(STEPS):
        step = pair.rng.choices([pair.put, pair.delete, pair.range], weights=[40, 15, 45])[0]
        step()
    pair.history()
