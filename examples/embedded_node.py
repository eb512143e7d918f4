"""A node inside one's own program: no server to start, and any etcd v3 client can join.

python examples/embedded_node.py
"""

import trio

import etcdq


async def main() -> None:
    """Open a node on a free port, and use it as a queue and as a key-value store."""
    async with etcdq.open_node(name="embedded") as node, etcdq.connect(node.endpoint) as client:
        print(f"also for others: etcdctl --endpoints {node.endpoint} put /q/jobs/p/job-1 payload")

        async with client.watch("config/", prefix=True) as changes:
            await client.put("config/colour", "blue")
            change = await anext(changes)
            print(f"changed: {change.kv.key.decode()} = {change.kv.value.decode()}")

        queue = client.queue("jobs")
        await queue.put_many(["first", "second"])
        async with queue.consume() as messages:
            first, second = await anext(messages), await anext(messages)
            print(f"acknowledged {first.body.decode()}: {await first.ack()}")

        # The consumer has left without acknowledging the second: that one is buried, not lost.
        print(f"buried: {(await queue.statistics()).summary.buried}")
        print(f"kicked: {await queue.kick(bound=1)}")
        print(f"waiting: {[job.body.decode() for job in await queue.peek()]}")
        print(f"too late for {second.body.decode()}: {await second.ack()}")


if __name__ == "__main__":
    trio.run(main)
