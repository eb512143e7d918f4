"""Drives etcd-client-py: the Rust client (tonic, hyper) behind a Python face, in its environment.

Its `delete` does not say how many keys there were: `get` before it does.
"""

import asyncio
import sys

from etcd_client import Client, CondVar
from script import say, talk


class Script:
    """What `script.talk` asks for, in this client's words."""

    def __init__(self, host, port):
        self.open = lambda: Client([f"http://{host}:{port}"]).connect()

    async def keys(self):
        async with self.open() as client:
            ready = CondVar()
            watch = asyncio.create_task(self.watch_keys(client, ready))
            await ready.wait()
            await self.get(client)
            for value in (b"one", b"two"):
                await client.put(b"k", value)
                await self.get(client)
            await self.delete(client, b"k")
            await self.delete(client, b"k")
            await watch
            for line in self.seen:
                say(*line)

    async def watch_keys(self, client, ready):
        self.seen = lines = []
        async for event in client.watch(b"k", ready_event=ready):
            lines.append(("event", str(event.event)[15:], bytes(event.key), bytes(event.value)))
            if len(lines) == 3:
                break

    async def get(self, client):
        found = await client.get(b"k")
        say("get", found if found is None else bytes(found))

    async def delete(self, client, key):
        there = await client.get(key) is not None
        await client.delete(key)
        say("delete", there)

    async def produce(self, queue, count):
        async with self.open() as client:
            for number in range(int(count)):
                body = f"body-{number}".encode()
                await client.put(f"/q/{queue}/p/job-{number}".encode(), body)
        say("produced", count)

    async def consume(self, key, count, hold):
        # The example of the queue's first users: watch; for each event handle it, delete its key.
        async with self.open() as client:
            events = client.watch(key.encode())
            say("watching")
            left = int(count)
            async for event in events:
                say("got", bytes(event.key), bytes(event.value))
                if hold != "hold":
                    await client.delete(bytes(event.key))
                left -= 1
                if not left:
                    break
            say("done")
            if hold == "hold":
                await asyncio.Event().wait()

    async def acknowledge(self, key):
        async with self.open() as client:
            await self.delete(client, key.encode())


talk(Script, sys.argv[1:])
