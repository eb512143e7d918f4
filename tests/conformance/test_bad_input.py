"""Bad input: each is answered clearly, nothing is lost, nothing is left behind."""

import gzip
import random

import pytest

from etcdq.server.etcd.context import Unary, Unbuilt
from etcdq.server.etcd.methods import METHODS
from etcdq.server.etcd.pb import rpc_pb2
from etcdq.server.etcd.session import Session
from tests.support.etcd_client import KV, ONE, TWO, WATCH, CallFailed
from tests.support.world import World
from tests.support.worlds import transcript

INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = 3, 8, 12, 13
UNBUILT = sorted(path.decode() for path, one in METHODS.items() if isinstance(one, Unbuilt))


def left_behind(session: Session) -> list[int]:
    """Return how much a session remembers of calls, deadlines, streams, watches."""
    return [
        session.transport.open_streams,
        len(session._calls),
        len(session._deadlines),
        len(session._streams),
        len(session._watches),
        len(session._progress),
        len(session._unwritten),
        session._consumers,
    ]


def half_a_put(body: bytes = b"x" * 100) -> bytes:
    """Return the first half of a put, as it is sent."""
    data = rpc_pb2.PutRequest(key=b"/q/jobs/p/k", value=body).SerializeToString()
    return b"\0" + len(data).to_bytes(4, "big") + data[: len(data) // 2]


@transcript
async def test_an_acknowledgement_from_an_earlier_run(world: World) -> None:
    """A delivery key of an earlier run hits nothing: a new index never repeats an old one."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await watch.event()

    assert await a.delete("/q/jobs/1764525600000001/job-1") == 0
    assert await a.counts("jobs") == (0, 1, 0)


@transcript
async def test_a_client_that_resets_mid_put(world: World) -> None:
    """1,000 puts that are reset half way: no job, nothing left, and the connection goes on."""
    a = await world.connect()
    for _ in range(1_000):
        call = a.peer.open(KV + "Put")
        a.peer.send_data(call, half_a_put(), end=False)
        a.link.flush()
        await world.settle()
        a.peer.reset(call)
        a.link.flush()
        await world.wait(0.1)  # faster is an attack: the transport's own budget ends it

    assert (await a.queues("List")).queues == []
    for session in world.sessions:
        assert left_behind(session) == [0] * 8
    await a.put("/q/jobs/p/k", "x")
    assert await a.counts("jobs") == (1, 0, 0)


@transcript
async def test_a_client_that_leaves_mid_put(world: World) -> None:
    """100 connections that end half way through a put: no job, no session left."""
    b = await world.connect()
    for _ in range(100):
        a = await world.connect()
        call = a.peer.open(KV + "Put")
        a.peer.send_data(call, half_a_put(), end=False)
        a.link.flush()
        await world.settle()
        a.cut()
        await world.settle()

    assert (await b.queues("List")).queues == []
    assert len(world.sessions) in (0, 1)


@transcript
async def test_watch_calls_reset_again_and_again(world: World) -> None:
    """500 consumers that register and reset their call leave no watcher, no registry key."""
    a = await world.connect()
    for number in range(500):
        watch = await a.watch(f"/q/jobs/c/{(ONE, TWO)[number % 2]}")
        watch.call.reset()
    await world.settle()

    assert await a.list("/q/jobs/c/") == []
    for session in world.sessions:
        assert left_behind(session) == [0] * 8


@transcript
async def test_unbuilt_methods(world: World) -> None:
    """What is not built yet answers UNIMPLEMENTED with a sentence that names it."""
    a = await world.connect()
    assert "/etcdserverpb.KV/Txn" in UNBUILT
    for path in UNBUILT:
        with pytest.raises(CallFailed) as caught:
            await a.call(path, b"", rpc_pb2.PutResponse)
        assert caught.value.code == UNIMPLEMENTED
        assert caught.value.text == f"etcdq: {path} is not built yet"
    await a.put("key", "x")


@transcript
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etcdserverpb.KV/Take", "unknown method Take for service etcdserverpb.KV"),
        ("/other.Service/Call", "unknown service other.Service"),
        ("/", "malformed method name"),
        ("/etcdserverpb.KV", "malformed method name"),
        ("/etcdserverpb.KV/put", "unknown method put for service etcdserverpb.KV"),
    ],
)
async def test_unknown_methods(world: World, path: str, text: str) -> None:
    """An unknown service or method is UNIMPLEMENTED; the connection goes on."""
    a = await world.connect()
    with pytest.raises(CallFailed, match=text) as caught:
        await a.call(path, b"", rpc_pb2.PutResponse)
    assert caught.value.code == UNIMPLEMENTED
    await a.put("key", "x")


@transcript
async def test_gzip(world: World) -> None:
    """A compressed request is read where its call says gzip, and refused where it does not."""
    a = await world.connect()
    put = rpc_pb2.PutRequest(key=b"/q/jobs/p/k", value=b"x" * 10_000)
    packed = gzip.compress(put.SerializeToString())
    data = b"\1" + len(packed).to_bytes(4, "big") + packed
    for headers, status in (((("grpc-encoding", "gzip"),), 0), ((), INTERNAL)):
        call = a.peer.open(KV + "Put", *headers)
        a.peer.send_data(call, data, end=True)
        a.link.flush()
        await world.settle()
        assert call.status == status
    assert await a.get("/q/jobs/p/k") == "x" * 10_000
    assert await a.counts("jobs") == (1, 0, 0)


@transcript
async def test_gzip_on_a_watch(world: World) -> None:
    """A Watch call may be compressed too."""
    a = await world.connect()
    create = rpc_pb2.WatchCreateRequest(key=b"key")
    packed = gzip.compress(rpc_pb2.WatchRequest(create_request=create).SerializeToString())
    watches = a.open_watches(("grpc-encoding", "gzip"))
    a.peer.send_data(watches.call, b"\1" + len(packed).to_bytes(4, "big") + packed, end=False)
    a.link.flush()
    assert (await watches.control()).created


@transcript
async def test_random_bytes(world: World) -> None:
    """Random bytes as requests: an answer or a status each time, and the connection goes on."""
    a = await world.connect()
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    source = random.Random(seed)
    paths = sorted(path.decode() for path, one in METHODS.items() if isinstance(one, Unary))
    for _ in range(100):
        for path in paths:
            call = a.begin(path, source.randbytes(source.randrange(30)))
            await world.until_now(lambda call=call: call.ended, "an answer")
            assert call.status is not None
    await a.put("key", "x")


@transcript
async def test_nonsense_on_a_watch(world: World) -> None:
    """What is no WatchRequest ends its call with INTERNAL; the others go on."""
    a = await world.connect()
    good, bad = await a.watch("key"), await a.watch(f"/q/jobs/c/{ONE}")

    bad.call.send(b"\xff\xff\xff\xff")
    await world.settle()

    assert bad.call.call.status == INTERNAL
    assert "unmarshalling" in bad.call.call.text
    assert await a.list("/q/jobs/c/") == []
    await a.put("key", "x")
    assert (await good.event()).value == "x"


@transcript
async def test_unknown_fields(world: World) -> None:
    """Fields of a newer API are let pass; a field of a wrong wire type is unknown, not read."""
    a = await world.connect()
    newer = rpc_pb2.PutRequest(key=b"key", value=b"x").SerializeToString() + b"\xfa\x3e\x03abc"
    await a.call(KV + "Put", newer, rpc_pb2.PutResponse)
    assert await a.get("key") == "x"

    with pytest.raises(CallFailed) as caught:
        await a.call(KV + "Put", b"\x08\x01", rpc_pb2.PutResponse)  # key as a varint
    assert caught.value.code == INVALID_ARGUMENT
    assert caught.value.text == "etcdserver: key is not provided"


@transcript
async def test_deep_nesting(world: World) -> None:
    """A message nested far too deep is refused, not followed."""
    a = await world.connect()
    data = b""
    for _ in range(1_000):
        data = b"\x0a" + _varint(len(data)) + data
    with pytest.raises(CallFailed) as caught:
        await a.call("/etcdserverpb.KV/Txn", data, rpc_pb2.PutResponse)
    assert caught.value.code == UNIMPLEMENTED
    await a.put("key", "x")


@transcript
@pytest.mark.parametrize(
    ("method", "request_", "text"),
    [
        ("Put", rpc_pb2.PutRequest(value=b"x"), "key is not provided"),
        ("Range", rpc_pb2.RangeRequest(), "key is not provided"),
        ("DeleteRange", rpc_pb2.DeleteRangeRequest(), "key is not provided"),
        ("Put", rpc_pb2.PutRequest(key=b"k", value=b"x", ignore_value=True), "value is provided"),
        ("Put", rpc_pb2.PutRequest(key=b"k", lease=1, ignore_lease=True), "lease is provided"),
        ("Put", rpc_pb2.PutRequest(key=b"k", ignore_value=True), "key not found"),
        ("Put", rpc_pb2.PutRequest(key=b"k", lease=7), "requested lease not found"),
        ("Range", rpc_pb2.RangeRequest(key=b"k", sort_order=9), "invalid sort option"),
        ("Range", rpc_pb2.RangeRequest(key=b"k", sort_target=9), "invalid sort option"),
        ("Range", rpc_pb2.RangeRequest(key=b"k", revision=99), "future revision"),
    ],
)
async def test_error_texts(world: World, method: str, request_: object, text: str) -> None:
    """Errors carry etcd's exact texts, and change nothing."""
    a = await world.connect()
    with pytest.raises(CallFailed) as caught:
        await a.call(KV + method, request_, rpc_pb2.PutResponse)
    assert caught.value.text.startswith("etcdserver: ")
    assert caught.value.text.endswith(text)
    assert (await a.range("\0", "\0")).count == 0


@transcript(max_request_bytes="1000")
async def test_a_message_over_the_limit(world: World) -> None:
    """A message beyond what is read is refused by its prefix, on a call and on a watch."""
    a = await world.connect()
    for path in (KV + "Put", WATCH):
        call = a.peer.open(path)
        a.peer.send_data(call, b"\0\xff\xff\xff\xff", end=False)
        a.link.flush()
        await world.settle()
        assert call.status == RESOURCE_EXHAUSTED
    await a.put("key", "x" * 1_000)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
