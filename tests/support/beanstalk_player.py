"""Plays one session on two servers and compares what each step is answered, byte for byte."""

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import ndiff
from itertools import zip_longest
from math import ceil

import trio

from tests.support.beanstalk_differs import normal
from tests.support.beanstalk_servers import CLOSED, Heard, Server
from tests.support.beanstalk_steps import LAST, Command, Step

LATE_S = 0.09
"""How late a step may be before a session of several seconds says nothing: what time brings about
may be near."""
WITHOUT_WAITS_S = 0.8
"""The same for one without waits: an age of a second may be near."""

NUDGES_S = (0.05, 0.1, 0.15)
"""So long after something may be due servers are nudged: it may have been late, and so may be what
came of it."""

UNREAD_BYTES = 2_000
"""Who waits is not read: what it is sent must fit its socket."""
SHOWN_BYTES = 300
SPLIT_BYTES = 100
"""No packet of more bytes is sent byte by byte: it takes too long."""


PATIENCE = 20
"""How often we ask once more before a difference is one."""


_DELAYS = re.compile(r"(put \d+ |release \S+ \d+ )[1-9]\d*")
"""A put or a release with a delay."""


class LateError(Exception):
    """The machine was too busy for this session: play it again."""


@dataclass
class Known:
    """What the reference's replies tell of jobs and connections."""

    jobs: list[int] = field(default_factory=list)
    held: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    watching: dict[str, list[str]] = field(default_factory=dict)
    asked: dict[str, deque[Command]] = field(default_factory=dict)
    """Commands that are not answered yet."""

    def waits(self, who: str) -> bool:
        """Whether a reserve of this connection waits."""
        return bool(self.asked[who]) and self.asked[who][0].may_wait

    @property
    def any_waits(self) -> bool:
        """Whether a reserve of any connection waits."""
        return any(self.waits(who) for who in self.asked)

    def is_waited_for(self, who: str) -> bool:
        """Whether a job that this connection would get may go to one that waits already."""
        watched = set(self.watching[who])
        return any(self.waits(name) and watched & set(self.watching[name]) for name in self.asked)

    def mean(self, kind: str, who: str, pick: int) -> int:
        """Return the id that a reference means; if there is none such, any."""
        others = [job for name, jobs in self.held.items() if name != who for job in jobs]
        likely = {"held": self.held[who], "other": others, "any": self.jobs, "next": []}[kind]
        if kind == "next" or not self.jobs:
            return max(self.jobs, default=0) + 1 + pick % 3
        among = likely or self.jobs
        return among[pick % len(among)]

    def begin(self, who: str) -> None:
        """A connection is opened."""
        self.watching[who], self.asked[who] = ["default"], deque()
        self.held[who] = []

    def hear(self, who: str, reply: bytes) -> None:
        """Take one reply."""
        if reply == CLOSED:
            self.end(who)
            return
        words = reply.split(b"\r\n", 1)[0].split()
        command = self._answered(who)
        if words[0] == b"INSERTED":
            self.jobs.append(int(words[1]))
        elif words[0] == b"RESERVED":
            for name in self.held:
                self._let_go(name, int(words[1]))
            self.held[who].append(int(words[1]))
        elif words[0] == b"WATCHING":
            self._watch(who, command)
        elif words[0] in (b"DELETED", b"RELEASED", b"BURIED"):
            self._let_go(who, int(command.split()[1]))

    def _answered(self, who: str) -> str:
        asked = self.asked[who]
        if not asked:
            return ""
        if asked[0].replies > 1:
            asked[0] = Command(asked[0].line, replies=asked[0].replies - 1)
            return ""
        return asked.popleft().line

    def _watch(self, who: str, command: str) -> None:
        word, tube = command.split()
        if word == "watch" and tube not in self.watching[who]:
            self.watching[who].append(tube)
        if word == "ignore" and tube in self.watching[who]:
            self.watching[who].remove(tube)

    def _let_go(self, who: str, job: int) -> None:
        if job in self.held[who]:
            self.held[who].remove(job)

    def end(self, who: str) -> None:
        """A connection is over."""
        del self.watching[who], self.asked[who], self.held[who]


class Difference(AssertionError):
    """Two servers answered differently; the text is the transcript up to there."""


class Play:
    """One session on two servers.

    Args:
        reference: the server whose answers are right, and tell what jobs there are.
        other: the server that should answer the same.
    """

    def __init__(self, reference: Server, other: Server) -> None:
        self.reference = reference
        self.other = other
        self.transcript: list[str] = []
        self.replies = 0
        """How many were compared."""
        self._known = Known()
        self._unsent: dict[str, bytes] = {}
        self._theirs: Heard = defaultdict(list)
        self._ours: Heard = defaultdict(list)

    async def play(self, steps: Sequence[Step]) -> None:
        """Play all steps.

        Raises:
            Difference: they answered differently.
            LateError: this machine was too slow for the comparison to mean anything.
        """
        start_s = trio.current_time()
        moments = {step.at_s for step in steps}
        late_s = LATE_S if len(moments) > 1 else WITHOUT_WAITS_S
        at_s = 0.0
        for step in steps:
            if step.at_s > at_s:
                await self._let_pass(start_s, at_s, step.at_s, moments)
                at_s = step.at_s
                await self._listen()
            if self._can(step):
                await self._do(step)
            await self._listen()
            if trio.current_time() > start_s + at_s + late_s:
                raise LateError
            await self._compare()

    async def _let_pass(
        self, start_s: float, from_s: float, to_s: float, moments: set[float]
    ) -> None:
        # Whole seconds after a moment something may come about.
        due = {moment + seconds for moment in moments for seconds in range(ceil(to_s) + 1)}
        nudges = {at_s + later_s for at_s in due for later_s in NUDGES_S}
        for at_s in sorted(at_s for at_s in nudges if from_s < at_s < to_s):
            await trio.sleep_until(start_s + at_s)
            await self._listen()
            idle = [name for name in self._known.asked if not self._known.waits(name)]
            for server in (self.reference, self.other):
                await server.nudge(idle)
        await trio.sleep_until(start_s + to_s)

    def _can(self, step: Step) -> bool:
        known = self._known
        who = step.who
        if step.does == "connect":
            return who not in known.asked
        if who not in known.asked:
            return False
        if step.does == "send" and known.waits(who):
            # Who waits is not read: what it is sent must fit its socket.
            ended = any(command.line.startswith(LAST) for command in known.asked[who])
            return step.size < UNREAD_BYTES and not ended and not step.at_s
        if step.does == "send":
            return True
        if len(known.held[who]) > 1 and known.any_waits:
            return False
        return step.does == "half-close" or len(known.asked[who]) < 2

    async def _do(self, step: Step) -> None:
        who = step.who
        if step.does == "connect":
            self._known.begin(who)
            self.transcript.append(f"{who}> (connect)")
            for server in (self.reference, self.other):
                await server.connect(who)
        elif step.does == "send":
            await self._send(step)
        else:
            self.transcript.append(f"{who}> ({step.does})")
            for server in (self.reference, self.other):
                await (server.close if step.does == "close" else server.half_close)(who)
            self._unsent.pop(who, None)
            if step.does == "close":
                self._known.end(who)

    async def _send(self, step: Step) -> None:
        known, who = self._known, step.who
        commands = [self._meant(step, place) for place in range(len(step.commands))]
        packet = [command.data() for command in commands]
        rest = self._unsent.pop(who, b"")
        if step.cut:
            self._unsent[who] = packet[-1][-step.cut :]
            packet[-1] = packet[-1][: -step.cut]
        if known.waits(who) or not known.any_waits:
            packet = pieces(b"".join(packet), 1 if known.waits(who) else step.pieces)
        known.asked[who].extend(command for command in commands if command.replies)
        self.transcript += [f"{who}> {shown(command.data())}" for command in commands]
        if step.cut:
            self.transcript.append(f"   (of which the last {step.cut} bytes come later)")
        for number, piece in enumerate([rest, *packet] if rest else packet):
            for server in (self.reference, self.other):
                if number:
                    await server.settle()
                await server.send(who, piece)

    def _meant(self, step: Step, place: int) -> Command:
        """Return a command with the jobs that it means, or another one (see `KEPT_AWAY`)."""
        known, who, command = self._known, step.who, step.commands[place]
        line = re.sub(
            r"\{(\w+)\}", lambda match: str(known.mean(match[1], who, step.pick)), command.line
        )
        if command.may_wait and known.is_waited_for(who):
            line = command.instead
        if any(_DELAYS.match(each.line) for each in step.commands[:place]):
            line = _DELAYS.sub(r"\g<1>0", line)
        if line.startswith("kick ") and known.any_waits:
            line = "kick 1"
        if line.startswith("quit") and known.any_waits and len(known.held[who]) > 1:
            return Command("list-tube-used")
        if line == "stats":
            before = (*known.asked[who], *step.commands)
            if any(each.may_wait for each in before) or any(
                len(asked) > 1 for asked in known.asked.values()
            ):
                line = "list-tubes"
        return Command(line, command.body, command.replies)

    async def _listen(self) -> None:
        for who, replies in (await self.reference.heard()).items():
            for reply in replies:
                self._known.hear(who, reply)
                if reply == CLOSED:
                    self._unsent.pop(who, None)
                self._theirs[who].append(reply)
                self.transcript.append(f"{who}< {shown(reply)}")
        for who, replies in (await self.other.heard()).items():
            self._ours[who] += replies

    async def _compare(self) -> None:
        # Who was held back by a reserve reads on when that is answered, maybe behind our question.
        for _ in range(PATIENCE):
            if _normal(self._theirs) == _normal(self._ours):
                break
            await self._listen()
        if _normal(self._theirs) != _normal(self._ours):
            said = [f"{who}< {shown(reply)}" for who in self._ours for reply in self._ours[who]]
            self.transcript += ["the other server, instead of what came last:", *said]
            raise Difference("\n".join([*self.transcript, *self._first_difference()]))
        self.replies += sum(map(len, self._theirs.values()))
        self._theirs.clear()
        self._ours.clear()

    def _first_difference(self) -> list[str]:
        for who in sorted({*self._theirs, *self._ours}):
            for theirs, ours in zip_longest(self._theirs[who], self._ours[who], fillvalue=b""):
                one, two = (normal(r).decode("latin-1").split("\n") for r in (theirs, ours))
                if one != two:
                    return [line for line in ndiff(one, two) if line[0] in "-+"]
        return []


def _normal(heard: Heard) -> Heard:
    return {who: [normal(reply) for reply in replies] for who, replies in heard.items() if replies}


def pieces(data: bytes, count: int) -> list[bytes]:
    """Cut data into so many pieces of about the same size; 0: into single bytes, if it is short."""
    count = count or (len(data) if len(data) <= SPLIT_BYTES else 1)
    size = len(data) // max(1, count) + 1 if count < len(data) else 1
    return [data[begin : begin + size] for begin in range(0, len(data), size)]


def shown(data: bytes) -> str:
    """Return bytes as a transcript shows them: ends of lines of documents as bars."""
    text = data[:SHOWN_BYTES].decode("latin-1")
    text = text.removesuffix("\r\n").replace("\r\n", "\\r\\n").replace("\n", " | ")
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return text if len(data) <= SHOWN_BYTES else f"{text}... ({len(data)} bytes)"
