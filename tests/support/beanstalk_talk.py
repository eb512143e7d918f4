"""A client that asks one thing after the other, for tests that count or choose."""

from tests.support.beanstalk_servers import Server


class Talk:
    """A connection to a server, by name."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._name = name

    async def say(self, *lines: str) -> None:
        """Send lines in one packet."""
        if self._name not in self._server.inboxes:
            await self._server.connect(self._name)
        data = b"".join(line.encode("latin-1") + b"\r\n" for line in lines)
        await self._server.send(self._name, data)
        await self._server.settle()

    def heard(self) -> list[str]:
        """Return the replies that have come since the last time, ends of lines left out."""
        inbox = self._server.inboxes[self._name]
        return [reply.decode("latin-1").rstrip() for reply in iter(inbox.take_reply, None)]

    async def ask(self, *lines: str) -> list[str]:
        """Send lines in one packet, and return the replies."""
        await self.say(*lines)
        return self.heard()

    async def leave(self) -> None:
        """Close the connection."""
        await self._server.close(self._name)
