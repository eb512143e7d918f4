"""The client library on the mock clock: timeouts, back-off, odd servers, what it leaves behind.

Node, proxies and odd servers run in this process, so the autojump clock holds.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
import trio_asyncio
from trio.testing import MockClock

import etcdq
from tests.support.proxy import behind_proxy

Serve = Callable[[trio.SocketStream], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Serve) -> AsyncIterator[str]:
    """Serve with `handler` on a port of this machine; give the endpoint."""
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
        yield f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def swallow(stream: trio.SocketStream) -> None:
    """Read, and never answer."""
    async for _ in stream:
        pass


async def speak_http1(stream: trio.SocketStream) -> None:
    """Answer as a web server of another kind does."""
    await stream.receive_some()
    await stream.send_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


async def hang_up(stream: trio.SocketStream) -> None:
    """Take the first bytes and close."""
    await stream.receive_some()


# connecting and calling -------------------------------------------------------------------------


async def test_nobody_listens(autojump_clock: MockClock) -> None:
    """`connect` tries each endpoint once and names each with its reason, without waiting."""
    with pytest.raises(etcdq.NotConnectedError) as caught:
        async with etcdq.connect("127.0.0.1:1,127.0.0.1:2"):
            pass

    assert caught.value.text == (
        "cannot connect to 127.0.0.1:1: connection refused; 127.0.0.1:2: connection refused"
    )
    assert trio.current_time() < 1


async def test_second_endpoint_serves(autojump_clock: MockClock) -> None:
    """An endpoint that is down is passed over."""
    async with (
        etcdq.open_node() as node,
        etcdq.connect("127.0.0.1:1", node.endpoint) as client,
    ):
        await client.put("k", "v")

        assert client.endpoint == node.endpoint.removeprefix("http://")


async def test_no_answer(autojump_clock: MockClock) -> None:
    """A call that is not answered ends after the timeout, as a TimeoutError too."""
    async with serving(swallow) as endpoint, etcdq.connect(endpoint, timeout_s=3) as client:
        began_s = trio.current_time()
        with pytest.raises(etcdq.DeadlineExceededError):
            await client.put("k", "v")
        assert trio.current_time() - began_s == pytest.approx(3, abs=0.1)
        with pytest.raises(TimeoutError):
            await client.queue("jobs").put("x")
        with pytest.raises(etcdq.DeadlineExceededError, match="did not confirm"):
            async with client.watch("k"):
                pass


async def speak_of_the_future(stream: trio.SocketStream) -> None:
    """Send SETTINGS and a frame of a type that nobody knows, which HTTP/2 allows."""
    await stream.send_all(b"\0\0\0\4\0\0\0\0\0" + b"\0\0\1\xfa\0\0\0\0\0x")
    await swallow(stream)


@pytest.mark.parametrize("server", [speak_http1, hang_up, speak_of_the_future])
async def test_no_grpc_server(server: Serve, autojump_clock: MockClock) -> None:
    """A server of another kind, or one that hangs up, is told as a lost connection."""
    async with serving(server) as endpoint, etcdq.connect(endpoint) as client:
        with pytest.raises(etcdq.ConnectionLostError, match=endpoint) as caught:
            await client.get("k")

    assert caught.value.__cause__ is not None


async def test_lost_while_a_call_runs(autojump_clock: MockClock) -> None:
    """The caller is told, since the call may have been carried out; nothing is sent twice."""
    async with behind_proxy() as (proxy, client, direct):
        proxy.hold()
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def lose() -> None:
                await trio.testing.wait_all_tasks_blocked(0.01)
                await proxy.cut()

            with pytest.raises(etcdq.ConnectionLostError):
                await client.queue("jobs").put("x")

        assert await direct.queues() == []
        assert await client.put("k", "v") == 2


async def test_calls_wait_for_a_server_that_comes_back(autojump_clock: MockClock) -> None:
    """While nobody listens calls try again with back-off, and succeed within their timeout."""
    async with behind_proxy() as (proxy, client, _):
        await proxy.refuse()
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def come_back() -> None:
                await trio.sleep(2)
                await proxy.listen()

            assert await client.put("k", "v") == 2
        assert trio.current_time() >= 2


async def test_calls_give_up(autojump_clock: MockClock) -> None:
    """After the timeout it is certain that nothing was sent, and the error says so."""
    async with behind_proxy() as (proxy, client, direct):
        await proxy.refuse()
        began_s = trio.current_time()

        with pytest.raises(etcdq.NotConnectedError, match="connection refused"):
            await client.put("k", "v")

        assert trio.current_time() - began_s <= 5
        assert len(await direct.get("k")) == 0


# what the block lets through, and what it leaves ------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), etcdq.ClosedError("x")])
async def test_errors_of_the_body_come_out_bare(
    error: BaseException, autojump_clock: MockClock
) -> None:
    """What the body raises is raised: the same object, in no exception group."""
    async with etcdq.open_node() as node:
        with pytest.raises(type(error)) as caught:
            async with etcdq.connect(node.endpoint) as client, client.watch("k"):
                raise error

    assert caught.value is error


async def test_error_outweighs_cancellation(autojump_clock: MockClock) -> None:
    """An error raised while the surroundings are cancelled is not lost."""
    async with etcdq.open_node() as node:
        with pytest.raises(ValueError, match="mine"), trio.CancelScope() as scope:  # noqa: PT012
            async with etcdq.connect(node.endpoint):
                scope.cancel()
                raise ValueError("mine")


async def test_cancelled(autojump_clock: MockClock) -> None:
    """Cancelling a call, an iteration or everything ends at once, and what is left works on."""
    async with etcdq.open_node() as node, serving(swallow) as silent:
        with trio.move_on_after(1) as scope:
            async with etcdq.connect(node.endpoint) as client, client.watch("k") as events:
                with trio.move_on_after(0.5):
                    await anext(events)
                await client.put("k", "1")
                assert (await anext(events)).kv.value == b"1"
                await anext(events)
        assert scope.cancelled_caught
        async with etcdq.connect(silent, timeout_s=60) as client:
            with trio.move_on_after(1) as scope:
                await client.put("k", "v")
            assert scope.cancelled_caught
        assert trio.current_time() < 3


async def test_cancelled_before_it_began(autojump_clock: MockClock) -> None:
    """A block in a scope that is cancelled already never runs, and nothing hangs."""
    entered = False
    with trio.CancelScope() as scope:
        scope.cancel()
        async with etcdq.connect("127.0.0.1:1"):
            entered = True

    assert scope.cancelled_caught
    assert not entered


async def test_use_after_the_end(autojump_clock: MockClock) -> None:
    """A client that was left says so, and so does a watch."""
    async with etcdq.open_node() as node, etcdq.connect(node.endpoint) as client:
        async with client.watch("k") as events:
            pass
        with pytest.raises(etcdq.ClosedError):
            await anext(events)
        async with etcdq.connect(node.endpoint) as other:
            queue = other.queue("jobs")
        with pytest.raises(etcdq.ClosedError):
            await queue.put("x")


async def test_client_left_before_its_watch(autojump_clock: MockClock) -> None:
    """A task that outlives the client it uses gets ClosedError, wherever it waits."""
    ended: list[str] = []

    async def watch(client: etcdq.Client) -> None:
        async with client.watch("k") as events:
            try:
                await anext(events)
            except etcdq.ClosedError as error:
                ended.append(error.text)

    async def call(client: etcdq.Client) -> None:
        try:
            await client.get("k")
        except etcdq.EtcdqError as error:
            ended.append(type(error).__name__)

    async with (
        serving(swallow) as silent,
        etcdq.open_node() as node,
        trio.open_nursery() as tasks,
        etcdq.connect(node.endpoint) as client,
        etcdq.connect(silent) as dead,
    ):
        tasks.start_soon(watch, client)
        tasks.start_soon(call, dead)
        await trio.testing.wait_all_tasks_blocked(0.01)

    assert "the client was closed" in ended
    assert len(ended) == 2


async def test_clients_side_by_side(autojump_clock: MockClock) -> None:
    """Clients nest in one task and meet in others; an application's own asyncio loop stays its."""
    async with (
        etcdq.open_node() as node,
        trio_asyncio.open_loop() as own_loop,
        etcdq.connect(node.endpoint) as outer,
        etcdq.connect(node.endpoint) as inner,
    ):
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(outer.put, f"outer-{number}", "x")
                nursery.start_soon(inner.put, f"inner-{number}", "x")
        assert (await outer.get("", prefix=True)).count == 16
        assert trio_asyncio.current_loop.get() is own_loop
