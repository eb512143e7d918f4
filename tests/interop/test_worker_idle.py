"""A worker that has nothing to do, as a process: what it costs, and what it sends."""

import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.support.command_line import command
from tests.support.processes import clean_environment, free_port
from tests.support.proxy import Proxy, open_proxy

TIMEOUT_S = 60.0
LOOK_S = 0.05
IDLE_S = 2.0
CPU_PART_MAX = 0.1
"""A worker that turns a loop uses a whole processor; one that only waits, nearly nothing."""
PROBES = 100
CONNECTIONS = 5
APPLICATION = """
from etcdq.worker import TubeConsumer, consumer

@consumer("idle.async", concurrency=4)
async def one(job):
    pass

class Many(TubeConsumer):
    tubes = ("idle.batch", "idle.other")
    batch_size = 100
    def process_batch(self, jobs):
        pass
"""


def cpu_s(pid: int) -> float:
    """Return how long a process has run on a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def probe(url: str) -> int:
    """Return the status code of a probe; 0 while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except urllib.error.URLError:
        return 0


async def until(is_so: Callable[[], object]) -> None:
    """Look at another process until something is so."""
    while not await trio.to_thread.run_sync(is_so):  # noqa: ASYNC110 - it sets no event of ours
        await trio.sleep(LOOK_S)


@asynccontextmanager
async def idle_worker(folder: Path, proxy: Proxy, port: int) -> AsyncIterator[trio.Process]:
    """Run a worker that waits for jobs; it ends with 0."""
    await trio.Path(folder / "idle_jobs.py").write_text(APPLICATION)
    process = await trio.lowlevel.open_process(
        command("worker", "idle_jobs", "--health", str(port)),
        cwd=folder,
        env=clean_environment(ETCDQ_BEANSTALK_URL=proxy.endpoint),
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
        process.terminate()
        assert await process.wait() == 0
    finally:
        process.kill()
        await process.wait()


async def test_idle_worker(beanstalk_address: str, tmp_path: Path) -> None:
    """It sends nothing but its long poll, uses no processor, and probes do not reach the server."""
    port = free_port()
    with trio.fail_after(TIMEOUT_S):
        async with (
            open_proxy(beanstalk_address) as proxy,
            idle_worker(tmp_path, proxy, port) as process,
        ):
            await until(lambda: probe(f"http://127.0.0.1:{port}/ready") == 200)
            passed_bytes = -1
            while passed_bytes != proxy.passed_bytes:  # until its first reserves wait
                passed_bytes = proxy.passed_bytes
                await trio.sleep(10 * LOOK_S)

            used_s, began_s = cpu_s(process.pid), trio.current_time()
            await trio.sleep(IDLE_S)
            part = (cpu_s(process.pid) - used_s) / (trio.current_time() - began_s)
            print(f"{part:.1%} of a processor")
            for number in range(PROBES):
                path = ("live", "ready")[number % 2]
                assert (
                    await trio.to_thread.run_sync(probe, f"http://127.0.0.1:{port}/{path}") == 200
                )

            assert proxy.passed_bytes == passed_bytes
            assert proxy.connections == CONNECTIONS
            assert part < CPU_PART_MAX
