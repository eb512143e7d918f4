"""Produce into a queue and consume from it, against a running node (`etcdq serve`).

    python examples/produce_and_consume.py [ENDPOINT]

Two workers share one consumer; each acknowledges what it has done. Without ENDPOINT it is that of
the environment variable ETCDQ_ENDPOINTS, or 127.0.0.1:2379.
"""

import sys

import trio

import etcdq

MESSAGES = 10


async def produce(queue: etcdq.Queue) -> None:
    """Put some messages, the last one under a key of its own."""
    for number in range(1, MESSAGES):
        await queue.put(f"message {number}")
    await queue.put("the last message", key="last")


async def work(name: str, messages: etcdq.Messages, done: trio.CancelScope) -> None:
    """Take messages until the last one has come."""
    async for message in messages:
        print(f"{name}: {message.body.decode()}")
        if not await message.ack():
            print(f"{name}: somebody else has acknowledged {message.key.decode()}")
        if message.key == b"last":
            done.cancel()


async def main() -> None:
    """Connect, consume and produce; leaving the blocks ends everything."""
    async with etcdq.connect(*sys.argv[1:]) as client:
        queue = client.queue("example")
        async with queue.consume() as messages, trio.open_nursery() as nursery:
            nursery.start_soon(work, "worker 1", messages, nursery.cancel_scope)
            nursery.start_soon(work, "worker 2", messages, nursery.cancel_scope)
            nursery.start_soon(produce, queue)
        counts = (await queue.statistics()).summary
        print(f"left in the queue: {counts.ready + counts.reserved + counts.buried}")


if __name__ == "__main__":
    trio.run(main)
