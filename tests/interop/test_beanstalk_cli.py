"""The commands in tuber's words, against a real beanstalkd and against our node.

Each test uses a tube of its own, for all of a server's tests share it.
"""

import json
import os
import pty
import re
import signal
import subprocess

import pytest

from etcdq.cli.lines import READ_BYTES
from tests.support.command_line import Run, command, count, outcome, start
from tests.support.processes import clean_environment

TIMEOUT_S = 60.0


@pytest.fixture
def has_tags(etcdq: Run) -> bool:
    """Whether the server speaks tuber's dialect."""
    return "tuber" in etcdq("stats").stdout


@pytest.fixture
def etcdq(beanstalk_etcdq: Run) -> Run:
    """Return a function that runs `etcdq` with ETCDQ_BEANSTALK_URL set."""
    return beanstalk_etcdq


# put ----------------------------------------------------------------------------------------


def test_put_one(etcdq: Run, tube: str) -> None:
    """The job is there with its body, priority, delay and time to run, and its id is printed."""
    done = etcdq("put", "-t", tube, "-p", "7", "-d", "100", "--ttr", "9", "the body")

    assert (done.returncode, done.stderr) == (0, "")
    (job_id,) = done.stdout.split()
    job = json.loads(etcdq("peek", job_id, "--json").stdout)
    assert (job["body"], job["pri"], job["delay"], job["ttr"]) == ("the body", 7, 100, 9)
    assert (job["tube"], job["state"], job["id"]) == (tube, "delayed", int(job_id))


@pytest.mark.parametrize("dash", [(), ("-",)])
def test_put_lines(dash: tuple[str, ...], etcdq: Run, tube: str) -> None:
    """One job a line, in order, empty lines left out; an id a line comes back, in that order."""
    name = tube + str(len(dash))
    done = etcdq("put", "-t", name, *dash, stdin="a\n\nb\nlast without end")

    ids = done.stdout.split()
    assert (done.returncode, done.stderr) == (0, "")
    assert ids == sorted(ids, key=int)
    bodies = [json.loads(etcdq("peek", each, "--json").stdout)["body"] for each in ids]
    assert bodies == ["a", "b", "last without end"]


def test_put_nothing(etcdq: Run, tube: str) -> None:
    """An empty input is no job."""
    assert outcome(etcdq("put", "-t", tube)) == (0, "", "")


def test_put_many_lines(etcdq: Run, tube: str) -> None:
    """An input longer than one read is put whole, and in order."""
    lines = [f"line {number} {'x' * 100}" for number in range(1000)]
    assert sum(map(len, lines)) > READ_BYTES

    ids = etcdq("put", "-t", tube, stdin="\n".join(lines)).stdout.split()

    assert len(ids) == 1000
    assert ids == sorted(ids, key=int)
    for place in (0, 700, 999):
        body = json.loads(etcdq("peek", ids[place], "--json").stdout)["body"]
        assert body == lines[place]


def test_put_one_line_too_big(etcdq: Run, tube: str) -> None:
    """A line that is refused is told by its number; the others are put all the same."""
    done = etcdq("put", "-t", tube, stdin=f"a\n{'x' * 70_000}\nb\n")

    assert done.returncode == 1
    assert len(done.stdout.split()) == 2
    assert re.fullmatch(r"etcdq put: line 2: put: .* \(JOB_TOO_BIG\)\n", done.stderr)
    assert count(etcdq, tube, "ready") == 2


def test_tags(etcdq: Run, tube: str, has_tags: bool) -> None:
    """Tags reach a server that knows them; of a plain beanstalkd nothing is asked at all."""
    first = etcdq("put", "-t", tube, "-i", "k:60", "-g", "g", "-c", "c:2", "delete 1")
    again = etcdq("put", "-t", tube, "-i", "k:60", "-p", "0", "other")
    after = etcdq("put", "-t", tube, "--aft", "g", "x")

    if not has_tags:
        for done in (first, again, after):
            expected = "etcdq: put: the server knows no idp, grp, aft and con\n"
            assert outcome(done) == (1, "", expected)
        assert count(etcdq, tube, "ready") == 0
        return
    job_id = first.stdout.strip()
    assert outcome(again) == (0, f"{job_id} READY\n", "")
    job = json.loads(etcdq("peek", job_id, "--json").stdout)
    assert (job["idempotency-key"], job["group"], job["concurrency-key"]) == ("k", "g", "c")
    job = json.loads(etcdq("peek", after.stdout.strip(), "--json").stdout)
    assert job["after-group"] == "g"


def test_drain(etcdq: Run, tube: str, has_tags: bool) -> None:
    """A draining server refuses every line, and says so once for each of them that was read."""
    drained = etcdq("drain")
    if not has_tags:
        assert drained.returncode == 1
        assert drained.stderr.endswith("does not know this command (UNKNOWN_COMMAND)\n")
        return
    try:
        assert drained.stdout == "draining: no more jobs are taken until `etcdq undrain`\n"
        done = etcdq("put", "-t", tube, stdin="a\nb\n")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.count("(DRAINING)") == 2
        assert "draining" in etcdq("top", "--count", "1").stdout.splitlines()[0]
    finally:
        assert etcdq("undrain").stdout == "not draining: jobs are taken\n"
    assert etcdq("put", "-t", tube, "a").returncode == 0


# looking and tending ------------------------------------------------------------------------


def test_tubes(etcdq: Run, tube: str) -> None:
    """Each tube with its counts, as people read it, and for programs."""
    etcdq("put", "-t", tube, stdin="1\n2\n")
    etcdq("put", "-t", tube, "-d", "100", "3")

    lines = [line.split() for line in etcdq("tubes").stdout.splitlines()]
    listed = json.loads(etcdq("tubes", "--json").stdout)

    assert lines[0] == ["TUBE", "READY", "RESERVED", "DELAYED", "BURIED", "WAITING", "WATCHING"]
    assert [tube, "2", "0", "1", "0", "0", "0"] in lines
    assert listed[tube]["current-jobs-ready"] == 2
    assert listed["default"]["name"] == "default"


def test_stats(etcdq: Run, tube: str) -> None:
    """The server's own fields, by its own names, in its own order."""
    etcdq("put", "-t", tube, "x")

    lines = etcdq("stats").stdout.splitlines()
    of_tube = etcdq("stats", "-t", tube).stdout.splitlines()

    assert lines[0].startswith("current-jobs-urgent: ")
    assert re.fullmatch(r"rusage-utime: \d+\.\d{6}", next(x for x in lines if "utime" in x))
    assert of_tube[0] == f"name: {tube}"
    assert "current-jobs-ready: 1" in of_tube


def test_peek_and_kick(etcdq: Run, tube: str) -> None:
    """The first job of a state is shown; kicking returns how many became ready."""
    etcdq("put", "-t", tube, "-d", "100", stdin="a\tb\nc\nd\n")

    head, row = etcdq("peek", "-t", tube, "--state", "delayed").stdout.splitlines()
    assert head.split()[:3] == ["ID", "STATE", "PRI"]
    assert row.split()[1] == "delayed"
    assert row.endswith("a\\tb")
    assert etcdq("kick", "-t", tube, "--bound", "1").stdout == "1 job kicked\n"
    assert etcdq("kick", row.split()[0]).returncode == 1  # it is ready already
    assert etcdq("kick", "-t", tube).stdout == "2 jobs kicked\n"
    assert count(etcdq, tube, "ready") == 3


def test_kick_by_id(etcdq: Run, tube: str) -> None:
    """Jobs are kicked by their ids too."""
    ids = etcdq("put", "-t", tube, "-d", "100", stdin="a\nb\nc\n").stdout.split()

    assert etcdq("kick", *ids[1:]).stdout == "2 jobs kicked\n"
    assert (count(etcdq, tube, "ready"), count(etcdq, tube, "delayed")) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("put", "-t", "a b", "x"), 2, "etcdq put: tube 'a b': a name has"),
        (("put", "-t", "-x", "x"), 2, "etcdq put: tube '-x'"),
        (("put", "-i", "a:b", "x"), 2, "etcdq put: idp 'a:b'"),
        (("put", "-p", "-1", "x"), 2, "etcdq put: Invalid value for '-p'"),
        (("put", "-a", "http://h", "x"), 2, "etcdq put: address 'http://h'"),
        (("work", "-j", "0"), 2, "etcdq work: Invalid value for '-j'"),
        (("work", "-t", "a b"), 2, "etcdq work: tube 'a b'"),
        (("kick", "5", "--bound", "1"), 2, "etcdq kick: --bound is for"),
        (("peek", "--state", "x"), 2, "etcdq peek: Invalid value"),
        (("peek", "-t", "never-used"), 1, "etcdq: there is no ready job in never-used"),
        (("peek", "18446744073709551615"), 1, "etcdq: peek 18446744073709551615: there is no"),
        (("stats", "-t", "nowhere"), 1, "etcdq: stats-tube nowhere: there is no such"),
        (("top", "--interval", "0"), 2, "etcdq top: Invalid value for '--interval'"),
    ],
)
def test_wrong_use(etcdq: Run, arguments: tuple[str, ...], code: int, text: str) -> None:
    """One line on stderr, nothing on stdout; 2 for a wrong value, 1 for what the server refuses."""
    done = etcdq(*arguments)

    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(text)
    assert done.stderr.count("\n") == 1


# top ----------------------------------------------------------------------------------------


def test_top(etcdq: Run, tube: str, has_tags: bool) -> None:
    """Plain tables where there is no terminal: a line about the server, each tube, a sum."""
    etcdq("put", "-t", tube, stdin="a\nb\n")

    done = etcdq("top", "--count", "2", "--interval", "0.1")

    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.strip().split("\n\n")
    for look, rate in ((first, "-"), (second, "0.0")):
        headline, head, *rows = look.splitlines()
        assert re.match(r"127\.0\.0\.1:\d+: version .*, up \d\d:\d\d:\d\d, 1 connections", headline)
        assert ("P95" in head, "RES/S" in head) == (has_tags, has_tags)
        (row,) = [row.split() for row in rows if row.split()[0] == tube]
        assert row[1] == rate
        assert row[head.split().index("READY")] == "2"
        assert rows[-1].split()[0] == "(all)"


def test_top_on_a_terminal(beanstalk_address: str, etcdq: Run, tube: str) -> None:
    """On a terminal the table is drawn over and over in its place."""
    etcdq("put", "-t", tube, "a")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("top", "--count", "3", "--interval", "0.1"),
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=clean_environment(
            ETCDQ_BEANSTALK_URL=beanstalk_address, TERM="xterm", COLUMNS="150", LINES="50"
        ),
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65_536)
        except OSError:  # how Linux says that a terminal's other side is closed
            break
        shown += data
    os.close(ours)

    assert process.communicate(timeout=TIMEOUT_S)[1] == b""
    assert process.returncode == 0
    assert shown.count(b"WATCH") >= 3
    assert shown.count(tube.encode()) >= 3
    assert b"\x1b[1A" in shown  # up a line, to draw over it


def test_interrupted_top(beanstalk_address: str) -> None:
    """Ctrl-C ends it as a shell expects: 130, no traceback."""
    process = start("top", ETCDQ_BEANSTALK_URL=beanstalk_address)
    assert process.stdout is not None
    assert "version" in process.stdout.readline()

    process.send_signal(signal.SIGINT)

    assert process.communicate(timeout=TIMEOUT_S)[1] == ""
    assert process.returncode == 130


# how it ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [("put", "x"), ("work",), ("tubes",), ("stats",), ("kick",), ("top",), ("drain",)]
)
def test_nobody_listens(etcdq: Run, arguments: tuple[str, ...]) -> None:
    """A refused connection is one clear line and exit code 1; -a beats the environment."""
    done = etcdq(*arguments, "-a", "127.0.0.1:1")

    expected = "etcdq: cannot connect to 127.0.0.1:1: connection refused\n"
    assert outcome(done) == (1, "", expected)


def test_tubers_variable(
    beanstalk_address: str, etcdq: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program set up for tuber finds its server."""
    monkeypatch.delenv("ETCDQ_BEANSTALK_URL")
    monkeypatch.setenv("TUBER_URL", f"tuber://{beanstalk_address}")

    assert etcdq("tubes").returncode == 0


def test_closed_output(beanstalk_address: str, etcdq: Run, tube: str) -> None:
    """When nobody reads any more a command ends without a word, as others in a pipe do."""
    process = start("put", "-t", tube, stdin=subprocess.PIPE, ETCDQ_BEANSTALK_URL=beanstalk_address)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write("a\n")
    process.stdin.flush()
    assert process.stdout.readline().strip().isdigit()
    process.stdout.close()
    process.stdin.write("b\n")
    process.stdin.close()

    stderr = process.stderr.read()

    assert process.wait(timeout=TIMEOUT_S) == 1
    assert stderr == ""
    process.stderr.close()
