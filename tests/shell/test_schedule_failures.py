"""What a scheduler does when the server refuses, is away, is silent; and another schedule."""

from itertools import pairwise

import pytest
import trio
import yaml

from etcdq.schedule.agenda import RETRY_S, Outcome
from etcdq.schedule.desk import ANSWER_S
from etcdq.schedule.file import parse_schedule
from etcdq.schedule.scheduler import BACKOFF_CAP_S, Scheduler
from etcdq.server.beanstalk.door import DoorSettings
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.schedule_world import NOON, Party, Server, Wall, Worker, job, take_all


@with_a_node
async def test_refused_job_stops_nothing(world: BeanstalkWorld) -> None:
    """A job that the server does not take is told and counted; all others go on."""
    server = Server(world, settings=DoorSettings(job_bytes_max=100))
    large = {"name": "large", "task": "run", "every": "5s", "args": ["x" * 200]}
    small = {"name": "job", "task": "run", "every": "5s"}
    party = Party(server, yaml.safe_dump({"entries": [large, small]}), Wall())
    worker = Worker(server)

    await trio.sleep(11)

    assert worker.slots == ["12:00:05", "12:00:10"]
    assert party.count(Outcome.REFUSED, "large") == 2
    assert party.lines[1].startswith("large: 2026-06-01T12:00:05Z is refused: put ")
    assert "the body is over the server's limit" in party.lines[1]


@with_a_node
async def test_draining_server(world: BeanstalkWorld) -> None:
    """What a server refuses for now is tried again, and told once for each slot."""
    server = Server(world)
    party = Party(server, job(every="60s"), Wall())
    world.node.set_draining(True)
    await trio.sleep(60 + 2.5 * RETRY_S)
    assert party.count(Outcome.FAILED) == 1

    world.node.set_draining(False)
    await trio.sleep(RETRY_S)

    (body,) = await take_all(server)
    assert body == {"task": "run", "args": [], "slot": "2026-06-01T12:01:00Z", "late": True}
    assert party.count(Outcome.FAILED) == party.count(Outcome.LATE) == 1


@with_a_node
async def test_server_that_is_away(world: BeanstalkWorld) -> None:
    """A server that cannot be reached is waited for; the newest slot is put when it is back."""
    server = Server(world)
    server.is_away = True
    party = Party(server, job(every="60s"), Wall())
    await trio.sleep(200)
    assert not party.scheduler.is_connected
    waits = [later - earlier for earlier, later in pairwise(server.attempts)]
    assert len(set(waits)) > 10, "the attempts are spread"
    assert max(waits) <= BACKOFF_CAP_S
    assert party.count(Outcome.FAILED) == 3
    assert len(party.lines) == 1 + 3 + 2, party.lines

    server.is_away = False
    await trio.sleep(BACKOFF_CAP_S)

    assert party.scheduler.is_connected
    assert party.lines[-2] == "connected to here:11300"
    (body,) = await take_all(server)
    assert body["slot"] == "2026-06-01T12:03:00Z"
    assert party.count(Outcome.MISSED) == 2


@with_a_node
async def test_connection_that_is_lost_between_slots(world: BeanstalkWorld) -> None:
    """A connection that is lost is noticed and made anew before it is needed."""
    server = Server(world)
    party = Party(server, job(every="60s"), Wall())
    await trio.sleep(30)
    world.drain.set()  # sessions end
    server.is_away = True
    world.drain = trio.Event()

    await trio.sleep(10)
    assert not party.scheduler.is_connected
    server.is_away = False
    worker = Worker(server)
    await trio.sleep(25)

    assert party.scheduler.is_connected
    assert worker.bodies == [{"task": "run", "args": [], "slot": "2026-06-01T12:01:00Z"}]
    assert party.lines[1:] == [
        "the connection to here:11300 is lost: connecting again until it succeeds",
        "connected to here:11300",
        "job: 2026-06-01T12:01:00Z is job 1",
    ]


@with_a_node
async def test_answer_that_is_lost(world: BeanstalkWorld) -> None:
    """A put whose answer was lost is made again at once, on a new connection, and is one job."""
    server = Server(world)
    party = Party(server, job(every="60s", overlap="queue"), Wall())
    await trio.sleep(1)
    server.loses_answer_to = b"put "

    await trio.sleep(60)

    (body,) = await take_all(Server(world))
    assert body == {"task": "run", "args": [], "slot": "2026-06-01T12:01:00Z"}
    assert party.count(Outcome.FAILED) == party.count(Outcome.DUPLICATE) == 1
    assert party.lines[-1] == "job: 2026-06-01T12:01:00Z is job 1 already"


@with_a_node
async def test_silent_server(world: BeanstalkWorld) -> None:
    """A server that no longer answers is left, and the slot is put on a new connection."""
    server = Server(world)
    party = Party(server, job(every="60s"), Wall())
    await trio.sleep(30)
    server.is_silent = True
    await trio.sleep(30 + ANSWER_S - 1)
    server.is_silent = False
    await trio.sleep(2)

    (body,) = await take_all(server)

    assert body["slot"] == "2026-06-01T12:01:00Z"
    assert any("no answer from here:11300 within 10 s" in line for line in party.lines)


@with_a_node
async def test_another_schedule(world: BeanstalkWorld) -> None:
    """A new schedule takes the place of the old one at once; what stays goes on where it was."""
    server = Server(world)
    stays = {"name": "stays", "task": "a", "every": "60s", "overlap": "queue"}
    goes = {"name": "goes", "task": "b", "every": "5s", "overlap": "queue"}
    changes = {"name": "changes", "task": "c", "every": "1h", "overlap": "queue"}
    party = Party(server, yaml.safe_dump({"entries": [stays, goes, changes]}), Wall(NOON + 51))
    await trio.sleep(5)

    changes["every"] = "3s"
    party.scheduler.replace(parse_schedule({"entries": [stays, changes]}))
    await trio.sleep(5)

    bodies = await take_all(server)
    assert [(body["task"], body["slot"][14:19]) for body in bodies] == [
        ("b", "00:55"),
        ("c", "00:57"),
        ("a", "01:00"),
        ("c", "01:00"),
    ]
    assert set(party.records) == {"stays", "changes"}


@with_a_node
async def test_a_fault_of_its_own(world: BeanstalkWorld) -> None:
    """A scheduler that fails ends, and does not go on without putting anything."""
    server, wall = Server(world), Wall()

    def broken() -> float:
        if trio.current_time() - began_s > 30:
            raise OverflowError("no such time")
        return wall()

    began_s = trio.current_time()
    schedule = parse_schedule(yaml.safe_load(job(every="60s")))
    scheduler = Scheduler(schedule, server.connect, [].append, wall=broken)

    with pytest.raises(OverflowError):
        await scheduler.run()
