"""A scheduler against a node in this process, on Trio's mock clock and a clock on a fake wall."""

import json
from itertools import pairwise

import pytest
import trio

from etcdq.schedule.agenda import Outcome, Run
from etcdq.server.beanstalk.door import DoorSettings
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.schedule_world import HOUR, NOON, Party, Server, Wall, Worker, job

PLAIN = DoorSettings(dialect="beanstalkd")


@with_a_node
async def test_jobs_come_in_their_slots(world: BeanstalkWorld) -> None:
    """Each slot is one job, on its tube, with what the entry says, at its time and not before."""
    server, wall = Server(world), Wall(NOON + 50)
    schedule = """
      entries:
        - {name: poll, class: "Jmap::Poller", args: [1, a], every: 60s, tube: mail, ttr: 7,
           priority: 5}
        - {name: tidy, task: tidy, cron: "1 12 * * *", tube: other}
    """
    party = Party(server, schedule, wall)

    await trio.sleep(9.9)
    assert party.scheduler.counts == {}
    await trio.sleep(0.2)
    async with server.connect() as client:
        await client.use("mail")
        ready = await client.peek_ready()
        figures = await client.stats_job(ready.job_id)
        assert (await client.stats_tube("other")).count("current-jobs-ready") == 1

    assert json.loads(ready.body) == {
        "class": "Jmap::Poller",
        "args": [1, "a"],
        "slot": "2026-06-01T12:01:00Z",
    }
    assert (figures["pri"], figures["ttr"]) == (5, 7)
    assert figures["idempotency-key"] == "poll/20260601T120100Z"
    assert figures["idempotency-ttl"] == 120, "longer than the interval"
    assert (figures["concurrency-key"], figures["concurrency-limit"]) == ("schedule/poll", 1)
    assert party.lines == [
        "connected to here:11300",
        "poll: 2026-06-01T12:01:00Z is job 1",
        "tidy: 2026-06-01T12:01:00Z is job 2",
    ]


@with_a_node
async def test_a_day_of_an_hourly_job(world: BeanstalkWorld) -> None:
    """24 slots, 24 jobs, none of them late."""
    server = Server(world)
    party = Party(server, job(every="1h", overlap="queue", queue_max=10), Wall())
    worker = Worker(server)

    await trio.sleep(24 * HOUR + 1)

    assert party.count(Outcome.PUT) == len(worker.bodies) == 24
    assert not any("late" in body for body in worker.bodies)
    assert set(party.scheduler.counts) == {("job", Outcome.PUT)}


# a run of 12 s every 5 s, for a minute ------------------------------------------------------


def at_once(runs: list[tuple[float, float]]) -> bool:
    """Say whether two runs went on at one time."""
    ordered = sorted(runs)
    return any(end > start for (_, end), (start, _) in pairwise(ordered))


@with_a_node
async def test_overlap_skip(world: BeanstalkWorld) -> None:
    """Never two at once; the next start is on the next point of the grid after the end."""
    server = Server(world)
    party = Party(server, job(every="5s"), Wall())
    workers = [Worker(server, takes_s=12), Worker(server, takes_s=12)]

    await trio.sleep(61)

    starts = sorted(slot for worker in workers for slot in worker.slots)
    assert starts == ["12:00:05", "12:00:20", "12:00:35", "12:00:50"]
    assert not at_once([run for worker in workers for run in worker.runs])
    assert (party.count(Outcome.PUT), party.count(Outcome.SKIPPED)) == (4, 8)
    skips = [line for line in party.lines if "is skipped" in line]
    assert skips[0] == "job: 2026-06-01T12:00:10Z is skipped, job 1 is not over"
    assert len(skips) == 8


@with_a_node
async def test_overlap_coalesce(world: BeanstalkWorld) -> None:
    """At most one waits while one runs."""
    server = Server(world)
    party = Party(server, job(every="5s", overlap="coalesce"), Wall())
    workers = [Worker(server, takes_s=12), Worker(server, takes_s=12)]

    for _ in range(60):
        await trio.sleep(1)
        figures = await server.figures()
        assert figures.count("current-jobs-ready") <= 1
        assert figures.count("current-jobs-reserved") <= 1

    runs = sorted(run for worker in workers for run in worker.runs)
    assert [start for start, _ in runs] == pytest.approx(
        [runs[0][0] + 12 * number for number in range(len(runs))]
    ), "one run follows the other"
    assert party.count(Outcome.PUT) + party.count(Outcome.SKIPPED) == 12
    assert party.count(Outcome.SKIPPED) == 6


@with_a_node
async def test_overlap_queue(world: BeanstalkWorld) -> None:
    """All are put, up to the maximum, and run one after the other."""
    server = Server(world)
    party = Party(server, job(every="5s", overlap="queue", queue_max=3), Wall())
    workers = [Worker(server, takes_s=12), Worker(server, takes_s=12)]
    most = 0

    for _ in range(60):
        await trio.sleep(1)
        figures = await server.figures()
        there = figures.count("current-jobs-ready") + figures.count("current-jobs-reserved")
        most = max(most, there)

    assert most == 3
    assert not at_once([run for worker in workers for run in worker.runs])
    assert party.count(Outcome.PUT) == 7
    assert party.count(Outcome.SKIPPED) == 5


@with_a_node
@pytest.mark.parametrize("overlap", ["skip", "coalesce", "queue"])
async def test_run_that_hangs_and_is_cut(world: BeanstalkWorld, overlap: str) -> None:
    """When a run that hung is cut by its time limit, the schedule goes on."""
    server = Server(world)
    party = Party(server, job(every="5s", overlap=overlap), Wall())
    worker = Worker(server, takes_s=1000)
    await trio.sleep(6)
    worker.takes_s = 0

    await trio.sleep(1000 + 20)

    assert worker.slots[0] == "12:00:05"
    assert {"12:16:50", "12:16:55", "12:17:00"} <= set(worker.slots[1:])
    assert party.count(Outcome.SKIPPED) > 100


@with_a_node
async def test_buried_job_holds_nothing_back(world: BeanstalkWorld) -> None:
    """A run that was buried ends no schedule: it is told, and the next slot runs."""
    server = Server(world)
    party = Party(server, job(every="5s"), Wall())
    await trio.sleep(6)
    async with server.connect() as client:
        await client.bury((await client.reserve(0)).job_id)
    worker = Worker(server)

    await trio.sleep(10)

    assert worker.slots == ["12:00:10", "12:00:15"]
    assert "job: job 1 is buried, and holds nothing back" in party.lines


@with_a_node
async def test_key_of_the_users(world: BeanstalkWorld) -> None:
    """An entry's own `idp` is put as it is: who has the key holds the slot back, and is told."""
    server = Server(world)
    party = Party(server, job(every="5s", idp="poll", con="mail:2"), Wall())
    async with server.connect() as client:
        await client.put(b"by hand", idp="poll")
        await trio.sleep(6)
        await client.bury((await client.reserve(0)).job_id)
        await trio.sleep(5)
        assert await client.kick() == 1
        await client.delete((await client.reserve(0)).job_id)
        await trio.sleep(5)
        figures = await client.stats_job((await client.reserve(0)).job_id)

    assert (figures["idempotency-key"], figures["concurrency-limit"]) == ("poll", 2)
    assert party.lines[1:] == [
        "job: 2026-06-01T12:00:05Z is skipped, job 1 (READY) has poll",
        "job: 2026-06-01T12:00:10Z is skipped, job 1 (BURIED) has poll",
        "job: 2026-06-01T12:00:15Z is job 2",
    ]


@with_a_node
async def test_ids_that_began_anew(world: BeanstalkWorld) -> None:
    """After a restart of the server another job may have the id of a run: it holds nothing back."""
    server = Server(world)
    async with server.connect() as client:
        await client.put(b"not even JSON")
        await client.use("elsewhere")
        await client.put(json.dumps({"slot": "2026-06-01T12:00:00Z"}).encode())
        await client.use("default")
        await client.put(json.dumps({"slot": "2026-06-01T11:59:55Z"}).encode())
    first = Party(server, job(every="5s"), Wall())
    await trio.sleep(1)
    first.end()
    for job_id in (1, 2, 3):
        record = first.records["job"]
        record.runs[:] = [Run(job_id, NOON)]
        party = Party(server, job(every="5s"), Wall(NOON + 4), {"job": record})
        await trio.sleep(2)
        party.end()
        assert party.count(Outcome.SKIPPED) == 0
        assert party.count(Outcome.PUT) + party.count(Outcome.DUPLICATE) == 1


@with_a_node
async def test_plain_beanstalkd(world: BeanstalkWorld) -> None:
    """Where the server knows no keys, one scheduler works, overlap and all, and says so once."""
    server = Server(world, settings=PLAIN)
    party = Party(server, job(every="5s", idp="key"), Wall())
    worker = Worker(server, takes_s=12)

    await trio.sleep(61)

    assert worker.slots == ["12:00:05", "12:00:20", "12:00:35", "12:00:50"]
    assert party.count(Outcome.SKIPPED) == 8
    assert [line for line in party.lines if "knows no keys" in line] == [
        "here:11300 knows no keys (idp, con): run no second scheduler, its jobs would be put twice"
    ]
