"""Workers that are killed under load, one in each round, and replaced.

`ETCDQ_KILLS=200 python -m pytest -s tests/interop/test_worker_kills.py` is the long run.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import Struct

from etcdq import beanstalk
from tests.support.killed_worker import END_S, TUBE, Run, read_runs, start
from tests.support.mortal_server import KINDS, MortalServer, run_mortal_server
from tests.support.trap import jobs_left

ROUNDS = int(os.environ.get("ETCDQ_KILLS") or 8)
WORKERS = 3
JOBS = 120
"""Put in each round: more than is done in one, so that there is always work."""
ROUND_S = 0.1
LIMIT_S = 60.0 + ROUNDS
LOOK_S = 0.02


class Result(Struct):
    """What a series of rounds left behind."""

    jobs: int
    runs: list[Run]
    killed: set[int]
    exit_codes: list[int]

    @property
    def summary(self) -> str:
        """One line of figures."""
        counts = Counter(Counter(run.body for run in self.runs).values())
        finished = {run.body for run in self.runs if run.is_finished}
        cut_short = sum(not run.is_finished for run in self.runs)
        return (
            f"{len(self.killed)} workers killed, {self.jobs} jobs, {len(finished)} done,"
            f" {self.jobs - len(finished)} lost; {len(self.runs)} runs, {cut_short} of them cut"
            f" short; {counts[1]} jobs ran once, {counts[2]} twice,"
            f" {sum(counts.values()) - counts[1] - counts[2]} more often;"
            f" {len(self.unexplained)} again without a death"
        )

    @property
    def unexplained(self) -> list[str]:
        """The jobs that ran again although the worker that had them before was not killed."""
        runs_of: dict[str, list[Run]] = {}
        for run in self.runs:
            runs_of.setdefault(run.body, []).append(run)
        return [
            body
            for body, runs in runs_of.items()
            if any(earlier.pid not in self.killed for earlier in runs[:-1])
        ]


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[MortalServer]:
    """A server that is not killed here."""
    with run_mortal_server(request.param) as server:
        yield server


async def kill_in_rounds(address: str, notes: Path, rng: random.Random) -> Result:
    """Kill a worker in each round; then let those that are there finish, and stop them."""
    workers: list[Any] = [start(address, notes) for _ in range(WORKERS)]
    killed: set[int] = set()
    try:
        async with beanstalk.connect(address) as client:
            await client.use(TUBE)
            for number in range(ROUNDS):
                first = number * JOBS
                await client.put_many([b"%d" % each for each in range(first, first + JOBS)])
                await trio.sleep(rng.uniform(0, ROUND_S))
                victim = workers.pop(rng.randrange(WORKERS))
                victim.kill()
                await trio.to_thread.run_sync(victim.join)
                killed.add(victim.pid)
                workers.append(start(address, notes))
            while await jobs_left(client, TUBE):  # noqa: ASYNC110 - other processes work
                await trio.sleep(LOOK_S)
        codes = []
        for worker in workers:
            worker.terminate()
            await trio.to_thread.run_sync(worker.join, END_S)
            codes.append(worker.exitcode)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
            worker.close()
    return Result(ROUNDS * JOBS, list(read_runs(notes)), killed, codes)


def test_killed_workers(server: MortalServer, tmp_path: Path, seed: int) -> None:
    """Every job is done at least once, and runs again only where a worker died with it."""

    async def work() -> Result:
        with trio.fail_after(LIMIT_S):
            return await kill_in_rounds(server.address, tmp_path / "notes", random.Random(seed))

    result = trio.run(work)

    print(f"{server.kind}: {result.summary}")
    finished = {run.body for run in result.runs if run.is_finished}
    assert finished == {str(number) for number in range(result.jobs)}
    assert result.unexplained == []
    assert result.exit_codes == [0] * WORKERS
    assert len(result.killed) == ROUNDS
