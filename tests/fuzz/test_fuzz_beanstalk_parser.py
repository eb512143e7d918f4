"""Bytes of beanstalk clients, and worse ones, to the parser: nothing raises, nothing piles up, and
whatever comes out is a command as a client could have meant it.

A failure prints the seed that replays it: ETCDQ_SEED=N sets the first seed, ETCDQ_FUZZ how many
rounds there are, each with its own seed.
"""

import os
from random import Random

import pytest

from etcdq.actors import limits
from etcdq.actors.queue.messages import Tags
from etcdq.actors.worker.messages import ReserveMode
from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk import replies
from etcdq.server.beanstalk.door import Dialect
from etcdq.server.beanstalk.parser import Parser, Received
from tests.support.beanstalk_lines import SINGLE_LINES, TUBER_ONLY, U32, U64
from tests.support.fuzzing import cut, flip, insert, repeat

ROUNDS = int(os.environ.get("ETCDQ_FUZZ", "30"))
SESSIONS = 40
BODY_BYTES_MAX = 300
NAMES = [b"a", b"default", b"x" * 200, b"a/b;c.d$e(f)+-"]
NUMBERS = [0, 1, 7, 1_000, 2**31, U32]
REFUSALS = {
    replies.BAD_FORMAT, replies.UNKNOWN_COMMAND, replies.JOB_TOO_BIG, replies.EXPECTED_CRLF,
}  # fmt: skip
KINDS: list[type[c.Command]] = sorted(c.Command.__subclasses__(), key=lambda kind: kind.name)


def command(rng: Random, kind: type[c.Command]) -> c.Command:
    """Return a command of a kind, with values a client may give it."""
    modes = [(mode, mode.value.encode()) for mode in ReserveMode]
    mode, word = rng.choice(modes)
    values = {
        "body": rng.randbytes(rng.choice([0, 1, 2, 50, BODY_BYTES_MAX])),
        "bound": rng.choice(NUMBERS),
        "count": rng.choice([1, 7, limits.BATCH_JOBS_MAX]),
        "delay_s": rng.choice(NUMBERS),
        "group": rng.choice(NAMES),
        "job_id": rng.choice([*NUMBERS, U64]),
        "job_ids": tuple(rng.choices([*NUMBERS, U64], k=rng.choice([1, 2, limits.BATCH_JOBS_MAX]))),
        "mode": mode,
        "pause_s": rng.choice(NUMBERS),
        "priority": rng.choice(NUMBERS),
        "tags": None,
        "timeout_s": rng.choice(NUMBERS),
        "ttr_s": rng.choice(NUMBERS) or 1,
        "tube": rng.choice(NAMES),
        "weight": 1,
        "word": word,
    }
    return kind(**{field: values[field] for field in kind.__struct_fields__})


def tagged(rng: Random, plain: c.Command) -> c.Command:
    """Return the same with what only tuber lets it say."""
    if isinstance(plain, c.Watch):
        return c.Watch(plain.tube, rng.choice([1, 2, limits.TUBE_WEIGHT_MAX]))
    if not isinstance(plain, c.Put) or rng.random() < 0.5:
        return plain
    names = iter(rng.choices(NAMES, k=4))
    tags = Tags(
        next(names),
        rng.choice(NUMBERS),
        next(names),
        next(names),
        next(names),
        rng.choice([1, U32]),
    )
    return c.Put(plain.priority, plain.delay_s, plain.ttr_s, plain.body, tags)


def spell(said: c.Command) -> bytes:
    """Return the bytes by which a client gives a command."""
    words = [said.name.encode()]
    body = b""
    match said:
        case c.Put(priority, delay_s, ttr_s, body, tags):
            words += [b"%d" % n for n in (priority, delay_s, ttr_s, len(body))]
            if tags is not None:
                words += [b"idp:%b:%d" % (tags.idp, tags.idp_ttl_s)] if tags.idp else []
                words += [b"grp:" + tags.grp] if tags.grp else []
                words += [b"aft:" + tags.aft] if tags.aft else []
                words += [b"con:%b:%d" % (tags.con, tags.con_limit)] if tags.con else []
            body += b"\r\n"
        case c.Watch(tube, weight):
            words += [tube] if weight == 1 else [tube, b"%d" % weight]
        case c.ReserveMode(_, word):
            words += [word]
        case c.DeleteBatch(job_ids):
            words += [b"%d" % n for n in job_ids]
        case _:
            values = [getattr(said, field) for field in said.__struct_fields__]
            words += [value if isinstance(value, bytes) else b"%d" % value for value in values]
    return b" ".join(words) + b"\r\n" + body


def honest(rng: Random, dialect: Dialect) -> list[c.Command]:
    """Return what an honest client says; it does not quit."""
    known = [kind for kind in KINDS if kind is not c.Quit]
    if dialect == "beanstalkd":
        known = [kind for kind in known if kind not in TUBER_ONLY]
    said = [command(rng, kind) for kind in rng.choices(known, k=rng.randrange(1, 20))]
    return said if dialect == "beanstalkd" else [tagged(rng, one) for one in said]


def receive(rng: Random, dialect: Dialect, said: bytes) -> list[Received]:
    """Return what comes out when bytes come in random pieces; watch what is kept."""
    parser = Parser(BODY_BYTES_MAX, dialect)
    longest = max(limits.TUBER_LINE_BYTES_MAX, BODY_BYTES_MAX + 2)
    received: list[Received] = []
    while said:
        size = rng.choice([1, 2, 9, 200, 5_000, 100_000])
        received += parser.receive(said[:size])
        said = said[size:]
        assert parser.kept_bytes < longest
    return received


def check(dialect: Dialect, received: list[Received]) -> None:
    """What came out is a client's command again when it is spelled, or a refusal."""
    for at, item in enumerate(received):
        if isinstance(item, c.Refused):
            assert item.reply in REFUSALS
        elif isinstance(item, c.Close | c.Quit):
            assert at == len(received) - 1
        else:
            assert isinstance(item, c.Command)
            assert Parser(BODY_BYTES_MAX, dialect).receive(spell(item)) == [item]


def one_round(number: int, dialect: Dialect) -> None:
    """Let clients say what they mean, and what they do not."""
    rng = Random(number)
    odd = [line + rng.choice([b"\r\n", b"\n"]) for line, _ in rng.sample(SINGLE_LINES, 50)]
    for _ in range(SESSIONS):
        meant = honest(rng, dialect)
        pieces = [spell(one) for one in meant]
        assert receive(rng, dialect, b"".join(pieces)) == meant
        for _ in range(rng.randrange(4)):
            pieces.insert(rng.randrange(len(pieces) + 1), rng.choice(odd))
        said = b"".join(pieces)
        for _ in range(rng.randrange(4)):
            said = rng.choice([flip, cut, insert, repeat])(rng, said or b"x")
        whole = Parser(BODY_BYTES_MAX, dialect).receive(said)
        assert receive(rng, dialect, said) == whole
        check(dialect, whole)


@pytest.mark.parametrize("dialect", ["beanstalkd", "tuber"])
def test_clients_and_worse(dialect: Dialect, seed: int) -> None:
    """What is meant is understood; whatever else is said ends in commands and refusals."""
    for number in range(seed, seed + ROUNDS):
        try:
            one_round(number, dialect)
        except BaseException:
            print(f"replay with ETCDQ_SEED={number} ETCDQ_FUZZ=1")
            raise


@pytest.mark.parametrize("dialect", ["beanstalkd", "tuber"])
def test_noise(dialect: Dialect, seed: int) -> None:
    """Random bytes, also of few kinds, are no worse."""
    rng = Random(seed)
    for _ in range(200):
        size = rng.randrange(1, 3_000)
        said = rng.choice([
            rng.randbytes(size),
            bytes(rng.choices(b"\r\n \0put0123456789-", k=size)),
            b"\r\n".join(rng.choices([b"put 0 0 1 1", b"\n", b"quit", b"\0", b""], k=size // 9)),
        ])  # fmt: skip
        received = receive(rng, dialect, said)
        assert received == Parser(BODY_BYTES_MAX, dialect).receive(said)
        check(dialect, received)
