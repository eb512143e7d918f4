"""`etcdq worker` as a process, against a real beanstalkd and against our node."""

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.beanstalk_peer import run_beanstalkd
from tests.support.command_line import Run, command, count, figures
from tests.support.processes import clean_environment, free_port

TIMEOUT_S = 60.0
APPLICATION = """
import os, signal, sys, time
import trio
from etcdq.worker import TubeConsumer, consumer

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

@consumer("TUBE.async")
async def waits(job):
    say("begin", job.body.decode())
    await trio.sleep(float(job.body))
    say("end", job.body.decode())

@consumer("TUBE.plain", batch_size=10)
def plain(job):
    say("begin", job.body.decode())
    time.sleep(float(job.body))
    say("end", job.body.decode())

class Together(TubeConsumer):
    tubes = ("TUBE.batch",)
    batch_size = 100
    def process_batch(self, jobs):
        say("batch", *sorted(job.body.decode() for job in jobs))

class Freezing(TubeConsumer):
    tubes = ("TUBE.freeze",)
    def process(self, job):
        say("begin", os.getpid(), job.number)
        if job.number == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(0.1)  # a thread may go on for a moment
        say("end", os.getpid(), job.is_valid)

class Deadly(TubeConsumer):
    tubes = ("TUBE.deadly",)
    tries_max = 2
    def process(self, job):
        say("kills", os.getpid())
        os.kill(os.getpid(), signal.SIGKILL)
    def on_give_up(self, job, error):
        say("given up", error)

ROLES = {"deadly": [Deadly], "good": [waits, plain, Together]}
"""

Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def etcdq(beanstalk_etcdq: Run) -> Run:
    """Return a function that runs `etcdq` with ETCDQ_BEANSTALK_URL set."""
    return beanstalk_etcdq


@pytest.fixture
def tube(request: pytest.FixtureRequest) -> str:
    """The beginning of the names of tubes that no other test uses."""
    return re.sub(r"[^a-z0-9_]", "_", request.node.name)


class Workers:
    """Starts `etcdq worker` in a folder with an application."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, address: str | None = None) -> subprocess.Popen[str]:
        """Start one."""
        process = subprocess.Popen(
            command("worker", *arguments),
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(ETCDQ_BEANSTALK_URL=address or self._address),
        )
        self.running.append(process)
        return process


@pytest.fixture
def workers(tmp_path: Path, beanstalk_address: str, tube: str) -> Iterator[Workers]:
    """Return what starts workers of the application; end those that are left."""
    (tmp_path / "app_jobs.py").write_text(APPLICATION.replace("TUBE", tube))
    found = Workers(tmp_path, beanstalk_address)
    yield found
    for process in found.running:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that an application prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str], list[dict[str, Any]]]:
    """Wait for the end; return exit code, lines printed and lines logged."""
    stdout, stderr = process.communicate(timeout=TIMEOUT_S)
    return (
        process.returncode,
        stdout.splitlines(),
        [json.loads(each) for each in stderr.splitlines()],
    )


def sums(logged: list[dict[str, Any]], consumer: str) -> dict[str, int]:
    """Return what a consumer has done, less what it has not, as it said at its end."""
    (told,) = [
        each
        for each in logged
        if each["event"] == "consumer stopped" and each["consumer"] == consumer
    ]
    names = ("done", "failed", "given_up", "lost", "handed_back")
    return {name: told[name] for name in names if told[name]}


def test_consumers_of_a_module(etcdq: Run, tube: str, workers: Workers, wait_until: Until) -> None:
    """All its consumers work; SIGTERM ends it with 0."""
    etcdq("put", "-t", f"{tube}.batch", stdin="a\nb\nc\n")
    etcdq("put", "-t", f"{tube}.async", "0")
    etcdq("put", "-t", f"{tube}.plain", "0")
    process = workers.start("app_jobs", "--role", "good")

    printed = {line(process) for _ in range(5)}
    wait_until(lambda: figures(etcdq, f"{tube}.plain").get("cmd-delete") == 1)
    wait_until(lambda: figures(etcdq, f"{tube}.async").get("cmd-delete") == 1)
    wait_until(lambda: figures(etcdq, f"{tube}.batch").get("cmd-delete") == 3)
    process.terminate()

    code, rest, logged = finish(process)
    assert printed == {"batch a b c", "begin 0", "end 0"}
    assert (code, rest) == (0, [])
    assert sums(logged, "Together") == {"done": 3}


@pytest.mark.parametrize("handler", ["async", "plain"])
def test_heartbeats_go_on_while_shutting_down(
    handler: str, etcdq: Run, tube: str, workers: Workers
) -> None:
    """After SIGTERM the job is kept until its handler returns; nobody else gets it."""
    etcdq("put", "-t", f"{tube}.{handler}", "--ttr", "1", "2.5")
    first = workers.start("app_jobs", "--role", "good")
    assert line(first) == "begin 2.5"
    second = workers.start("app_jobs", "--role", "good")

    first.terminate()
    code, printed, _ = finish(first)
    second.terminate()

    assert (code, printed) == (0, ["end 2.5"])
    assert finish(second)[:2] == (0, [])
    states = ("ready", "reserved", "delayed", "buried")
    assert [count(etcdq, f"{tube}.{handler}", state) for state in states] == [0] * 4


@pytest.mark.parametrize("signals", [1, 2])
def test_prefetched_jobs_at_shutdown(
    signals: int, etcdq: Run, tube: str, workers: Workers, wait_until: Until
) -> None:
    """What has not started is ready before the process ends; a second signal hands back all."""
    name = f"{tube}.plain"
    etcdq("put", "-t", name, "-p", "7", stdin="1.5\n" * 10)
    process = workers.start("app_jobs", "--role", "good")
    assert line(process) == "begin 1.5"

    process.terminate()
    wait_until(lambda: count(etcdq, name, "ready") == 9)
    assert process.poll() is None
    if signals == 2:
        process.send_signal(signal.SIGINT)
    code, printed, logged = finish(process)

    if signals == 1:
        assert (code, printed) == (0, ["end 1.5"])
        assert sums(logged, "plain") == {"done": 1, "handed_back": 9}
    else:
        assert (code, printed) == (130, [])
        assert sums(logged, "plain") == {"handed_back": 10}
    shown = json.loads(etcdq("peek", "-t", name, "--json").stdout)
    assert (shown["pri"], shown["releases"], shown["kicks"]) == (7, 1, 1)
    assert count(etcdq, name, "ready") == 8 + signals


@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
def test_grace_is_over(etcdq: Run, tube: str, workers: Workers) -> None:
    """What has not ended by then is handed back, and the exit code says so."""
    name = f"{tube}.async"
    etcdq("put", "-t", name, "600")
    process = workers.start("app_jobs:waits", "--grace", "0.1s")
    assert line(process) == "begin 600"

    process.terminate()

    code, printed, logged = finish(process)
    assert (code, printed, sums(logged, "waits")) == (4, [], {"handed_back": 1})
    assert count(etcdq, name, "ready") == 1


# beanstalkd 1.12 may forget that a job expires while others connect and leave.
@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
def test_reservation_that_was_lost(
    etcdq: Run, tube: str, workers: Workers, wait_until: Until
) -> None:
    """Who was stopped for longer than the TTR has lost the job, and reports neither end."""
    etcdq("put", "-t", f"{tube}.freeze", "--ttr", "1", "x")
    first = workers.start("app_jobs:Freezing")
    assert line(first).startswith("begin")
    second = workers.start("app_jobs:Freezing")
    assert re.fullmatch(r"begin \d+ 2", line(second))
    assert re.fullmatch(r"end \d+ True", line(second))
    wait_until(lambda: figures(etcdq, f"{tube}.freeze").get("cmd-delete") == 1)

    first.send_signal(signal.SIGCONT)
    assert re.fullmatch(r"end \d+ False", line(first))
    first.terminate()
    second.terminate()

    code, _, logged = finish(first)
    assert (code, sums(logged, "Freezing")) == (0, {"lost": 1})
    code, _, logged = finish(second)
    assert (code, sums(logged, "Freezing")) == (0, {"done": 1})


def test_job_that_kills_its_workers(etcdq: Run, tube: str, workers: Workers) -> None:
    """A killed child is replaced; the job is given up unrun when it has used up its tries."""
    name = f"{tube}.deadly"
    etcdq("put", "-t", name, "x")
    process = workers.start("app_jobs", "--role", "deadly", "--processes", "2")

    printed = [line(process) for _ in range(3)]
    process.terminate()

    assert [each.split()[0] for each in printed] == ["kills", "kills", "given"]
    assert printed[2] == "given up 2 workers vanished while they had it"
    code, _, logged = finish(process)
    deaths = [each for each in logged if each["event"] == "a worker process died"]
    assert (code, [each["code"] for each in deaths]) == (0, [-signal.SIGKILL] * 2)


@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
def test_children_end_with_their_parent(
    etcdq: Run, tube: str, workers: Workers, wait_until: Until
) -> None:
    """Where the parent is killed, its children stop."""
    process = workers.start("app_jobs:waits", "--processes", "2")
    assert process.stderr is not None
    found: set[int] = set()
    started = 0
    while started < 2:
        told = json.loads(process.stderr.readline())
        if told["event"] == "worker process started":
            found.add(told["pid"])
        started += told["event"] == "consumer started"

    process.kill()

    wait_until(lambda: not any(_lives(pid) for pid in found))


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("beanstalk_address", ["beanstalkd"], indirect=True)
def test_server_that_comes_back(etcdq: Run, workers: Workers, tube: str) -> None:
    """A worker that was started before its server, and has lost it once, goes on."""
    with run_beanstalkd() as address:
        port = address.rpartition(":")[2]
        process = workers.start("app_jobs:waits", address=address)
        etcdq("put", "-a", address, "-t", f"{tube}.async", "0")
        assert [line(process), line(process)] == ["begin 0", "end 0"]
    with run_beanstalkd(port=int(port)):
        etcdq("put", "-a", address, "-t", f"{tube}.async", "0.1")
        assert [line(process), line(process)] == ["begin 0.1", "end 0.1"]
        process.terminate()
        assert finish(process)[0] == 0


@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
def test_server_that_is_not_there(etcdq: Run, workers: Workers) -> None:
    """Where attempts are limited, the worker ends with 1 and says why."""
    process = workers.start("app_jobs:waits", "--connect-tries", "1", address="127.0.0.1:1")

    code, printed, logged = finish(process)
    assert (code, printed) == (1, [])
    assert "cannot connect to 127.0.0.1:1: connection refused" in [
        each.get("error") for each in logged
    ]


@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
def test_probes(workers: Workers, wait_until: Until) -> None:
    """With --health each process answers them."""
    process = workers.start("app_jobs:waits", "--health", str(free_port()), "--processes", "2")
    assert process.stderr is not None
    urls: set[str] = set()
    while len(urls) < 2:
        urls |= {json.loads(process.stderr.readline()).get("url")} - {None}

    for url in urls:
        wait_until(lambda url=url: _is_ready(url))
    process.terminate()
    assert finish(process)[0] == 0


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=TIMEOUT_S) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False


@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("no_such",), "there is no module 'no_such' here"),
        (("app_jobs", "--role", "x"), "there is no role 'x', but all, deadly, good"),
        (("app_jobs", "--grace", "soon"), "'soon' is no time such as 30s, 5m or 1h"),
        (("app_jobs", "--addr", "http://x"), "address 'http://x'"),
        (("no_such", "--processes", "2"), "there is no module 'no_such' here"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], text: str, workers: Workers) -> None:
    """It is told in a line, with exit code 2; a child's too."""
    process = workers.start(*arguments)

    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2
    assert text in stderr
