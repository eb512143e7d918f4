"""Consumers and their connections, under the autojump clock: reconnects, silence, stops."""

from itertools import pairwise

import pytest
import trio

from etcdq.beanstalk import ReserveMode
from etcdq.errors import InvalidArgumentError, NotConnectedError
from etcdq.server.beanstalk.door import DoorSettings
from etcdq.worker.backoff import BASE_S, CAP_S
from etcdq.worker.link import ANSWER_S, RESERVE_S
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.worker_world import (
    Place,
    Slow,
    Wire,
    at_work,
    client_of,
    job_of,
    put,
    settle,
    until,
    working_in,
)

DOWN_S = 20.0


class Weighted(Slow):
    """Has all that a connection can be told."""

    tubes = {"t": 3, "u": 1}  # noqa: RUF012 - as applications write it
    reserve_mode = ReserveMode.WEIGHTED
    seconds = 4.0


INTRODUCTION = [b"watch t 3", b"watch u 1", b"ignore default", b"reserve-mode weighted"]


def slow(seconds: float, batch_size: int = 10) -> Slow:
    """Return a consumer whose handler takes so long."""
    consumer = Slow()
    consumer.seconds = seconds
    consumer.batch_size = batch_size
    return consumer


def introduced(wire: Wire) -> bool:
    """Whether all was said, in this order, before anything else."""
    return wire.sent[: len(INTRODUCTION)] == INTRODUCTION


def away(world: BeanstalkWorld) -> Place:
    """Return a place where nobody is."""
    place = Place(world)
    place.is_down = True
    return place


# reserving ----------------------------------------------------------------------------------


@with_a_node
async def test_idle_consumer_says_nothing(world: BeanstalkWorld) -> None:
    """It sends a reserve every half minute, and nothing else."""
    async with at_work(world, slow(0, batch_size=1)) as working:
        await trio.sleep(10 * RESERVE_S)

        assert working.wire.sent[:2] == [b"watch t", b"ignore default"]
        assert set(working.wire.sent[2:]) == {b"reserve-with-timeout 30"}
        assert len(working.wire.sent[2:]) <= 11


@with_a_node
async def test_batch_is_what_is_ready(world: BeanstalkWorld) -> None:
    """It waits for the first job, then takes what else is there, up to the size of a batch."""
    async with client_of(world) as client, at_work(world, slow(0, batch_size=3)) as working:
        await client.use("t")
        await client.put_many([b"a", b"b", b"c", b"d", b"e"])
        await settle()

        assert working.consumer.statistics().done == 5
        lines = [line for line in working.wire.sent if line.startswith(b"reserve")]
        assert lines[:3] == [b"reserve-batch 3", b"reserve-with-timeout 30", b"reserve-batch 2"]


@with_a_node
async def test_server_without_batches(world: BeanstalkWorld) -> None:
    """A plain beanstalkd is asked for single jobs, for no weights and no modes; found out once."""
    place = Plain(world)
    consumer = Weighted()
    async with client_of(world) as client, trio.open_nursery() as nursery:
        await put(client, b"a", b"b", b"c")
        with working_in(nursery, world, consumer, place=place) as working:
            await until(lambda: working.figures.done == 3)

    lines = [line for line in working.wire.sent if not line.startswith((b"touch", b"stats"))]
    assert lines[:6] == [
        *(b"watch t 3", b"watch t", b"watch u 1", b"watch u", b"ignore default"),
        b"reserve-mode weighted",
    ]
    assert lines[6:11] == [b"reserve-batch 10", *[b"reserve-with-timeout 0"] * 4]
    assert b"reserve-batch 10" not in lines[7:]


class Plain(Place):
    """A place where the node speaks as a beanstalkd."""

    async def dial(self) -> trio.abc.Stream:
        """Return a wire to the node in that dialect."""
        talk = await self.world.connect(settings=DoorSettings(dialect="beanstalkd"))
        self.wires.append(Wire(talk.stream))
        return self.wires[-1]


# reconnects (C64, C65) ----------------------------------------------------------------------


@with_a_node
async def test_waits_for_a_server_that_is_not_there_yet(world: BeanstalkWorld) -> None:
    """It tries for as long as it takes, with waits that grow to a cap."""
    async with client_of(world) as client, at_work(world, slow(0), place=away(world)) as working:
        await trio.sleep(3600)
        times_s = working.place.dialed_s
        assert len(times_s) > 3600 / CAP_S
        assert all(b - a <= CAP_S + 0.01 for a, b in pairwise(times_s))
        assert (working.figures.connected, working.consumer.seen) == (0, [])

        working.place.is_down = False
        await put(client, b"a")
        await trio.sleep(CAP_S + 1)
        assert working.consumer.seen == [b"a"]
        assert working.figures.connected == 1


@with_a_node
async def test_gives_up_after_so_many_attempts(world: BeanstalkWorld) -> None:
    """Where a number of attempts was given, the last failure comes out."""
    place = away(world)
    with pytest.raises(ExceptionGroup) as caught:
        async with at_work(world, slow(0), connect_tries=4, place=place):
            await trio.sleep_forever()

    assert caught.group_contains(NotConnectedError, match="nobody is there")
    assert len(place.dialed_s) == 4


@pytest.mark.parametrize("point", ["reserve", "run", "touch", "delete"])
@with_a_node
async def test_connection_dropped_at_any_point(world: BeanstalkWorld, point: str) -> None:
    """All is said anew on the next connection before its first reserve, and jobs flow again."""
    consumer = Weighted()
    async with client_of(world) as client, at_work(world, consumer) as working:
        if point == "reserve":
            await working.place.cut()
        (job_id,) = await put(client, b"a", ttr_s=3)
        if point == "run":
            await until(lambda: consumer.seen)
            await working.place.cut()
        elif point != "reserve":
            working.wire.cut_at = point.encode()
        await until(lambda: working.figures.done)

        assert len(working.place.wires) == 2
        assert all(introduced(wire) for wire in working.place.wires)
        assert await job_of(client, job_id) is None
        assert (await client.stats_tube("t"))["current-watching"] == 1
        assert working.figures.lost == (0 if point == "reserve" else 1)


@with_a_node
async def test_several_quick_drops_in_a_row(world: BeanstalkWorld) -> None:
    """However often a server drops it, it comes back, with all its tubes."""
    consumer = Weighted()
    async with client_of(world) as client, at_work(world, consumer) as working:
        for number in range(1, 6):
            await until(lambda: working.figures.connected)
            await working.place.cut()
            await until(lambda number=number: len(working.place.wires) > number)
        await put(client, b"a")
        await trio.sleep(BASE_S + 1)

        assert consumer.seen == [b"a"]
        assert all(introduced(wire) for wire in working.place.wires)
        watched = [(await client.stats_tube(tube))["current-watching"] for tube in ("t", "u")]
        assert watched == [1, 1]


@with_a_node
async def test_no_storm_of_reconnects(world: BeanstalkWorld) -> None:
    """50 connections that lost one server come back spread out, and all of them do."""
    consumer = slow(0, batch_size=1)
    consumer.concurrency = 50
    async with at_work(world, consumer) as working:
        place = working.place
        await until(lambda: working.figures.connected == 50)
        place.is_down = True
        place.dialed_s.clear()
        await place.cut()
        await trio.sleep(DOWN_S)
        assert working.figures.connected == 0
        place.is_down = False
        await trio.sleep(CAP_S + 1)

        assert working.figures.connected == 50
        for start_s in place.dialed_s:
            assert sum(start_s <= at_s < start_s + 0.1 for at_s in place.dialed_s) <= 10


@with_a_node
async def test_silent_server_is_noticed_while_waiting(world: BeanstalkWorld) -> None:
    """A peer that vanished without a FIN is left soon after the reserve was due."""
    consumer = slow(0)
    async with client_of(world) as client, at_work(world, consumer) as working:
        working.wire.is_silent = True
        began_s = trio.current_time()
        await put(client, b"a", b"b")
        await until(lambda: len(working.place.wires) == 2)
        noticed_s = trio.current_time() - began_s
        await until(lambda: consumer.seen)

        assert noticed_s <= RESERVE_S + ANSWER_S + BASE_S + 1


@with_a_node
async def test_silent_server_is_noticed_while_running(world: BeanstalkWorld) -> None:
    """A touch that is not answered before the reservation ends means that it is lost."""
    consumer = slow(100)
    async with client_of(world) as client, at_work(world, consumer) as working:
        await put(client, b"a", ttr_s=3)
        await settle()
        working.wire.is_silent = True
        await trio.sleep(3)

        assert (working.figures.lost, working.figures.running) == (1, 0)


@with_a_node
async def test_server_that_refuses_what_is_asked(world: BeanstalkWorld) -> None:
    """What no new connection mends comes out at once."""
    consumer = slow(0)
    consumer.tubes = ("no such name",)
    with pytest.raises(ExceptionGroup) as caught:
        async with at_work(world, consumer):
            await trio.sleep_forever()

    assert caught.group_contains(InvalidArgumentError)


# stops (C62, C67) ---------------------------------------------------------------------------


@with_a_node
async def test_heartbeats_go_on_while_shutting_down(world: BeanstalkWorld) -> None:
    """What runs when the stop comes is touched until it returns, runs once, and is deleted."""
    consumer, other = slow(10), slow(0)
    async with client_of(world) as client, trio.open_nursery() as nursery:
        (job_id,) = await put(client, b"a", ttr_s=3)
        with working_in(nursery, world, consumer) as working:
            await trio.sleep(1)
        async with at_work(world, other):
            await put(client, b"b")
            await trio.sleep(15)

        assert (consumer.seen, other.seen) == ([b"a"], [b"b"])
        assert working.figures.done == 1
        assert await job_of(client, job_id) is None
        assert sum(line.startswith(b"touch") for line in working.wire.sent) >= 9
        assert working.wire.sent[-1].startswith(b"delete")


@with_a_node
async def test_what_has_not_started_is_ready_at_once(world: BeanstalkWorld) -> None:
    """Of ten jobs nine go back with their priority, and with no try less; the first one ends."""
    consumer = slow(2)
    async with client_of(world) as client, trio.open_nursery() as nursery:
        ids = await put(client, *[b"%d" % n for n in range(10)], priority=7)
        with working_in(nursery, world, consumer) as working:
            await trio.sleep(1)
        await settle()

        assert working.figures.running == 1
        for job_id in ids[1:]:
            figures = await client.stats_job(job_id)
            assert (figures["state"], figures["pri"], figures["time-left"]) == ("ready", 7, 0)
        await trio.sleep(2)
        assert consumer.seen == [b"0"]
        assert (working.figures.done, working.figures.handed_back) == (1, 9)
        other = slow(0)
        numbers: list[int] = []
        other.process = lambda job: numbers.append(job.number)  # type: ignore[assignment]
        async with at_work(world, other) as second:
            await until(lambda: second.figures.done == 9)
        assert numbers == [1] * 9


@with_a_node
async def test_cut_off_hands_back_what_runs(world: BeanstalkWorld) -> None:
    """A second signal ends the run; its job is ready at once, and it was no failed try."""
    consumer = slow(100)
    async with client_of(world) as client, trio.open_nursery() as nursery:
        ids = await put(client, b"a", b"b")
        with working_in(nursery, world, consumer) as working:
            await trio.sleep(1)
        working.control.cut_off()
        await settle()

        assert [(await client.stats_job(each))["state"] for each in ids] == ["ready"] * 2
        assert (working.figures.handed_back, working.figures.failed) == (2, 0)
        assert nursery.child_tasks == frozenset()


@pytest.mark.parametrize("when", ["dialing", "waiting", "silent", "between"])
@with_a_node
async def test_stop_does_not_wait(world: BeanstalkWorld, when: str) -> None:
    """Whatever it waits for, a consumer without jobs ends at once."""
    place = Place(world)
    place.is_down = when == "between"
    place.hangs = when == "dialing"
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            with working_in(nursery, world, slow(0), place=place) as working:
                await trio.sleep(20)
                if when == "silent":
                    working.wire.is_silent = True
            before_s = trio.current_time()
        assert trio.current_time() - before_s < 0.1
