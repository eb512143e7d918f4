"""Odd lines and odd bytes, to a real beanstalkd and to our parser: what ours refuses, and only
that, the real one refuses, in the same words at the same place."""

import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk.parser import Parser, Received
from tests.support.beanstalk_lines import SESSIONS, SINGLE_LINES
from tests.support.beanstalk_peer import run_beanstalkd

RANDOM_SESSIONS = 300
TIMEOUT_S = 10.0

DOCUMENT = re.compile(rb"(?:OK|(?:FOUND|RESERVED) \d+) (\d+)\r\n")
NOT_FOUND = rb"NOT_FOUND\r\n"
ANSWERS = {
    "put": rb"INSERTED \d+\r\n",
    "peek": NOT_FOUND,
    "peek-ready": NOT_FOUND,
    "peek-delayed": NOT_FOUND,
    "peek-buried": NOT_FOUND,
    "reserve": rb"TIMED_OUT\r\n",
    "reserve-with-timeout": rb"TIMED_OUT\r\n",
    "reserve-job": NOT_FOUND,
    "delete": rb"(?:DELETED|NOT_FOUND)\r\n",
    "release": rb"(?:RELEASED|NOT_FOUND)\r\n",
    "bury": rb"(?:BURIED|NOT_FOUND)\r\n",
    "touch": rb"(?:TOUCHED|NOT_FOUND)\r\n",
    "kick": rb"KICKED \d+\r\n",
    "kick-job": rb"(?:KICKED|NOT_FOUND)\r\n",
    "stats-job": NOT_FOUND,
    "stats-tube": NOT_FOUND,
    "watch": rb"WATCHING \d+\r\n",
    "ignore": rb"(?:WATCHING \d+|NOT_IGNORED)\r\n",
    "list-tube-used": rb"USING [^\r]+\r\n",
    "pause-tube": rb"(?:PAUSED|NOT_FOUND)\r\n",
}
"""What the real one answers to a command, where that is no document or job."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A beanstalkd that ends with these tests."""
    with run_beanstalkd() as running:
        yield running


def talk(address: str, said: bytes) -> bytes:
    """Say all of it and nothing more; return all that is answered."""
    host, _, port = address.rpartition(":")
    answered = b""
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as stream:
        try:
            stream.sendall(said)
            stream.shutdown(socket.SHUT_WR)
            while data := stream.recv(65_536):
                answered += data
        except TimeoutError:
            pytest.fail(f"no end of {answered[-100:]!r} after {said[-300:]!r}")
        except OSError:
            # It hangs up on a quit, and does not read what is behind it.
            assert b"quit" in said
            with suppress(OSError):
                answered += stream.recv(65_536)
    return answered


def parse(said: bytes) -> list[Received]:
    """Return what our parser makes of it, at once; pieces are tested without a peer."""
    return Parser(65_535, "beanstalkd").receive(said)


def check(said: bytes, answered: bytes, received: list[Received]) -> None:
    """Each thing received has its answer, in order, and nothing is left."""
    pos = 0
    for item in received:
        if isinstance(item, c.Quit):
            break
        pos += answer_bytes(item, answered[pos:], said)
    assert answered[pos:] == b"", (said, received)


def answer_bytes(item: Received, answered: bytes, said: bytes) -> int:
    """Check the first answer; return its length."""
    if isinstance(item, c.Refused):
        assert answered.startswith(item.reply), (said, item, answered)
        return len(item.reply)
    assert isinstance(item, c.Command)
    if isinstance(item, c.Use):
        assert answered.startswith(b"USING %b\r\n" % item.tube), (said, answered)
    if match := DOCUMENT.match(answered):
        return match.end() + int(match[1]) + 2
    match = re.match(ANSWERS.get(item.name, rb"USING [^\r]+\r\n"), answered)
    assert match, (said, item, answered)
    return match.end()


def numbers(document: bytes) -> dict[str, int]:
    """Return the whole numbers of a document."""
    return {k: int(v) for k, v in re.findall(r"^(\S+): (\d+)$", document.decode(), re.M)}


def given(address: str) -> Counter[str]:
    """Return how often beanstalkd says that each command was given."""
    stats = numbers(talk(address, b"stats\r\n"))
    return Counter({k: v for k, v in stats.items() if k.startswith("cmd-")})


def counted(received: list[Received]) -> Counter[str]:
    """Return how often ours says so, of what beanstalkd's document shows."""
    names = (getattr(item, "counted", None) or getattr(item, "name", "") for item in received)
    hidden = ("", "quit", "reserve-job", "kick-job")
    return Counter(f"cmd-{name}" for name in names if name not in hidden)


def compare(address: str, said: bytes) -> None:
    """Say it to both, and compare the answers and what was counted."""
    received = parse(said)
    before = given(address)
    before["cmd-stats"] += 1
    check(said, talk(address, said), received)
    assert given(address) - before == counted(received), said


def test_single_lines(address: str) -> None:
    """Lines of the table, each on a connection of its own, with a good one behind it."""
    for line, _ in SINGLE_LINES:
        compare(address, line + b"\r\nlist-tube-used\r\n")


def test_sessions(address: str) -> None:
    """Puts with odd bodies, lines too long, CRs alone: the next command is found again, or not."""
    for said, expected in SESSIONS:
        assert parse(said) == expected
        compare(address, said)


def test_a_wrong_body_spends_an_id(address: str) -> None:
    """A put that ends in EXPECTED_CRLF has used up an id; refused before its body it has not."""
    good = b"put 0 0 1 1\r\na\r\n"
    for said, _ in SESSIONS:
        received = [item for item in parse(said) if isinstance(item, c.Put | c.Refused)]
        made = sum(isinstance(item, c.Put) or item.put_id_spent for item in received)
        first = int(talk(address, good).split()[1])
        talk(address, said)
        assert int(talk(address, good).split()[1]) == first + made + 1, said


def test_numbers_of_puts(address: str) -> None:
    """Priority, delay and time to run are what beanstalkd's job then has."""
    for said, _ in SESSIONS:
        for put in parse(said):
            if not isinstance(put, c.Put) or said.startswith(b"quit"):
                continue
            job_id = talk(address, said).split()[1]
            job = numbers(talk(address, b"stats-job %b\r\n" % job_id))
            assert (job["pri"], job["delay"], job["ttr"]) == (put.priority, put.delay_s, put.ttr_s)
            assert job["id"] == int(job_id)


def test_random_sessions(address: str, seed: int) -> None:
    """Pieces of odd lines and sessions in any order, with bytes lost, doubled and changed."""
    rng = Random(seed)
    pieces = [line + b"\r\n" for line, _ in SINGLE_LINES]
    pieces += [said for said, _ in SESSIONS if len(said) < 1_000]
    for _ in range(RANDOM_SESSIONS):
        said = bytearray(b"".join(rng.choices(pieces, k=rng.randrange(1, 12))))
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(said))
            said[at : at + rng.randrange(3)] = rng.choice(
                [b"", b"\r", b"\n", b"\r\n", b" ", b"\0", b"9", rng.randbytes(1), b"x" * 200]
            )
        # What waits for ever, or whose number beanstalkd does not check, is not compared.
        received = parse(bytes(said))
        if any(isinstance(one, c.Stats) for one in received) or b"with-timeout" in said:
            continue
        check(bytes(said), talk(address, bytes(said)), received)
