"""Conversations with a beanstalk server, written down as text, and how they are replayed.

A file holds scenarios; each begins with `=== its name`, and may say for whom it is, and which
settings of the server it needs:

    === a job that is peeked stays where it is
    shows: testserv.peek_ok           (the like of which test of a reference)
    for: both                         (a beanstalkd, and ours in both dialects; that is the default)
    with: max-job-size=10
    # A comment.
    A> put 0 0 60 5                   A sends a line; who speaks first is connected first
    A> hello
    A< INSERTED 1                     A is sent exactly this line
    A> stats-job 1
    A= state: ready, age: 0           A is sent a document in which these fields are so
    A> list-tubes
    A= [default]                      A is sent exactly this list
    wait 1.5                          seconds pass; eighths of them add up exactly
    A-                                A has been sent nothing more
    A>> use a\r\nuse b\r\n            exactly these bytes, in one packet
    A> (half-close)                   also (close) and (connect)
    A< (closed)                       the server has closed the connection

One connection more, which says nothing, is there from the beginning.

`{x*200}` stands for 200 of x. A field's value may be a range: `0.1..0.2`, or `>0`. After each line
of a client everything happens that can happen before the next.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import trio

from tests.support.beanstalk_servers import CLOSED, Server
from tests.support.beanstalk_wire import entries, fields

KINDS = ("both", "tuber", "beanstalkd", "ours")
"""`tuber`, `beanstalkd`: in that dialect only. `ours`: where a beanstalkd 1.12 has a fault."""
BYTEWISE_MAX = 1_000
"""No line is sent in more pieces."""
LATE_S = 0.03
"""What a real clock is given beyond the seconds of a script."""


@dataclass
class Scenario:
    """One conversation. `settings` are of the server; `shows`: which of a reference's tests it
    is the like of."""

    file: str
    name: str
    lines: list[tuple[int, str]] = field(default_factory=list)
    kind: str = "both"
    settings: dict[str, str] = field(default_factory=dict)
    shows: list[str] = field(default_factory=list)

    @property
    def waits_s(self) -> float:
        """How long it takes."""
        return sum(float(line.split()[1]) for _, line in self.lines if line.startswith("wait "))


def scenarios(folder: Path) -> list[Scenario]:
    """Return every scenario of a folder's text files."""
    found = [scenario for path in sorted(folder.glob("*.txt")) for scenario in read(path)]
    names = [scenario.name for scenario in found]
    assert len(names) == len(set(names)), "two scenarios have one name"
    return found


def read(path: Path) -> Iterator[Scenario]:
    """Iterate over the scenarios of a file."""
    scenario: Scenario | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("=== "):
            if scenario is not None:
                yield scenario
            scenario = Scenario(path.name, line[4:])
        elif scenario is None or not line or line.startswith("#"):
            continue
        elif line.startswith("for: "):
            scenario.kind = line[5:]
            assert scenario.kind in KINDS, f"{path.name}:{number}"
        elif line.startswith("shows: "):
            scenario.shows = line[7:].split(", ")
        elif line.startswith("with: "):
            scenario.settings |= dict(pair.split("=") for pair in line[6:].split(", "))
        else:
            scenario.lines.append((number, line))
    if scenario is not None:
        yield scenario


class Replay:
    """One scenario on one server.

    Args:
        is_real: the server is a process of its own, and its seconds are everybody's.
        bytewise: every byte is sent by itself.
    """

    def __init__(
        self, server: Server, scenario: Scenario, *, is_real: bool = False, bytewise: bool = False
    ) -> None:
        self._server = server
        self._scenario = scenario
        self._late_s = LATE_S if is_real else 0.0
        self._bytewise = bytewise
        self._at = ""

    async def run(self) -> None:
        """Play it.

        Raises:
            AssertionError: the server says something else; the text is the place in the file.
        """
        for number, line in self._scenario.lines:
            self._at = f"{self._scenario.file}:{number}: {line}"
            match = re.fullmatch(r"(?:wait ([0-9.]+)|([A-Z])(>>|[>=<-]) ?(.*))", line)
            assert match, f"{self._at}: what does this mean?"
            if match[1]:
                await trio.sleep(float(match[1]) + self._late_s)
                await self._server.settle()
            else:
                await self._line(match[2], match[3], expand(match[4]))

    async def _line(self, who: str, sign: str, text: str) -> None:
        server = self._server
        if sign in (">", ">>"):
            await self._say(who, sign, text)
            await server.settle()
        elif sign == "<" and text == CLOSED.decode():
            inbox = server.inboxes[who]
            self._expect(inbox.closed and not inbox.unread, inbox.unread)
            await server.close(who)
        elif sign == "<":
            line = server.inboxes[who].take_line()
            self._expect(line == text.encode("latin-1"), line)
        elif sign == "-":
            inbox = server.inboxes[who]
            self._expect(not inbox.unread and not inbox.closed, inbox.unread or CLOSED)
        else:
            reply = server.inboxes[who].take_reply()
            self._expect(reply is not None and reply.startswith(b"OK "), reply)
            assert reply is not None
            self._document(reply, text)

    async def _say(self, who: str, sign: str, text: str) -> None:
        server = self._server
        if who not in server.inboxes:
            await server.connect(who)
        if sign == ">" and text == "(connect)":
            return
        if sign == ">" and text == "(half-close)":
            await server.half_close(who)
        elif sign == ">" and text == "(close)":
            await server.close(who)
        else:
            data = text.encode("latin-1") + b"\r\n" if sign == ">" else unescaped(text)
            size = 1 + len(data) // BYTEWISE_MAX if self._bytewise else len(data)
            for begin in range(0, len(data), size):
                await server.send(who, data[begin : begin + size])
                if self._bytewise:
                    await server.settle()

    def _document(self, reply: bytes, text: str) -> None:
        if text.startswith("["):
            self._expect(entries(reply) == [one for one in text[1:-1].split(", ") if one], reply)
            return
        found = fields(reply)
        for pair in text.split(", "):
            name, value = pair.split(": ", 1) if ": " in pair else (pair.rstrip(":"), "")
            self._expect(name in found and matches(found[name], value), reply)

    def _expect(self, is_so: bool, said: bytes | None) -> None:
        shown = "nothing" if said is None else said.decode("latin-1")
        assert is_so, f"{self._at}\nthe server said: {shown}"


def expand(text: str) -> str:
    """Return text with `{x*200}` written out."""
    return re.sub(r"\{([^{}]+)\*(\d+)\}", lambda match: match[1] * int(match[2]), text)


def unescaped(text: str) -> bytes:
    r"""Return the bytes that \r, \n, \0, \xff in a text stand for."""
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def matches(value: str, wanted: str) -> bool:
    """Return whether a field's value is what a scenario wants."""
    if wanted.startswith(">"):
        return float(value) > float(wanted[1:])
    low, dots, high = wanted.partition("..")
    if dots:
        return float(low) <= float(value) <= float(high)
    return value == wanted
