"""`etcdq work` as a process, against a real beanstalkd and against our node."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.beanstalk_peer import run_beanstalkd
from tests.support.command_line import Run, command, count, figures, start
from tests.support.processes import clean_environment

TIMEOUT_S = 60.0

Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def etcdq(beanstalk_etcdq: Run) -> Run:
    """Return a function that runs `etcdq` with ETCDQ_BEANSTALK_URL set."""
    return beanstalk_etcdq


def work(address: str, *arguments: str) -> subprocess.Popen[str]:
    """Start `etcdq work` in a process of its own."""
    return start("work", *arguments, ETCDQ_BEANSTALK_URL=address)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end; return exit code, output and errors."""
    stdout, stderr = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, stdout, stderr


def test_work(beanstalk_address: str, etcdq: Run, tube: str, wait_until: Until) -> None:
    """Success deletes; a failure is told, released and tried again, and buried in the end."""
    etcdq("put", "-t", tube, "-p", "5", stdin="echo one\nexit 3\necho two\n")
    process = work(beanstalk_address, "-t", tube, "--tries", "2")

    wait_until(lambda: count(etcdq, tube, "buried") == 1)
    process.terminate()

    code, stdout, stderr = finish(process)
    assert (code, stdout.splitlines()) == (0, ["one", "two"])
    assert re.fullmatch(
        r"etcdq work: job (\d+) failed \(exit code 3\), try 1 of 2: again in 1 s\n"
        r"etcdq work: job \1 failed \(exit code 3\), try 2 of 2: buried\n",
        stderr,
    )
    job = json.loads(etcdq("peek", "-t", tube, "--state", "buried", "--json").stdout)
    assert (job["body"], job["pri"], job["releases"], job["buries"]) == ("exit 3", 5, 1, 1)
    assert (count(etcdq, tube, "ready"), count(etcdq, tube, "reserved")) == (0, 0)


def test_work_in_parallel(
    beanstalk_address: str, etcdq: Run, tube: str, tmp_path: Path, wait_until: Until
) -> None:
    """With -j 2 two jobs run at once: each waits for what the other one does."""
    a, b = tmp_path / "a", tmp_path / "b"
    os.mkfifo(a)
    os.mkfifo(b)
    etcdq("put", "-t", tube, stdin=f"echo x > {a}; cat {b}\ncat {a}; echo y > {b}\n")
    process = work(beanstalk_address, "-t", tube, "-j", "2")

    wait_until(lambda: figures(etcdq, tube).get("cmd-delete") == 2)
    process.send_signal(signal.SIGINT)

    code, stdout, stderr = finish(process)
    assert (code, sorted(stdout.split()), stderr) == (0, ["x", "y"], "")


def test_job_is_kept_while_it_runs(
    beanstalk_address: str, etcdq: Run, tube: str, wait_until: Until
) -> None:
    """A command that takes longer than the time to run keeps its job, for it is touched."""
    (job_id,) = etcdq("put", "-t", tube, "--ttr", "1", "sleep 2.5; echo done").stdout.split()
    touches = json.loads(etcdq("stats", "--json").stdout)["cmd-touch"]
    process = work(beanstalk_address, "-t", tube)

    wait_until(lambda: figures(etcdq, tube).get("cmd-delete") == 1)
    process.terminate()

    assert finish(process) == (0, "done\n", "")
    assert etcdq("peek", job_id).returncode == 1
    assert json.loads(etcdq("stats", "--json").stdout)["cmd-touch"] >= touches + 3


def test_first_signal_lets_the_command_finish(
    beanstalk_address: str, etcdq: Run, tube: str
) -> None:
    """What runs is finished and deleted, nothing further is begun; also as Ctrl-C on a terminal."""
    etcdq("put", "-t", tube, stdin="echo started; sleep 0.5; echo done\necho never\n")
    process = subprocess.Popen(
        command("work", "-t", tube),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        env=clean_environment(ETCDQ_BEANSTALK_URL=beanstalk_address),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"

    os.killpg(process.pid, signal.SIGINT)

    assert finish(process) == (0, "done\n", "")
    assert count(etcdq, tube, "ready") == 1
    assert figures(etcdq, tube)["cmd-delete"] == 1


def test_second_signal_ends_the_command(
    beanstalk_address: str, etcdq: Run, tube: str, tmp_path: Path, wait_until: Until
) -> None:
    """All that the command has started is ended, and its job is ready again, with no release."""
    mark = tmp_path / "pid"
    job = f"sh -c 'echo $$ > {mark}; echo started; exec sleep 600'; exit 0"
    etcdq("put", "-t", tube, job)
    process = work(beanstalk_address, "-t", tube)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)

    assert finish(process)[0] == 3
    wait_until(lambda: not Path(f"/proc/{mark.read_text().strip()}").exists())
    wait_until(lambda: count(etcdq, tube, "ready") == 1)
    shown = json.loads(etcdq("peek", "-t", tube, "--json").stdout)
    assert (shown["reserves"], shown["releases"], shown["buries"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("kill -9 $$", r"failed \(signal 9\)"),
        ("x\0y", r"cannot be run \(embedded null byte\)"),
        ("cd /no/where", r"failed \(exit code 2\)"),
    ],
)
def test_how_a_command_fails(
    body: str, text: str, beanstalk_address: str, etcdq: Run, tube: str, wait_until: Until
) -> None:
    """Whatever is wrong with a job, it is told in a line, and the worker goes on."""
    name = f"{tube}_{len(body)}"
    etcdq("put", "-t", name, stdin=body + "\n")
    process = work(beanstalk_address, "-t", name, "--tries", "1")

    wait_until(lambda: count(etcdq, name, "buried") == 1)
    process.terminate()

    code, _, stderr = finish(process)
    assert code == 0
    assert re.search(rf"etcdq work: job \d+ {text}, try 1 of 1: buried\n", stderr)


def test_kicked_job_has_one_more_try(
    beanstalk_address: str, etcdq: Run, tube: str, wait_until: Until
) -> None:
    """A job that was buried is run again when it is kicked, and buried if it fails again."""
    etcdq("put", "-t", tube, "false")
    process = work(beanstalk_address, "-t", tube, "--tries", "1")

    wait_until(lambda: count(etcdq, tube, "buried") == 1)
    etcdq("kick", "-t", tube)
    wait_until(lambda: _buries(etcdq, tube) == 2)
    process.terminate()

    assert finish(process)[2].count("buried\n") == 2


def _buries(etcdq: Run, tube: str) -> int:
    done = etcdq("peek", "-t", tube, "--state", "buried", "--json")
    buries: int = json.loads(done.stdout)["buries"] if done.returncode == 0 else 0
    return buries


# beanstalkd 1.12 may forget that a job expires while others connect and leave.
@pytest.mark.parametrize("beanstalk_address", ["etcdq"], indirect=True)
def test_job_that_another_one_has_by_now(
    beanstalk_address: str, etcdq: Run, tube: str, tmp_path: Path, wait_until: Until
) -> None:
    """A job that expired while its worker was stopped is told, and left to who has it now."""
    mark, go = tmp_path / "mark", tmp_path / "go"
    os.mkfifo(go)
    stop = f"touch {mark}; echo started; kill -STOP $PPID"
    etcdq("put", "-t", tube, "--ttr", "1", f"if [ -e {mark} ]; then cat {go}; else {stop}; fi")
    first = work(beanstalk_address, "-t", tube)
    assert first.stdout is not None
    assert first.stdout.readline() == "started\n"
    second = work(beanstalk_address, "-t", tube)
    wait_until(lambda: figures(etcdq, tube)["total-reserves"] == 2)

    first.send_signal(signal.SIGTERM)
    first.send_signal(signal.SIGCONT)
    code, stdout, stderr = finish(first)
    go.write_text("done\n")
    second.terminate()

    assert (code, stdout) == (0, "")
    assert re.fullmatch(
        r"etcdq work: job \d+ expired, or was deleted, while its command ran\n", stderr
    )
    assert finish(second) == (0, "done\n", "")
    assert figures(etcdq, tube) == {}


@pytest.mark.parametrize("beanstalk_address", ["beanstalkd"], indirect=True)
def test_server_goes_away(tmp_path: Path, etcdq: Run) -> None:
    """A lost server ends the command that runs, and the worker with one line and exit code 1."""
    mark = tmp_path / "pid"
    with run_beanstalkd() as address:
        etcdq("put", "-a", address, "--ttr", "3", f"echo $$ > {mark}; echo go; exec sleep 600")
        process = work(address)
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"

    code, _, stderr = finish(process)
    assert code == 1
    assert stderr == f"etcdq: the connection to {address} is lost: the server closed it\n"
    assert not Path(f"/proc/{mark.read_text().strip()}").exists()
