"""Watch calls as clients make them: ids, cancels, half-closed streams, many streams, slow readers.

Reference: a real etcd's answers; docs/semantics.md section 3.
"""

import pytest

from etcdq.server.etcd.pb import rpc_pb2
from tests.support.core_world import CoreWorld
from tests.support.etcd_client import KV, ONE, TWO, CallFailed
from tests.support.world import World
from tests.support.worlds import transcript

DUPLICATE = "mvcc: duplicate watch ID provided on the WatchStream"
EMPTY = "mvcc: watcher range is empty"
KEYS = ["key", f"/q/jobs/c/{ONE}"]


@transcript
@pytest.mark.parametrize("key", KEYS)
async def test_ids_are_given(world: World, key: str) -> None:
    """Watches without an id get 0, 1, 2, ..., and never one that is in use."""
    a = await world.connect()
    call = a.open_watches()

    chosen = await call.create(key + "x", watch_id=1)
    given = [await call.create(key + str(number)) for number in range(3)]

    assert chosen.watch_id == 1
    assert [watch.watch_id for watch in given] == [0, 2, 3]


@transcript
async def test_ids_belong_to_their_call(world: World) -> None:
    """The same id on two calls of one connection names two watches."""
    a = await world.connect()
    first, second = a.open_watches(), a.open_watches()
    one, two = await first.create("a", watch_id=5), await second.create("b", watch_id=5)

    first.cancel(5)
    await a.put("b", "x")

    assert (await two.event()).key == "b"
    assert (one.is_cancelled, two.is_cancelled) == (True, False)


@transcript
@pytest.mark.parametrize("key", KEYS)
async def test_an_id_is_free_again_after_cancel(world: World, key: str) -> None:
    """One canceled, no event after it; then the id can be used again and gets its events."""
    a = await world.connect()
    put = key if key == "key" else "/q/jobs/p/k"
    call = a.open_watches()
    first = await call.create(key, watch_id=5)
    response = await first.cancel()
    await a.put(put, "1")
    assert await first.is_silent()
    assert (response.canceled, response.cancel_reason) == (True, "")

    second = await call.create(key, watch_id=5)
    await a.put(put, "2")

    assert second is not first
    assert (await second.values())[-1] == "2"


@transcript
@pytest.mark.parametrize("key", KEYS)
async def test_a_duplicate_id(world: World, key: str) -> None:
    """A second watch under an id in use: created and canceled, id -1; the first goes on."""
    a = await world.connect()
    call = a.open_watches()
    watch = await call.create("key", watch_id=5)
    call.ask(key, watch_id=5)

    response = await call.control()

    assert (response.created, response.canceled, response.watch_id) == (True, True, -1)
    assert response.cancel_reason == DUPLICATE
    await a.put("key", "x")
    assert (await watch.event()).value == "x"
    assert await a.list("/q/jobs/c/") == []


@transcript
async def test_cancel_of_an_unknown_id(world: World) -> None:
    """Cancel of an unknown id is silent, and the call goes on."""
    a = await world.connect()
    watch = await a.watch("key")
    watch.call.cancel(99)
    watch.call.cancel(-1)
    await a.put("key", "x")

    assert (await watch.event()).value == "x"
    assert len(watch.responses) == 1


@transcript
@pytest.mark.parametrize(("key", "end"), [("a", "a"), ("b", "a"), (f"/q/jobs/c/{ONE}", "/q/a")])
async def test_an_empty_range(world: World, key: str, end: str) -> None:
    """A range in which no key can lie: created and canceled, id -1."""
    a = await world.connect()

    assert await a.refused_watch(key, end) == EMPTY


@transcript
async def test_a_request_that_says_nothing(world: World) -> None:
    """A WatchRequest without content is let pass."""
    a = await world.connect()
    watch = await a.watch("key")
    watch.call.send(rpc_pb2.WatchRequest())
    await a.put("key", "x")

    assert (await watch.event()).value == "x"


@transcript
async def test_create_and_cancel_500_times(world: World) -> None:
    """500 watches made and cancelled on one call leave nothing behind."""
    a = await world.connect()
    call = a.open_watches()
    for number in range(500):
        call.ask(KEYS[number % 2], watch_id=number + 1)
        call.cancel(number + 1)
        if number % 100 == 0:
            await world.settle()
    await world.settle()
    call.sort()

    assert len(call.watches) == 500
    assert {watch.reason for watch in call.watches.values()} == {""}
    assert world.node.door.keys_statistics().watchers == 0
    assert await a.list("/q/jobs/c/") == []


@transcript
async def test_a_half_closed_call_goes_on(world: World) -> None:
    """A client that half-closes after its create gets its events; a reset frees the watcher."""
    a = await world.connect()
    watch = await a.watch("key")
    watch.call.half_close()
    for number in range(3):
        await a.put("key", str(number))

    assert await watch.values() == ["0", "1", "2"]
    assert not watch.call.call.ended
    assert world.node.door.keys_statistics().watchers == 1
    watch.call.reset()
    await world.settle()
    assert world.node.door.keys_statistics().watchers == 0


@transcript
@pytest.mark.parametrize("count", [300, 1_000])
async def test_many_watch_calls_on_one_connection(world: World, count: int) -> None:
    """Hundreds of Watch calls on one connection: all created, other calls answered, all told."""
    a = await world.connect(connection_window=2**22)
    calls = [a.open_watches() for _ in range(count)]
    for call in calls:
        call.ask("key")
    await world.settle()
    for call in calls:
        call.sort()
    assert all(len(call.watches) == 1 for call in calls)

    await a.put("key", "x")
    assert await a.get("key") == "x"

    assert [await call.watches[0].values() for call in calls] == [["x"]] * count


@transcript
async def test_a_reader_that_stops(world: World) -> None:
    """A key watch that is not read holds nobody back, and catches up without a gap."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    slow = await a.stuck_watch("key")
    quick = await b.watch("key")
    for number in range(50):
        await b.put("key", str(number))
    assert len(await quick.values()) == 50
    await world.wait(1_000)
    assert not slow.call.call.ended

    await slow.call.widen(1_000_000)

    assert await slow.values() == [str(number) for number in range(50)]


@transcript(worlds="core")
async def test_unread_answers_are_bounded(world: World) -> None:
    """A client that asks for progress and reads nothing piles nothing up; one that goes on and
    on asking for watches is reset."""
    assert isinstance(world, CoreWorld)
    a, b = await world.connect(window=0, reading=False), await world.connect()
    slow = await a.stuck_watch("key")
    await b.put("key", "x")
    for _ in range(1_000):
        slow.call.send(rpc_pb2.WatchRequest(progress_request=rpc_pb2.WatchProgressRequest()))
    await world.settle()

    assert len(world.sessions[0]._progress) == 1

    cancel = rpc_pb2.WatchRequest(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=99))
    data = cancel.SerializeToString()
    batch = (b"\0" + len(data).to_bytes(4, "big") + data) * 1_000
    for _ in range(100):
        a.peer.send_data(slow.call.call, batch, end=False)
        await world.settle()
        if slow.call.call.ended:
            break
    assert slow.call.call.reset == 11  # ENHANCE_YOUR_CALM


@transcript
async def test_progress_is_of_now(world: World) -> None:
    """A progress response tells the revision up to which everything was told."""
    a = await world.connect()
    watch = await a.watch("key")
    for number in range(3):
        revision = (await a.put("key", str(number))).header.revision
        assert (await watch.call.progress()).header.revision == revision
    assert await watch.values() == ["0", "1", "2"]


@transcript
async def test_a_consumer_and_a_key_watch_on_one_call(world: World) -> None:
    """Consumers and key watches may share a call; each gets its own."""
    a = await world.connect()
    call = a.open_watches()
    jobs, mail, key = (
        await call.create(f"/q/jobs/c/{ONE}"),
        await call.create(f"/q/mail/c/{TWO}"),
        await call.create("key"),
    )
    for number in range(3):
        await a.put("/q/jobs/p/k", f"j{number}")
        await a.put("key", f"k{number}")
        await a.put("/q/mail/p/k", f"m{number}")

    assert await jobs.values() == ["j0", "j1", "j2"]
    assert await mail.values() == ["m0", "m1", "m2"]
    assert await key.values() == ["k0", "k1", "k2"]


@transcript
@pytest.mark.parametrize("timeout", ["1n", "0n", "0S"])
async def test_no_time_at_all(world: World, timeout: str) -> None:
    """A call whose grpc-timeout is over when it comes is not begun."""
    a = await world.connect()
    request = rpc_pb2.PutRequest(key=b"/q/jobs/p/k")

    if timeout != "1n":
        with pytest.raises(CallFailed) as caught:
            await a.call(KV + "Put", request, rpc_pb2.PutResponse, ("grpc-timeout", timeout))
        assert caught.value.code == 4
        watches = a.open_watches(("grpc-timeout", timeout))
        a.link.flush()
        await world.settle()
        assert watches.call.status == 4
        assert (await a.queues("List")).queues == []
    else:
        call = a.begin(KV + "Put", request, ("grpc-timeout", timeout))
        await world.wait(0.001)
        assert call.status in (0, 4)


@transcript
@pytest.mark.parametrize("timeout", ["100m", "1S", "99999999H"])
async def test_time_enough(world: World, timeout: str) -> None:
    """A grpc-timeout that does not run out changes nothing."""
    a = await world.connect()
    request = rpc_pb2.PutRequest(key=b"key")
    await a.call(KV + "Put", request, rpc_pb2.PutResponse, ("grpc-timeout", timeout))
    await world.wait(10)
    assert await a.get("key") == ""


@transcript
@pytest.mark.parametrize("timeout", ["abc", "5x", "123456789S", "-1S", "1.5S", ""])
async def test_a_timeout_that_is_none(world: World, timeout: str) -> None:
    """A malformed grpc-timeout is an error, never "no deadline"."""
    a = await world.connect()
    request = rpc_pb2.PutRequest(key=b"key")
    with pytest.raises(CallFailed) as caught:
        await a.call(KV + "Put", request, rpc_pb2.PutResponse, ("grpc-timeout", timeout))
    assert caught.value.code == 13
    assert await a.get("key") is None
