"""`etcdq schedule` as a user runs it: checked, shown, and as processes on real servers."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
import trio

from etcdq import beanstalk
from tests.support.beanstalk_peer import run_beanstalkd
from tests.support.command_line import Run, command, outcome, runner
from tests.support.processes import clean_environment, free_port, run_etcdq

TIMEOUT_S = 60.0
SCHEDULE = """
timezone: Europe/Berlin
entries:
  - {name: poll, class: Poller, every: 1s, tube: TUBE, overlap: queue, queue_max: 1000}
"""

Until = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="module")
def ours_beanstalk() -> Iterator[str]:
    """Where the beanstalk door of our node listens."""
    address = f"127.0.0.1:{free_port()}"
    with run_etcdq("--listen-beanstalk", address):
        yield address


@pytest.fixture
def offline(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Return a function that runs `etcdq` where no server is needed."""
    return runner(monkeypatch, capfd, tmp_path)


@pytest.fixture
def file(tmp_path: Path, tube: str) -> Path:
    """A schedule that puts into the test's tube each second."""
    path = tmp_path / "schedule.yml"
    path.write_text(SCHEDULE.replace("TUBE", tube))
    return path


class Process:
    """A scheduler in a process of its own; what it says is kept in a file."""

    def __init__(self, address: str, file: Path, name: str, *arguments: str) -> None:
        self._log = file.with_name(f"{name}.log")
        flags = arguments or ("--state", str(file.with_name(f"{name}.state")))
        with self._log.open("a") as stream:
            self.process = subprocess.Popen(
                command("schedule", str(file), "-a", address, *flags),
                stderr=stream,
                env=clean_environment(),
            )

    def lines(self, pattern: str = "") -> list[str]:
        """Return the lines it said that have this in them."""
        said = self._log.read_text().splitlines()
        return [line.removeprefix("etcdq schedule: ") for line in said if re.search(pattern, line)]

    def tell(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=TIMEOUT_S)


@pytest.fixture
def schedule(file: Path) -> Iterator[Callable[..., Process]]:
    """Return a function that starts a scheduler, given an address and a name."""
    started: list[Process] = []

    def run(address: str, name: str = "one", *arguments: str) -> Process:
        started.append(Process(address, file, name, *arguments))
        return started[-1]

    yield run
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait(timeout=TIMEOUT_S)


def take(address: str, tube: str) -> list[str]:
    """Take all jobs that are ready, and return the seconds since the epoch of their slots."""

    async def reserved() -> list[str]:
        found = []
        async with beanstalk.connect(address) as client:
            await client.watch(tube)
            with suppress(beanstalk.TimedOutError):
                while True:
                    job = await client.reserve(0)
                    found.append(json.loads(job.body)["slot"])
                    await client.delete(job.job_id)
        return found

    return trio.run(reserved)


def span(slots: list[str]) -> int:
    """Return how many seconds there are from the first slot to the last, both counted."""
    first, last = (datetime.fromisoformat(slots[place]).timestamp() for place in (0, -1))
    return int(last - first) + 1


def test_check(offline: Run, file: Path) -> None:
    """A right file is said to be right; one that is not is told line by line, exit code 2."""
    assert outcome(offline("schedule", str(file), "--check")) == (
        0,
        f"{file}: 1 entries, all right\n",
        "",
    )
    file.write_text("entries: [{name: a, task: a, every: 1x, ttr: 0}, {name: b}]")
    for arguments in ((), ("--check",), ("--next", "3")):
        code, stdout, stderr = outcome(offline("schedule", str(file), *arguments))
        assert (code, stdout) == (2, "")
        assert stderr.splitlines() == [
            f"etcdq schedule: {file}: entry 'a': every: '1x' is not an interval, as in 60s, 5m,"
            " 2h or 1d",
            f"etcdq schedule: {file}: entry 'a': ttr: 0 is not a whole number from 1 to 4294967295",
            f"etcdq schedule: {file}: entry 'b': class: exactly one of class and task is needed",
        ]


def test_next(offline: Run, file: Path) -> None:
    """The next runs of all entries in their order, each by the clock of its zone."""
    file.write_text("""
timezone: Europe/Berlin
entries:
  - {name: yearly, task: report, cron: "@yearly", tube: reports}
  - {name: poll, class: Poller, every: 365d, timezone: America/New_York}
""")
    code, stdout, stderr = outcome(offline("schedule", str(file), "--next", "5"))

    lines = stdout.splitlines()
    assert (code, stderr, len(lines)) == (0, "", 5)
    assert sum("  yearly  reports  task report" in line for line in lines) in (2, 3)
    for line in lines:
        if "yearly" in line:
            assert re.match(r"\d{4}-01-01T00:00:00\+01:00  yearly ", line)
        else:
            assert re.match(r"\d{4}-\d\d-\d\dT\d\d:00:00-0[45]:00  poll    default  class", line)


def test_wrong_address(offline: Run, file: Path) -> None:
    """An address of no known form is wrong usage."""
    code, _, stderr = outcome(offline("schedule", str(file), "-a", "http://here"))

    assert code == 2
    assert stderr.splitlines()[-1].startswith("etcdq schedule: address 'http://here' is not")


def test_schedule(
    beanstalk_address: str,
    tube: str,
    schedule: Callable[..., Process],
    wait_until: Until,
) -> None:
    """Jobs come each second, whatever the server is; a signal ends it with exit code 0."""
    take(beanstalk_address, tube)
    process = schedule(beanstalk_address)

    wait_until(lambda: len(process.lines("is job")) >= 3)

    assert process.end() == 0
    slots = take(beanstalk_address, tube)
    assert slots == sorted(set(slots))
    assert len(slots) == len(process.lines("is job"))
    missed = [line.split()[1] for line in process.lines("missed")]  # on a busy machine
    assert len(slots) + sum(map(int, missed)) == span(slots)
    assert process.lines()[0].startswith("1 entries of ")


def test_which_server_knows_keys(
    schedule: Callable[..., Process], wait_until: Until, ours_beanstalk: str
) -> None:
    """A plain beanstalkd is said to know no keys, once; our node knows them."""
    with run_beanstalkd() as plain:
        processes = [schedule(plain, "plain"), schedule(ours_beanstalk, "ours")]
        wait_until(lambda: all(len(each.lines("is job")) >= 2 for each in processes))
        told = [len(each.lines("knows no keys")) for each in processes]
        assert [each.end() for each in processes] == [0, 0]

    assert told == [1, 0]


def test_three_schedulers(
    ours_beanstalk: str, tube: str, schedule: Callable[..., Process], wait_until: Until
) -> None:
    """One is stopped for a while, one is killed and started again: each slot has one job."""
    first, second, third = (schedule(ours_beanstalk, name) for name in ("one", "two", "three"))
    wait_until(lambda: all(each.lines("is job") for each in (first, second, third)))

    first.tell(signal.SIGSTOP)
    third.end(signal.SIGKILL)
    before = len(second.lines("is job"))
    wait_until(lambda: len(second.lines("is job")) >= before + 3)
    first.tell(signal.SIGCONT)
    third = schedule(ours_beanstalk, "three")
    wait_until(lambda: third.lines("missed") and first.lines("missed"))
    before = len(second.lines("is job"))
    wait_until(lambda: len(second.lines("is job")) >= before + 2)
    assert [each.end() for each in (first, second, third)] == [0, 0, 0]

    slots = take(ours_beanstalk, tube)
    assert slots == sorted(set(slots)), "none twice"
    assert len(slots) >= span(slots) - len(second.lines("missed")), "none left out"
    assert first.lines("is job .* already")


def test_server_that_is_restarted(
    tube: str, schedule: Callable[..., Process], wait_until: Until
) -> None:
    """The scheduler waits for its server, and goes on when it is back."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    process = schedule(address)
    wait_until(lambda: process.lines("is not put yet: cannot connect"))
    for round_number in (1, 2):
        with run_etcdq("--listen-beanstalk", address):
            before = len(process.lines("is job"))
            wait_until(lambda before=before: len(process.lines("is job")) >= before + 2)
        away = round_number + 1
        wait_until(lambda away=away: len(process.lines("connecting again")) == away)

    assert process.end() == 0
    assert len(process.lines("connected to")) == 2


def test_reload(
    ours_beanstalk: str,
    file: Path,
    schedule: Callable[..., Process],
    wait_until: Until,
) -> None:
    """SIGHUP reads the file again; one that is wrong is told in a line, and changes nothing."""
    process = schedule(ours_beanstalk)
    wait_until(lambda: process.lines("poll: .* is job"))

    right = file.read_text()
    file.write_text(right.replace("1s", "soon").replace("queue_max", "most"))
    process.tell(signal.SIGHUP)
    wait_until(lambda: process.lines("stays as it was"))
    before = len(process.lines("poll: .* is job"))
    wait_until(lambda: len(process.lines("poll: .* is job")) >= before + 2)
    file.write_text(right.replace("name: poll", "name: other"))
    process.tell(signal.SIGHUP)
    wait_until(lambda: process.lines("other: .* is job"))

    assert process.end() == 0
    (told,) = process.lines("stays as it was")
    assert told == (
        f"{file}: entry 'poll': every: 'soon' is not an interval, as in 60s, 5m, 2h or 1d (and 1"
        " more): the schedule stays as it was"
    )
    assert process.lines("read again") == [f"read again: 1 entries of {file}"]
    assert process.lines()[-1].startswith("other: ")


def test_state_that_cannot_be_kept(
    ours_beanstalk: str, file: Path, schedule: Callable[..., Process], wait_until: Until
) -> None:
    """Without a place for its state it works, and says once what that means."""
    missing = file.with_name("missing") / "state"
    process = schedule(ours_beanstalk, "one", "--state", str(missing))
    wait_until(lambda: len(process.lines("is job")) >= 2)

    assert process.end(signal.SIGINT) == 0
    assert process.lines("not written") == [
        f"{missing}: not written: No such file or directory: after a restart nothing is caught up"
        " with (--state says where to write)"
    ]


def get(port: int, path: str) -> tuple[int, str]:
    """Probe a scheduler: return status code and body; 0 while it does not listen."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT_S) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()
    except URLError:
        return 0, ""


def test_probes(
    ours_beanstalk: str, schedule: Callable[..., Process], wait_until: Until, tmp_path: Path
) -> None:
    """Live as long as it runs; ready while its server is there; the metrics count what it did."""
    ports = {name: free_port() for name in ("there", "away")}
    there = schedule(ours_beanstalk, "there", "--health", str(ports["there"]))
    away = schedule(f"unix:{tmp_path}/nobody", "away", "--health", f"127.0.0.1:{ports['away']}")
    wait_until(lambda: there.lines("is job") and away.lines("not put yet"))

    assert [get(ports["there"], path)[0] for path in ("/live", "/ready")] == [200, 200]
    assert re.search(r"etcdq_scheduler_put_total [1-9]", get(ports["there"], "/metrics")[1])
    assert "etcdq_scheduler_refused_total 0.0" in get(ports["there"], "/metrics")[1]
    assert [get(ports["away"], path)[0] for path in ("/live", "/ready")] == [200, 503]
    assert re.search(r"etcdq_scheduler_failed_total [1-9]", get(ports["away"], "/metrics")[1])
    assert [there.end(), away.end()] == [0, 0]


BROKEN = """
import sys
from etcdq import cli
from {module} import {name}

def fail(*_):
    raise RuntimeError("a fault")

{name}.{method} = fail
sys.argv = ["etcdq", *sys.argv[1:]]
cli.main()
"""


@pytest.mark.parametrize(
    ("module", "name", "method"),
    [
        ("etcdq.schedule.scheduler", "Scheduler", "_look"),
        ("etcdq.health", "HealthServer", "check"),
    ],
)
def test_part_that_dies(
    module: str, name: str, method: str, file: Path, ours_beanstalk: str
) -> None:
    """No part of a scheduler goes on without the others: it ends, and not with exit code 0."""
    script = BROKEN.format(module=module, name=name, method=method)
    flags = ("-a", ours_beanstalk, "--health", str(free_port()))
    done = subprocess.run(
        [sys.executable, "-c", script, "schedule", str(file), *flags],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )

    assert done.returncode == 1
    assert "RuntimeError: a fault" in done.stderr


@pytest.mark.parametrize("health", ["nowhere", "here:", "1:2:3", "70000", "192.0.2.1:80"])
def test_no_place_for_probes(offline: Run, file: Path, health: str) -> None:
    """Where nothing can be answered, nothing is begun."""
    code, stdout, stderr = outcome(offline("schedule", str(file), "--health", health))

    assert (code, stdout) == (2, "")
    assert re.search("is not of the form|cannot answer probes on 192.0.2.1:80: ", stderr)
