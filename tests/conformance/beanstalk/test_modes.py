"""Weighted reserves: by lot, so counted."""

import trio

from tests.support.beanstalk_servers import open_node
from tests.support.beanstalk_talk import Talk

JOBS = 100


def bodies(replies: list[str]) -> list[str]:
    """Return the bodies of reserved jobs."""
    assert all(reply.startswith("RESERVED ") for reply in replies)
    return [reply.split("\r\n")[1] for reply in replies]


async def test_weights_are_shares(autojump_clock: trio.abc.Clock) -> None:
    """Of two tubes with enough jobs one of weight 4 is drawn about four times as often."""
    async with open_node() as server:
        a = Talk(server, "A")
        await a.ask("use high", *["put 0 0 60 1", "h"] * JOBS)
        await a.ask("use low", *["put 0 0 60 1", "l"] * JOBS)
        await a.ask("watch high 4", "watch low 1", "ignore default", "reserve-mode weighted")

        drawn = bodies(await a.ask(*["reserve"] * JOBS))

    assert len(drawn) == JOBS
    assert 55 < drawn.count("h") < 97  # six standard deviations from 80


async def test_weights_of_tubes_that_run_dry(autojump_clock: trio.abc.Clock) -> None:
    """When one tube is empty the other is drawn, whatever its weight; no job is given twice."""
    async with open_node() as server:
        a = Talk(server, "A")
        await a.ask("use high", *["put 0 0 60 1", "h"] * 5)
        await a.ask("use low", *["put 0 0 60 1", "l"] * 5)
        await a.ask("watch high 9999", "watch low", "ignore default", "reserve-mode weighted")

        drawn = bodies(await a.ask(*["reserve"] * 10))

    assert sorted(drawn) == ["h"] * 5 + ["l"] * 5


async def test_fair_weights_are_shares_of_time(autojump_clock: trio.abc.Clock) -> None:
    """Of two tubes with one weight the one whose jobs are a hundred times as fast is drawn."""
    async with open_node() as server:
        a = Talk(server, "A")
        for tube, seconds in (("fast", 0.125), ("slow", 12.5)):
            await a.ask(f"use {tube}", f"watch {tube}")
            for _ in range(JOBS):
                (inserted,) = await a.ask("put 0 0 600 1", tube[0])
                job = inserted.split()[1]
                await a.ask(f"reserve-job {job}")
                await trio.sleep(seconds)
                assert await a.ask(f"delete {job}") == ["DELETED"]
        await a.ask("ignore default", "reserve-mode weighted-fair")
        for tube in ("fast", "slow"):
            await a.ask(f"use {tube}", *["put 0 0 60 1", tube[0]] * JOBS)

        drawn = bodies(await a.ask(*["reserve"] * 50))

    assert drawn.count("f") > 40
