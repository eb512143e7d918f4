"""Many lines, many connections, many jobs: nothing is lost, and nothing is left behind."""

import random

import trio

from tests.support.beanstalk_odd_lines import LAX, UNKNOWN, WRONG
from tests.support.beanstalk_servers import Server, open_node
from tests.support.beanstalk_talk import Talk
from tests.support.beanstalk_wire import fields

SEVERAL = 20
MANY = 100


async def stats(talk: Talk) -> dict[str, str]:
    """Return the global statistics."""
    (reply,) = await talk.ask("stats")
    return fields(reply.encode() + b"\r\n")


async def is_well(server: Server) -> dict[str, str]:
    """Put, reserve and delete a job on a new connection; return the statistics then."""
    fresh = Talk(server, "fresh")
    inserted, reserved = await fresh.ask("put 0 0 60 2", "ok", "reserve-with-timeout 0")
    assert reserved.endswith("ok")
    assert await fresh.ask(f"delete {inserted.split()[1]}") == ["DELETED"]
    found = await stats(fresh)
    await fresh.leave()
    return found


async def test_every_odd_line_is_answered(autojump_clock: trio.abc.Clock) -> None:
    """Each line that no client should send has one reply, and the next connection is served."""
    async with open_node(beanstalk_dialect="beanstalkd") as server:
        a = Talk(server, "A")
        for line in [*UNKNOWN, *WRONG, *LAX]:
            assert len(await a.ask(line)) == 1, line
        found = await is_well(server)

    assert found["current-jobs-ready"] == "0"


async def test_connections_that_come_and_go(autojump_clock: trio.abc.Clock) -> None:
    """Connections that say nothing, half a line or half a body leave nothing behind."""
    async with open_node() as server:
        for number in range(MANY):
            talk = Talk(server, str(number))
            await server.connect(str(number))
            await server.send(str(number), [b"", b"use hal", b"put 0 0 60 9\r\nhalf"][number % 3])
            await talk.leave()
        found = await is_well(server)

    assert (found["current-connections"], found["total-connections"]) == ("2", str(MANY + 2))
    assert (found["current-tubes"], found["total-jobs"]) == ("1", "1")


async def test_garbage_on_many_connections(autojump_clock: trio.abc.Clock, seed: int) -> None:
    """Any lines on many connections at a time have their replies, and others are served."""
    rng = random.Random(seed)
    async with open_node() as server:
        talks = [Talk(server, f"garbage {number}") for number in range(SEVERAL)]
        for _ in range(SEVERAL):
            for talk in talks:
                await talk.say("garbage-" + "X" * rng.randrange(100))
        answers = [talk.heard() for talk in talks]
        await is_well(server)

    assert answers == [["UNKNOWN_COMMAND"] * SEVERAL] * SEVERAL


async def test_many_wait_behind_a_few_keys(autojump_clock: trio.abc.Clock) -> None:
    """Workers that wait behind concurrency keys take every job once, and never two of a key."""
    keys, jobs, workers = 3, 120, 16
    async with open_node() as server:
        producer = Talk(server, "producer")
        talks = [Talk(server, f"worker {number}") for number in range(workers)]
        for talk in talks:
            await talk.say("reserve")
        for number in range(jobs):
            await producer.ask(f"put 0 0 60 1 con:k{number % keys}", str(number % keys))
        deleted: list[str] = []
        while len(deleted) < jobs:
            heard = [(talk, reply) for talk in talks for reply in talk.heard()]
            held = [(talk, reply) for talk, reply in heard if reply != "DELETED"]
            of_key = [reply.split("\r\n")[1] for _, reply in held]
            assert len(set(of_key)) == len(of_key) == min(keys, jobs - len(deleted))
            for talk, reply in held:
                job = reply.split()[1]
                await talk.say(f"delete {job}", "reserve")
                deleted.append(job)
        assert len(set(deleted)) == jobs
        found = await stats(producer)

    assert found["current-jobs-ready"] == found["current-concurrency-keys"] == "0"
    assert (found["cmd-delete"], found["current-waiting"]) == (str(jobs), str(workers))


async def test_the_account_of_what_jobs_cost(autojump_clock: trio.abc.Clock, seed: int) -> None:
    """After any puts, reserves, releases, buries and kicks the deletes bring it back to nothing."""
    rng = random.Random(seed)
    async with open_node() as server:
        a = Talk(server, "A")
        size = 0
        for number in range(MANY * 3):
            body = "x" * rng.randrange(50)
            assert await a.ask(f"put 0 0 60 {len(body)}", body) == [f"INSERTED {number + 1}"]
            size += len(body) + 512
        assert (await stats(a))["current-jobs-size"] == str(size)
        for _ in range(MANY):
            (reserved,) = await a.ask("reserve")
            end = rng.choice(["release {} 5 0", "release {} 5 60", "bury {} 5"])
            await a.ask(end.format(reserved.split()[1]))
        await a.ask(f"kick {MANY}")
        assert (await stats(a))["current-jobs-size"] == str(size)
        for number in range(MANY * 3):
            assert await a.ask(f"delete {number + 1}") == ["DELETED"]
        found = await stats(a)

    assert (found["current-jobs-size"], found["accounting-drift-events"]) == ("0", "0")
