"""What a beanstalk server sends, cut into lines and into replies. No I/O."""

WITH_BODY = (b"RESERVED ", b"FOUND ", b"OK ")


class Inbox:
    """Bytes that came on one connection and nobody looked at yet."""

    def __init__(self) -> None:
        self.unread = b""
        self.closed = False
        """Whether the server closed the connection."""

    def feed(self, data: bytes) -> None:
        """Take bytes of the server; none means that it closed the connection."""
        self.unread += data
        self.closed = self.closed or not data

    def take_line(self) -> bytes | None:
        """Return the next line without its end, None while there is no whole one."""
        line, end, rest = self.unread.partition(b"\r\n")
        if not end:
            return None
        self.unread = rest
        return line

    def take_reply(self) -> bytes | None:
        """Return the next reply with its body, ends and all, None while there is no whole one."""
        end = self.unread.find(b"\r\n") + 2
        if end < 2:
            return None
        if self.unread.startswith(WITH_BODY):
            end += int(self.unread[:end].split()[-1]) + 2
            if len(self.unread) < end:
                return None
        reply, self.unread = self.unread[:end], self.unread[end:]
        return reply


def fields(document: bytes) -> dict[str, str]:
    """Return the fields of an `OK` reply's document, quotes around values left out."""
    lines = document.decode().splitlines()[2:-1]
    pairs = (line.split(": ", 1) for line in lines)
    return {key: value.strip('"') for key, value in pairs}


def entries(document: bytes) -> list[str]:
    """Return the entries of an `OK` reply's list."""
    return [line.removeprefix("- ") for line in document.decode().splitlines()[2:-1]]
