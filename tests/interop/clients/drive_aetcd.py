"""Drives aetcd (on grpcio's asyncio), pinging as its tests mean to. Runs in its environment."""

import asyncio
import sys

import aetcd
from script import say, talk

PINGS = {
    "grpc.keepalive_time_ms": 6000,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.http2.max_pings_without_data": 0,
}


class Script:
    """What `script.talk` asks for, in this client's words."""

    def __init__(self, host, port):
        self.open = lambda: aetcd.Client(host=host, port=int(port), options=PINGS)

    async def keys(self):
        async with self.open() as client:
            watch = await client.watch(b"k")
            await self.get(client)
            for value in (b"one", b"two"):
                await client.put(b"k", value)
                await self.get(client)
            say("delete", await client.delete(b"k") is not None)
            say("delete", await client.delete(b"k") is not None)
            seen = 0
            async for event in watch:
                say("event", event.kind, event.kv.key, event.kv.value)
                seen += 1
                if seen == 3:
                    break
            await watch.cancel()

    async def get(self, client):
        found = await client.get(b"k")
        say("get", found and found.value)

    async def produce(self, queue, count):
        async with self.open() as client:
            for number in range(int(count)):
                body = f"body-{number}".encode()
                await client.put(f"/q/{queue}/p/job-{number}".encode(), body)
        say("produced", count)

    async def consume(self, key, count, hold):
        async with self.open() as client:
            watch = await client.watch(key.encode())
            say("watching")
            left = int(count)
            async for event in watch:
                say("got", event.kv.key, event.kv.value)
                if hold != "hold":
                    await client.delete(event.kv.key)
                left -= 1
                if not left:
                    break
            say("done")
            if hold == "hold":
                await asyncio.Event().wait()
            await watch.cancel()

    async def acknowledge(self, key):
        async with self.open() as client:
            say("delete", await client.delete(key.encode()) is not None)


talk(Script, sys.argv[1:])
