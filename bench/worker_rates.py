"""Workers of ours and of others: jobs put beforehand, one worker process, watched from outside."""

import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.peers.progress import BROKER, COUNTER

_PEERS = Path(__file__).parent / "peers"
_CLIENTS = Path(__file__).parents[1] / ".clients"
_LOOK_S = 0.001
_PUT_TIMEOUT_S = 300
_STUCK_S = 30
_STOP_S = 15
_WARM_UP = 0.05
_END = 0.95
"""Parts of the jobs: what is before and after is not counted. The first one is a whole batch."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A worker: its environment under .clients/ ("": ours), its jobs, and how it is started.

    In `command`, `{broker}` stands for where the broker is.
    """

    environment: str
    module: str
    command: tuple[str, ...]

    def path(self, program: str) -> Path:
        """A program of its environment.

        Raises:
            RuntimeError: the environment is not there.
        """
        if not self.environment:
            return Path(sys.executable).with_name(program)
        path = _CLIENTS / self.environment / "bin" / program
        if not path.exists():
            raise RuntimeError(f"no {self.environment} here: scripts/bench_peers gets it")
        return path


@dataclass(frozen=True, slots=True)
class Rates:
    """`per_cpu_s` counts the CPU of the worker, `per_cpu_s_in_all` that of the broker too."""

    jobs_per_s: float
    per_cpu_s: float
    per_cpu_s_in_all: float
    enqueued_per_s: float


@dataclass(frozen=True, slots=True)
class _Sample:
    done: int
    now_s: float
    worker_cpu_s: float
    broker_cpu_s: float


def measure(
    framework: Framework, broker: str, broker_pid: int, *, jobs: int, seconds: float, pin: str
) -> Rates:
    """Put so many jobs, start the worker, and watch it, for so many seconds at most.

    Raises:
        RuntimeError: it did not come as far as it should; the text has the end of its log.
    """
    with tempfile.TemporaryDirectory(prefix="etcdq-bench-") as name:
        folder = Path(name)
        (folder / "counter").write_bytes(bytes(8))
        environment = {
            **os.environ,
            COUNTER: str(folder / "counter"),
            BROKER: broker,
        }
        began_s = time.perf_counter()
        subprocess.run(
            [framework.path("python"), f"{framework.module}.py", str(jobs)],
            cwd=_PEERS,
            env=environment,
            check=True,
            timeout=_PUT_TIMEOUT_S,
        )
        put_s = time.perf_counter() - began_s
        with _started(framework, environment, folder / "log", broker, pin) as process:
            watch = _Watch(process, broker_pid, folder)
            begin = watch.sample_at(jobs * _WARM_UP, _STUCK_S)
            end = watch.sample_at(jobs * _END, seconds)
    count = end.done - begin.done
    worker_cpu_s = end.worker_cpu_s - begin.worker_cpu_s
    broker_cpu_s = end.broker_cpu_s - begin.broker_cpu_s
    return Rates(
        jobs_per_s=count / (end.now_s - begin.now_s),
        per_cpu_s=count / worker_cpu_s,
        per_cpu_s_in_all=count / (worker_cpu_s + broker_cpu_s),
        enqueued_per_s=jobs / put_s,
    )


@contextmanager
def _started(
    framework: Framework, environment: dict[str, str], log: Path, broker: str, pin: str
) -> Iterator[subprocess.Popen[bytes]]:
    program, *arguments = framework.command
    command = ["taskset", "-c", pin, str(framework.path(program))]
    command += [each.format(broker=broker) for each in arguments]
    with log.open("wb") as sink:
        # A session of its own, as the servers: Ctrl-C reaches the bench alone.
        process = subprocess.Popen(
            command,
            cwd=_PEERS,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):  # some go on until their queue is empty
        process.wait(_STOP_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # and what it has forked
    process.wait()


class _Watch:
    """Looks at a worker's counter, and at the CPU it has used."""

    def __init__(self, process: subprocess.Popen[bytes], broker_pid: int, folder: Path) -> None:
        self._process = process
        self._broker_pid = broker_pid
        self._log = folder / "log"
        with (folder / "counter").open("r+b") as file:
            self._counter = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")

    def sample_at(self, done: float, limit_s: float) -> _Sample:
        """Look when so many jobs are done, or when the time is over."""
        began_s = time.perf_counter()
        before = self._counter[0]
        while (now := self._counter[0]) < done:
            # Just after a step of the counter: some make steps of a thousand.
            if time.perf_counter() > began_s + limit_s and now != before:
                break
            before = now
            if self._process.poll() is not None or time.perf_counter() > began_s + 2 * _STUCK_S:
                text = self._log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"a worker stays at job {now}:\n{text}")
            time.sleep(_LOOK_S)
        return _Sample(
            now,
            time.perf_counter(),
            _tree_cpu_s(self._process.pid),
            _tree_cpu_s(self._broker_pid),
        )


def _tree_cpu_s(pid: int) -> float:
    """CPU time of a process and of all that came of it, ended or not, in seconds."""
    try:
        # The kernel's name for the CPU clock of another process, to the nanosecond; that of
        # processes that have ended is known to the clock tick.
        cpu_s = time.clock_gettime((~pid << 3) | 2)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0  # it has just ended, and counts with its parent
    ended_s = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return cpu_s + ended_s + sum(_tree_cpu_s(int(child)) for child in children)
