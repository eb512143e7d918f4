"""The same numbers through `stats-tube`, `stats` and the Queues service."""

import pytest

from tests.support.doors import Beanstalk, beanstalk
from tests.support.etcd_client import ONE, Client
from tests.support.world import World
from tests.support.worlds import transcript


async def a_queue_with_a_life(world: World) -> tuple[Client, Beanstalk]:
    """Leave a queue with jobs in every state and times of every kind."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs", "pause-tube jobs 0")
    await b.say("pause-tube jobs 0")
    for number in range(6):
        await b.put(f"body {number}", f"{number} 0 2")
    for processing_s in (0.05, 3.0, 1.0):  # the second one expires
        await world.wait(0.5)
        job_id = (await b.say("reserve")).split()[1]
        await world.wait(processing_s)
        await b.say(f"delete {job_id}")
    await b.say("reserve")
    await b.say("bury 4 7")
    await b.say("reserve")
    await b.say("release 5 5 1000")
    await b.put("one more", "2000 0 60")
    watch = await a.open_watches(("etcdq-credit", "1")).create(f"/q/jobs/c/{ONE}")
    await watch.event()
    return a, b


@transcript(worlds="memory")
async def test_show_and_stats_tube(world: World) -> None:
    """Show has what stats-tube has."""
    a, b = await a_queue_with_a_life(world)

    stats = await b.stats("stats-tube jobs")
    shown = await a.show("jobs")

    summary, tube = shown.summary, shown.tube
    assert {
        "current-jobs-urgent": shown.urgent,
        "current-jobs-ready": summary.ready,
        "current-jobs-reserved": summary.reserved,
        "current-jobs-delayed": summary.delayed,
        "current-jobs-buried": summary.buried,
        "total-jobs": shown.puts,
        "current-using": tube.using,
        "current-watching": summary.consumers,
        "current-waiting": summary.waiting,
        "cmd-pause-tube": tube.pauses,
        "total-reserves": tube.reserves,
        "total-timeouts": tube.timeouts,
        "total-buries": tube.buries,
        "processing-time-samples": tube.processing.samples,
        "processing-time-samples-fast": tube.processing_fast.samples,
        "processing-time-samples-slow": tube.processing_slow.samples,
        "queue-time-samples": tube.queueing.samples,
    } == {
        field: int(value)
        for field, value in stats.items()
        if field.startswith(("current-", "total-"))
        or field.endswith(("pause-tube",))
        or "samples" in field
    }
    assert [tube.using, tube.reserves, tube.timeouts, tube.buries] == [1, 5, 1, 1]
    for field, value in {
        "bury-rate": tube.bury_rate,
        "processing-time-ewma": tube.processing.average_s,
        "processing-time-min": tube.processing.min_s,
        "processing-time-max": tube.processing.max_s,
        "processing-time-ewma-fast": tube.processing_fast.average_s,
        "processing-time-ewma-slow": tube.processing_slow.average_s,
        "processing-time-p50": tube.processing_p50_s,
        "processing-time-p95": tube.processing_p95_s,
        "processing-time-p99": tube.processing_p99_s,
        "queue-time-ewma": tube.queueing.average_s,
        "queue-time-min": tube.queueing.min_s,
        "queue-time-max": tube.queueing.max_s,
    }.items():
        assert stats[field] == f"{value:.6f}", field


@transcript(worlds="memory")
async def test_the_node_sums_up(world: World) -> None:
    """stats counts the jobs of both doors in all queues."""
    a, b = await a_queue_with_a_life(world)
    await a.put("/q/mail/p/k", "x")

    stats = await b.stats("stats")
    shown = [await a.show("jobs"), await a.show("mail")]

    for field in ("ready", "reserved", "delayed", "buried"):
        total = sum(getattr(one.summary, field) for one in shown)
        assert stats[f"current-jobs-{field}"] == str(total), field
    assert stats["total-jobs"] == str(sum(one.puts for one in shown)) == "8"
    assert stats["job-timeouts"] == "1"


@pytest.mark.parametrize("state", ["ready", "reserved", "delayed", "buried"])
@transcript(worlds="memory")
async def test_peeks_see_the_same_job(world: World, state: str) -> None:
    """peek-* and the Queues service's Peek show the same job, with the same fields."""
    a, b = await a_queue_with_a_life(world)

    (job,) = (await a.queues("Peek", name="jobs", state=state.upper())).jobs
    reply = await b.say(f"peek-{state}")
    stats = await b.stats(f"stats-job {job.job_id}")

    assert reply == f"FOUND {job.job_id} {len(job.body)}\r\n{job.body.decode()}"
    assert (stats["state"], int(stats["pri"])) == (state, job.priority)
    assert (int(stats["ttr"]), int(stats["delay"])) == (job.ttr_s, job.delay_s)
    assert int(stats["age"]) == int(job.age_s)
    assert job.key == str(job.job_id).encode()
