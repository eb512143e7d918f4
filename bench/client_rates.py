"""The client library's own rates: `python -m bench.client_rates HOST:PORT`.

A figure is calls or messages a second. What limits them is the client's Python (grpclib and
protobuf), not the server: see the lean loads for that.
"""

import sys
import time
from collections.abc import Awaitable, Callable

import trio

import etcdq

SECONDS = 2.0
TASKS = 64
MESSAGES = 2_000
BODY = b"x" * 100


def run(endpoint: str, seconds: float = SECONDS, messages: int = MESSAGES) -> dict[str, float]:
    """Measure against one server; a plain etcd has no queues to consume from.

    Args:
        seconds: of each rate of calls.
        messages: of each rate of messages.

    Returns:
        Rates by name: `put-1`, `put-64` (ordinary key, betterproto), `queue-put-1`,
        `queue-put-64`, `queue-put-many`, and `consume-ack-1`, `consume-ack-64`.
    """
    return trio.run(_measure, endpoint, seconds, messages)


async def _measure(endpoint: str, seconds: float, messages: int) -> dict[str, float]:
    figures: dict[str, float] = {}
    async with etcdq.connect(endpoint, timeout_s=30) as client:
        queue = client.queue("client-rates")
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "put": lambda: client.put("client-rates", BODY),
            "queue-put": lambda: queue.put(BODY, "key"),
        }
        for name, call in calls.items():
            for tasks in (1, TASKS):
                figures[f"{name}-{tasks}"] = await _calls_per_s(call, tasks, seconds)
        began_s = time.perf_counter()
        await queue.put_many([BODY] * messages)
        figures["queue-put-many"] = messages / (time.perf_counter() - began_s)
        try:
            await queue.purge()
        except etcdq.UnsupportedError:
            await client.delete("/q/client-rates/", prefix=True)
            return figures
        for tasks in (1, TASKS):
            figures[f"consume-ack-{tasks}"] = await _messages_per_s(queue, tasks, messages)
        await queue.purge()
    return figures


async def _calls_per_s(call: Callable[[], Awaitable[object]], tasks: int, seconds: float) -> float:
    count = 0
    end_s = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal count
        while time.perf_counter() < end_s:
            await call()
            count += 1

    async with trio.open_nursery() as nursery:
        for _ in range(tasks):
            nursery.start_soon(work)
    return count / seconds


async def _messages_per_s(queue: etcdq.Queue, tasks: int, count: int) -> float:
    await queue.put_many([BODY] * count)
    left = count
    began_s = time.perf_counter()

    async def work(messages: etcdq.Messages) -> None:
        nonlocal left
        async for message in messages:
            assert await message.ack()
            left -= 1
            if left == 0:
                nursery.cancel_scope.cancel()

    async with queue.consume() as messages, trio.open_nursery() as nursery:
        for _ in range(tasks):
            nursery.start_soon(work, messages)
    return count / (time.perf_counter() - began_s)


def main() -> None:
    """Print a line for each rate."""
    for name, value in run(sys.argv[1]).items():
        print(f"{name:16}{value:10,.0f} /s")


if __name__ == "__main__":
    main()
