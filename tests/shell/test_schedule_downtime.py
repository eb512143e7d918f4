"""Schedulers that were down, asleep or stopped, and clocks that were set."""

import pytest
import trio

from etcdq.schedule.agenda import Outcome
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.schedule_world import HOUR, NOON, Party, Server, Wall, Worker, job, take_all


@with_a_node
@pytest.mark.parametrize(
    ("catch_up", "caught_up", "missed"),
    [
        ("one", ["05:00:00"], 4),
        ("none", [], 5),
        ("all", ["01:00:00", "02:00:00", "03:00:00", "04:00:00", "05:00:00"], 0),
    ],
)
async def test_scheduler_down_for_hours(
    world: BeanstalkWorld, catch_up: str, caught_up: list[str], missed: int
) -> None:
    """An hourly job, down from 00:30 to 05:30: one run, late, then the grid; or none, or all."""
    server, midnight = Server(world), NOON + 12 * HOUR
    schedule = job(every="1h", catch_up=catch_up, overlap="queue")
    first = Party(server, schedule, Wall(midnight + 0.4 * HOUR))
    await trio.sleep(0.1 * HOUR)
    first.end()

    second = Party(server, schedule, Wall(midnight + 5.5 * HOUR), first.records)
    await trio.sleep(1.6 * HOUR)

    bodies = await take_all(server)
    assert [(body["slot"][11:19], body.get("late", False)) for body in bodies] == [
        *((slot, True) for slot in caught_up),
        ("06:00:00", False),
        ("07:00:00", False),
    ]
    assert second.count(Outcome.MISSED) == missed
    assert second.count(Outcome.LATE) == len(caught_up)
    told = [line for line in second.lines if "missed" in line]
    assert told == ([f"job: {missed} missed since 2026-06-02T00:24:00Z"] if missed else [])


@with_a_node
async def test_restart_without_downtime(world: BeanstalkWorld) -> None:
    """Who is restarted between two slots puts none of them again, and a new entry none at all."""
    server = Server(world)
    schedule = job(every="60s", overlap="queue")
    first = Party(server, schedule, Wall())
    await trio.sleep(90)
    first.end()

    second = Party(server, schedule, Wall(NOON + 95), first.records)
    without = Party(server, job(every="1h", name="new"), Wall(NOON + 95), first.records)
    await trio.sleep(1)

    assert second.scheduler.counts == {}
    assert without.scheduler.counts == {}


@with_a_node
async def test_host_that_slept(world: BeanstalkWorld) -> None:
    """Daily at 03:00 in its zone, the host asleep from 02:00 to 07:00: it runs at 07:00, late."""
    server, wall = Server(world), Wall(NOON + 12 * HOUR)  # 02:00 in Berlin
    party = Party(server, job(cron="0 3 * * *", timezone="Europe/Berlin"), wall)
    await trio.sleep(1)

    wall.set(5 * HOUR)
    await trio.sleep(6)

    (body,) = await take_all(server)
    assert body["late"] is True
    assert body["slot"] == "2026-06-02T01:00:00Z"
    assert party.lines[-1] == "job: 2026-06-02T01:00:00Z is job 1, late"
    await trio.sleep(20 * HOUR)
    (body,) = await take_all(server)
    assert "late" not in body


@with_a_node
async def test_clock_set_back(world: BeanstalkWorld) -> None:
    """A clock that is set back ten minutes runs no slot twice; the step is told."""
    server, wall = Server(world), Wall()
    party = Party(server, job(every="60s"), wall)
    worker = Worker(server)
    await trio.sleep(12 * 60 + 30)

    wall.set(-600)
    await trio.sleep(15 * 60)

    assert len(worker.slots) == len(set(worker.slots)) == 17
    assert worker.slots == sorted(worker.slots)
    assert party.count(Outcome.DUPLICATE) == 0
    told = [line for line in party.lines if "set back" in line]
    assert len(told) == 1
    assert told[0].startswith("the clock was set back by")


@with_a_node
async def test_clock_that_was_years_ahead(world: BeanstalkWorld) -> None:
    """A clock that was wrong by years, and is put right, stops no entry for years."""
    server, wall = Server(world), Wall(NOON + 10 * 365 * 24 * HOUR)
    party = Party(server, job(every="60s"), wall)
    worker = Worker(server)
    await trio.sleep(61)

    wall.set(-10 * 365 * 24 * HOUR)
    await trio.sleep(121)

    assert len(worker.slots) == 3
    assert any("begins anew" in line for line in party.lines)


@with_a_node
async def test_three_schedulers_one_job_a_slot(world: BeanstalkWorld) -> None:
    """One stands still for 90 s, one is restarted each minute: five slots are five jobs."""
    server, wall = Server(world), Wall(NOON + 40)
    schedule = job(cron="* * * * *")
    stopped_wall = Wall(NOON + 40)
    leader = Party(server, schedule, stopped_wall)
    await trio.sleep(0.1)
    second, restarted = Party(server, schedule, wall), Party(server, schedule, wall)
    worker = Worker(server)

    for minute in range(5):
        await trio.sleep(30)
        if minute == 1:
            stopped_wall.stop()
            world.nursery.start_soon(_go_on_after, 90, stopped_wall)
        await trio.sleep(30)
        restarted.end()
        restarted = Party(server, schedule, wall, restarted.records)

    assert worker.slots == ["12:01:00", "12:02:00", "12:03:00", "12:04:00", "12:05:00"]
    assert leader.count(Outcome.DUPLICATE) + leader.count(Outcome.PUT) == 5
    assert any(" is job 3 already" in line for line in leader.lines)
    puts = sum(party.count(Outcome.PUT) for party in (leader, second))
    assert puts <= 5


async def _go_on_after(seconds: float, wall: Wall) -> None:
    await trio.sleep(seconds)
    wall.go()


@with_a_node
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("catch_up", ["one", "all"])
async def test_schedulers_that_come_late(world: BeanstalkWorld, count: int, catch_up: str) -> None:
    """However late a scheduler comes to a slot that it may still put, the slot runs once."""
    server = Server(world)
    schedule = job(every="10s", catch_up=catch_up, overlap="queue", queue_max=100)
    walls = [Wall() for _ in range(count)]
    parties = [Party(server, schedule, wall) for wall in walls]
    worker = Worker(server)

    for turn in range(30):
        wall = walls[turn % count]
        wall.stop()
        await trio.sleep(7 * (turn % 5) + 1)
        wall.go()
        await trio.sleep(3)

    assert worker.slots == sorted(set(worker.slots))
    assert sum(party.count(Outcome.DUPLICATE) for party in parties) > 10
