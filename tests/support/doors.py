"""A beanstalk client beside the etcd clients of a world, on the same node."""

import contextlib
import re

import trio
import trio.testing

from etcdq.server.beanstalk.shell import serve_connection
from tests.support.trio_world import TrioWorld
from tests.support.world import World

CRLF = "\r\n"


class Beanstalk:
    """One connection. What a command is answered must be there at once."""

    def __init__(self, world: TrioWorld, stream: trio.abc.Stream) -> None:
        self._world = world
        self._stream = stream
        self._received = b""

    async def run(self) -> None:
        """Read until either side closes."""
        with contextlib.suppress(trio.ClosedResourceError):
            while data := await self._stream.receive_some(65_536):
                self._received += bytes(data)

    async def say(self, *lines: str | bytes) -> str:
        """Send lines; return what has come since the last time, without its last line end."""
        data = b"".join(
            (line.encode() if isinstance(line, str) else line) + b"\r\n" for line in lines
        )
        await self._stream.send_all(data)
        return await self.heard()

    async def heard(self) -> str:
        """Return what has come since the last time, without its last line end."""
        await self._world.settle()
        data, self._received = self._received, b""
        return data.decode().removesuffix(CRLF)

    async def put(self, body: str | bytes, head: str = "0 0 60", tags: str = "") -> str:
        """Put a job. `head`: priority, delay and TTR."""
        return await self.say(f"put {head} {len(body)}{tags and ' ' + tags}", body)

    async def stats(self, command: str) -> dict[str, str]:
        """Ask for a document of fields; return them as they are written."""
        reply = await self.say(command)
        assert reply.startswith("OK "), reply
        return dict(re.findall("^([a-z0-9-]+): (.*)$", reply, re.MULTILINE))

    async def names(self, command: str) -> list[str]:
        """Ask for a list of tubes."""
        reply = await self.say(command)
        assert reply.startswith("OK "), reply
        return re.findall("^- (.*)$", reply, re.MULTILINE)

    async def close(self) -> None:
        """Close the connection."""
        await self._stream.aclose()
        await self._world.settle()


async def beanstalk(world: World, *first: str) -> Beanstalk:
    """Open a connection to the beanstalk door of a world's node; say `first` on it.

    Args:
        world: the one with memory streams.
        first: lines whose answers do not matter, such as `use` and `watch`.
    """
    assert isinstance(world, TrioWorld)
    ours, theirs = trio.testing.memory_stream_pair()

    async def serve() -> None:
        await serve_connection(theirs, world.node.beanstalk, drain=world.drain, log=world.log)

    world.nursery.start_soon(serve)
    client = Beanstalk(world, ours)
    world.nursery.start_soon(client.run)
    await world.settle()
    for line in first:
        await client.say(line)
    return client
