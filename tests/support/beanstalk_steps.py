"""Random sessions of several beanstalk connections: the steps, before anything is known of jobs.

A step may speak of jobs that only the session itself will bring about: `{held}` is one that the
speaker holds then, `{other}` one that another connection holds, `{any}` any that was ever put,
`{next}` one that was not. `pick` decides which. So a session stays one when steps are left out.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

URGENT = 1024
LARGEST = 2**32 - 1
LONG_NAME = "long-" + "n" * 195
LAST = ("stats",)
"""How commands begin with which a packet ends, whole: `stats` counts what has come by then."""
TUBES = ("default", "a", "b.c/d;$e(f)+_", LONG_NAME)


@dataclass(frozen=True)
class Command:
    """One command line with its body. `replies`: how many it is answered with. `instead`: the line
    that is sent instead where this one may not wait."""

    line: str
    body: bytes | None = None
    replies: int = 1
    instead: str = ""

    @property
    def may_wait(self) -> bool:
        """Whether it may be answered later."""
        if self.line == "reserve":
            return True
        word, _, seconds = self.line.partition(" ")
        return word == "reserve-with-timeout" and seconds.strip() not in ("", "0")

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return len(self.data())

    def data(self) -> bytes:
        """Return it as it is sent."""
        return self.line.encode("latin-1") + b"\r\n" + (b"" if self.body is None else self.body)


@dataclass(frozen=True)
class Step:
    """What one connection does at `at_s` of the session: one packet of commands, or an end.

    Args:
        who: the connection.
        does: "connect", "send", "half-close" or "close".
        commands: what it sends in one packet.
        pick: decides which jobs are meant.
        cut: how many of the packet's bytes come with the connection's next packet only.
        pieces: 1, or in how many pieces it is sent; 0: every byte by itself.
    """

    who: str
    does: str = "send"
    commands: tuple[Command, ...] = ()
    pick: int = 0
    cut: int = 0
    pieces: int = 1
    at_s: float = 0.0

    @property
    def size(self) -> int:
        """About how many bytes it sends."""
        return sum(command.size for command in self.commands)


Kinds = dict[Callable[[], Command], int]
"""What makes a command, and how often it is to do so."""


@dataclass
class Mixture:
    """What sessions are mixed of: how often each kind of command comes, and its numbers."""

    rng: random.Random
    tubes: tuple[str, ...]
    kinds: Kinds = field(default_factory=dict)

    def command(self) -> Command:
        """Return any command."""
        return self.rng.choices(list(self.kinds), list(self.kinds.values()))[0]()

    def tube(self) -> str:
        """Return any tube's name."""
        return self.rng.choice(self.tubes)

    def job(self, *likely: str) -> str:
        """Return a reference to a job: nearly always one of the likely kinds."""
        if self.rng.random() < 0.1:
            return self.rng.choice(["{held}", "{other}", "{any}", "{next}"])
        return self.rng.choice(likely)

    def priority(self) -> int:
        """Return a priority; few, so that jobs share them, and around what is urgent."""
        return self.rng.choice([0, 1, 5, 5, 10, URGENT - 1, URGENT, URGENT + 1, LARGEST])


def body(rng: random.Random) -> bytes:
    """Return any body that is not too big, without the line end after it."""
    kind = rng.random()
    if kind < 0.1:
        return b""
    if kind < 0.2:
        return rng.choice([b"\r\n", b"a\r\nb", b"delete 1\r\n", b"\0\xff\r", b"OK 3\r\n"])
    if kind < 0.23:
        return rng.randbytes(rng.choice([1_000, 30_000, 65_535]))
    return rng.randbytes(rng.randrange(1, 20)).hex().encode()


def put(rng: random.Random, priority: int, delay_s: int, ttr_s: int) -> Command:
    """Return a put; now and then one that is refused for its body."""
    kind, content = rng.random(), body(rng)
    if kind < 0.02:
        size = rng.choice([65_536, 65_537, 70_000])
        return Command(f"put {priority} {delay_s} {ttr_s} {size}", b"x" * (size + 2))
    line = f"put {priority} {delay_s} {ttr_s} {len(content)}"
    if kind < 0.04:
        return Command(line, content + b"xy")
    if kind < 0.06:
        # Two bytes too many: the next line is empty.
        return Command(line, content + b"xy\r\n", replies=2)
    return Command(line, content + b"\r\n")
