"""What to say to a server for one purpose: commands out, replies in, without I/O.

A talk is a generator: it yields commands that go out together, and is sent their replies. The
blocking client and the producer on Trio are two ways of carrying one out.
"""

from collections.abc import Collection, Generator, Sequence
from typing import Final, TypeVar

from etcdq.beanstalk import documents
from etcdq.beanstalk.answers import TAGS_PROBE, expect, expect_tags
from etcdq.beanstalk.commands import TAGS, PutOptions, line, name, whole
from etcdq.beanstalk.records import Job, Statistics
from etcdq.beanstalk.replies import Reply

T = TypeVar("T")
Talk = Generator[Sequence[bytes], Sequence[Reply], T]

DEFAULT_TUBE: Final = "default"
TOGETHER_MAX: Final = 100
"""Commands that go out together. Replies to more might fill what lies between before they are
read by who still writes."""


class Standing:
    """What a server holds of one connection."""

    __slots__ = ("knows_tags", "used", "watched")

    def __init__(self) -> None:
        self.used: str | None = DEFAULT_TUBE  # None while a `use` is on its way
        self.watched = {DEFAULT_TUBE}
        self.knows_tags = False


def ask(command: bytes, word: str) -> Talk[Reply]:
    """Say one command.

    Raises:
        EtcdqError: the reply is not this word.
    """
    (reply,) = yield [command]
    return expect(reply, word, command)


def make_way(standing: Standing, tube: str, options: PutOptions) -> Talk[None]:
    """Make the connection one on which a put goes to this tube, and its tags are understood.

    The put is not sent along with it: were the `use` refused, it would go to another tube.

    Raises:
        UnsupportedError: the options have a tag, and the server knows none.
    """
    if not standing.knows_tags and options.keys() & TAGS:
        (reply,) = yield [TAGS_PROBE]
        expect_tags(reply)
        standing.knows_tags = True
    yield from use(standing, tube)


def use(standing: Standing, tube: str) -> Talk[None]:
    """Use a tube, if it is not the one that is used."""
    if standing.used != tube:
        standing.used = None
        yield from ask(line("use", name(tube)), "USING")
        standing.used = tube


def reserve(standing: Standing, tubes: Collection[str], timeout_s: int) -> Talk[Job]:
    """Reserve a job of these tubes, and of no other.

    Args:
        standing: of the connection.
        tubes: one at least.
        timeout_s: how long the server waits for a job, in whole seconds.
    """
    for tube in [tube for tube in tubes if tube not in standing.watched]:
        yield from ask(line("watch", name(tube)), "WATCHING")
        standing.watched.add(tube)
    for tube in standing.watched.difference(tubes):
        yield from ask(line("ignore", tube), "WATCHING")
        standing.watched.remove(tube)
    command = line("reserve-with-timeout", whole(timeout_s, "timeout"))
    return (yield from ask(command, "RESERVED")).jobs[0]


def stats(command: bytes, texts: frozenset[str]) -> Talk[Statistics]:
    """Ask for statistics, of which `texts` are no numbers."""
    return documents.read_statistics((yield from ask(command, "OK")).body, texts)


def list_tubes() -> Talk[list[str]]:
    """Ask for the names of all tubes."""
    return documents.read_names((yield from ask(b"list-tubes\r\n", "OK")).body)


def stats_tubes() -> Talk[dict[str, Statistics]]:
    """Ask for the statistics of all tubes; one that just ended is left out."""
    tubes = sorted((yield from list_tubes()))
    replies: list[Reply] = []
    for start in range(0, len(tubes), TOGETHER_MAX):
        group = tubes[start : start + TOGETHER_MAX]
        replies += yield [line("stats-tube", tube) for tube in group]
    return {
        tube: documents.read_statistics(reply.body, documents.TUBE_TEXTS)
        for tube, reply in zip(tubes, replies, strict=True)
        if reply.word == "OK"
    }
