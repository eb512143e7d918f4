"""The client's commands against a node in a process of its own: what they print, how they end.

Where signals or a closed output matter the command is a process too; else it runs in this one,
through the same entry point, because most of a process's time would be imports.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from etcdq import connect
from etcdq.cli.lines import READ_BYTES
from tests.support.command_line import Run, command, outcome, runner
from tests.support.command_line import start as start_etcdq
from tests.support.processes import run_etcdq

TIMEOUT_S = 60.0
UUID_FORM = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A node that all tests of this file share: each uses a queue of its own."""
    with run_etcdq() as endpoint:
        yield endpoint


@pytest.fixture
def etcdq(
    endpoint: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    """Return a function that runs `etcdq` with ETCDQ_ENDPOINTS set."""
    monkeypatch.setenv("ETCDQ_ENDPOINTS", endpoint)

    return runner(monkeypatch, capfd, tmp_path)


def start(endpoint: str, *arguments: str, stdin: int | None = None) -> subprocess.Popen[str]:
    """Start `etcdq` and leave it running."""
    return start_etcdq(*arguments, stdin=stdin, ETCDQ_ENDPOINTS=endpoint)


def test_produce_and_consume(etcdq: Run) -> None:
    """One message by argument, one a line from the standard input, and out they come in order."""
    assert outcome(etcdq("produce", "pc", "hello", "--key", "k1")) == (
        0,
        "1 message put into pc\n",
        "",
    )
    assert outcome(etcdq("produce", "pc", stdin="a\n\nlast without end")) == (
        0,
        "3 messages put into pc\n",
        "",
    )
    assert outcome(etcdq("produce", "pc", "-", stdin="dash")) == (
        0,
        "1 message put into pc\n",
        "",
    )

    done = etcdq("consume", "pc", "--count", "5")

    assert outcome(done) == (0, "hello\na\n\nlast without end\ndash\n", "")
    assert etcdq("queue", "peek", "pc").stdout.splitlines()[1:] == []


def test_produce_nothing(etcdq: Run) -> None:
    """An empty input is no message."""
    assert outcome(etcdq("produce", "nothing")) == (0, "0 messages put into nothing\n", "")


def test_many_lines(etcdq: Run) -> None:
    """An input longer than one read is pipelined, its order kept and its lines whole."""
    lines = "".join(f"line {number} {'x' * 100}\n" for number in range(1000))
    assert len(lines) > READ_BYTES
    assert etcdq("produce", "many", stdin=lines).stdout == "1000 messages put into many\n"

    done = etcdq("queue", "peek", "many", "--limit", "1000", "--json")

    assert "".join(job["body"] + "\n" for job in json.loads(done.stdout)) == lines
    assert etcdq("queue", "purge", "many").stdout == "1000 messages deleted\n"


def test_exec(etcdq: Run) -> None:
    """The body is the standard input; exit code 0 acknowledges, anything else does not."""
    etcdq("produce", "exec", stdin="good\nbad\ngood\n")

    done = etcdq("consume", "exec", "--count", "3", "--exec", "grep --line-buffered good")

    assert (done.returncode, done.stdout) == (3, "good\ngood\n")
    assert re.fullmatch(
        rf"etcdq consume: message {UUID_FORM} is not acknowledged: the command ended with 1\n"
        r"etcdq consume: 1 buried in exec: `etcdq queue kick exec` returns them\n",
        done.stderr,
    )
    assert etcdq("queue", "kick", "exec").stdout == "1 message kicked\n"
    assert outcome(etcdq("consume", "exec", "--count", "1", "--exec", "cat >&2")) == (0, "", "bad")


def test_count_takes_no_more_than_it_says(etcdq: Run) -> None:
    """Nothing is handed over ahead: what is beyond --count still waits, in order."""
    etcdq("produce", "ahead", stdin="1\n2\n3\n")

    done = etcdq("consume", "ahead", "--count", "1")

    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert etcdq("consume", "ahead", "--count", "2").stdout == "2\n3\n"


def test_what_was_left_unacknowledged_is_told_and_can_be_kicked(etcdq: Run) -> None:
    """However many commands fail, the next message comes; the end names what is buried."""
    etcdq("produce", "left", stdin="1\n2\n3\n")

    done = etcdq("consume", "left", "--count", "3", "--exec", "grep 3")

    assert (done.returncode, done.stdout) == (3, "3\n")
    assert "2 buried in left: `etcdq queue kick left` returns them" in done.stderr
    assert etcdq("queue", "kick", "left", "--bound", "1").stdout == "1 message kicked\n"
    assert etcdq("queue", "kick", "left").stdout == "1 message kicked\n"
    assert etcdq("consume", "left", "--count", "2").stdout == "1\n2\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_a_waiting_consumer(etcdq: Run, endpoint: str, number: int) -> None:
    """A consumer that waits ends at once, with exit code 0 and nothing on stderr."""
    name = f"signal-{int(number)}"
    process = start(endpoint, "consume", name)
    etcdq("produce", name, "x")
    assert process.stdout is not None
    assert process.stdout.readline() == "x\n"

    process.send_signal(number)

    assert process.communicate(timeout=TIMEOUT_S) == ("", "")
    assert process.returncode == 0


def test_signal_lets_the_command_finish(etcdq: Run, endpoint: str) -> None:
    """The first signal waits for the command that runs, and its message is acknowledged."""
    etcdq("produce", "finish", stdin="1\n2\n")
    program = "echo started; read go < /dev/stdin; sleep 0.2; echo $go done"
    process = start(endpoint, "consume", "finish", "--exec", program)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"

    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=TIMEOUT_S)

    assert (process.returncode, stdout, stderr) == (0, "1 done\n", "")
    shown = json.loads(etcdq("queue", "show", "finish", "--json").stdout)
    counts = shown["summary"]
    assert (shown["acknowledged_total"], counts["ready"], counts["buried"]) == (1, 1, 0)


def test_second_signal_stops_the_command(etcdq: Run, endpoint: str) -> None:
    """The second signal ends the command too; its message is not acknowledged."""
    etcdq("produce", "stop", "x")
    process = start(endpoint, "consume", "stop", "--exec", "echo started; exec sleep 600")
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 3
    assert "1 buried in stop" in stderr


def test_closed_output(etcdq: Run, endpoint: str) -> None:
    """When nobody reads any more the consumer ends with a line that says so, and no traceback."""
    process = start(endpoint, "consume", "closed")
    assert process.stdout is not None
    assert process.stderr is not None
    etcdq("produce", "closed", "first")
    assert process.stdout.readline() == "first\n"
    process.stdout.close()
    etcdq("produce", "closed", "second")

    stderr = process.stderr.read()

    assert process.wait(timeout=TIMEOUT_S) == 1
    assert stderr == "etcdq: the output is closed; the message in hand is not acknowledged\n"
    process.stderr.close()
    assert etcdq("queue", "kick", "closed").stdout == "1 message kicked\n"


def test_interrupted_producer(endpoint: str) -> None:
    """Ctrl-C ends a producer that waits for input, as a shell expects it: 130, no traceback."""
    process = start(endpoint, "produce", "interrupted", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write("a line\n")
    process.stdin.flush()
    wait_for_messages(endpoint, "interrupted")

    process.send_signal(signal.SIGINT)

    assert process.communicate(timeout=TIMEOUT_S) == ("", "")
    assert process.returncode == 130


def test_interrupted_demo(endpoint: str) -> None:
    """Ctrl-C ends the demo in the same way."""
    process = start(endpoint, "demo")
    assert process.stdout is not None
    assert "consumer 1" in process.stdout.readline()

    process.send_signal(signal.SIGINT)

    assert process.communicate(timeout=TIMEOUT_S)[1] == ""
    assert process.returncode == 130


def wait_for_messages(endpoint: str, name: str) -> None:
    """Return when the first message has come to a queue."""

    async def consume() -> None:
        async with connect(endpoint) as client, client.queue(name).consume() as messages:
            await (await anext(messages)).ack()

    trio.run(consume)


def test_consumer_identity(etcdq: Run, endpoint: str) -> None:
    """--consumer is the identity in the registry, in any form of a UUID."""
    process = start(endpoint, "consume", "named", "--consumer", "8F14E45FCEEA467FA0E61C0B6D3D7A11")
    etcdq("produce", "named", "x")
    assert process.stdout is not None
    assert process.stdout.readline() == "x\n"

    shown = json.loads(etcdq("queue", "show", "named", "--json").stdout)

    process.terminate()
    process.communicate(timeout=TIMEOUT_S)
    assert [one["uuid"] for one in shown["consumers"]] == ["8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"]


def test_queue_tables(etcdq: Run) -> None:
    """Queues, one queue and its messages, as people read them."""
    etcdq("produce", "tables", "body\twith tab", "--key", "k1")

    listed = etcdq("queue", "ls").stdout.splitlines()
    shown = etcdq("queue", "show", "tables").stdout
    peeked = etcdq("queue", "peek", "tables").stdout.splitlines()
    paused = etcdq("queue", "pause", "tables", "90").stdout
    resumed = etcdq("queue", "pause", "tables", "0").stdout

    assert listed[0].split() == [
        "QUEUE", "READY", "HELD", "DELAYED", "BURIED", "CONSUMERS", "WAITING",
    ]  # fmt: skip
    assert ["tables", "1", "0", "0", "0", "0", "0"] in [line.split() for line in listed]
    assert re.search(r"^puts_total: +1$", shown, re.MULTILINE)
    assert peeked[0].split() == ["INDEX", "KEY", "BYTES", "AGE", "S", "HOLDER", "BODY"]
    assert re.fullmatch(r"\d{16}  k1 +13 +\d+\.\d  - +body\\twith tab", peeked[1])
    assert (paused, resumed) == ("tables is paused for 90 s\n", "tables goes on\n")


def test_queue_json(etcdq: Run) -> None:
    """The same for programs."""
    etcdq("produce", "json", "x", "--key", "k")

    (job,) = json.loads(etcdq("queue", "peek", "json", "--json").stdout)
    summaries = json.loads(etcdq("queue", "ls", "--json").stdout)

    assert (job["key"], job["body"], job["body_base64"], job["state"]) == (
        "k",
        "x",
        "eA==",
        "ready",
    )
    assert [one["ready"] for one in summaries if one["name"] == "json"] == [1]
    assert json.loads(etcdq("queue", "kick", "json", "--json").stdout) == {"kicked": 0}
    assert json.loads(etcdq("queue", "pause", "json", "1.5", "--json").stdout) == {"paused_s": 1.5}
    assert json.loads(etcdq("queue", "purge", "json", "--json").stdout) == {"deleted": 1}


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("produce", "a/b", "x"), 2, "etcdq produce: queue name 'a/b' has a '/'"),
        (("produce", "q", "x", "--key", "a/b"), 2, "etcdq produce: a message's key is one segment"),
        (("produce", "q", "--key", "k"), 2, "etcdq produce: --key is for one message"),
        (("produce", "q", "x", "--endpoints", "https://h:1"), 2, "etcdq produce: endpoint"),
        (("produce",), 2, "etcdq produce: Missing argument 'NAME'"),
        (("consume", "q", "--count", "0"), 2, "etcdq consume: Invalid value for '--count'"),
        (("consume", "q", "--consumer", "x"), 2, "etcdq consume: Invalid value for '--consumer'"),
        (("queue", "pause", "q", "-1"), 2, "etcdq queue pause: "),
        (("queue", "peek", "q", "--state", "x"), 2, "etcdq queue peek: Invalid value"),
        (("queue", "show", "never-used"), 1, "etcdq: there is no queue 'never-used'"),
    ],
)
def test_wrong_use(etcdq: Run, arguments: tuple[str, ...], code: int, text: str) -> None:
    """One line on stderr, nothing on stdout; 2 for a wrong value, 1 for what the server refuses."""
    done = etcdq(*arguments)

    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(text)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("produce", "q", "x"), ("consume", "q"), ("queue", "ls"), ("queue", "kick", "q")]
)
def test_nobody_listens(etcdq: Run, arguments: tuple[str, ...]) -> None:
    """A refused connection is one clear line and exit code 1."""
    done = etcdq(*arguments, "--endpoints", "127.0.0.1:1")

    expected = "etcdq: cannot connect to 127.0.0.1:1: connection refused\n"
    assert outcome(done) == (1, "", expected)


def test_demo() -> None:
    """The demo ends by itself, its sums add up, and its story is told in full."""
    done = subprocess.run(
        command("demo"), capture_output=True, text=True, timeout=2 * TIMEOUT_S,
        env={k: v for k, v in os.environ.items() if k != "ETCDQ_ENDPOINTS"},
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    *lines, _, counts, dropped, moved, buried, total = done.stdout.splitlines()
    assert len(lines) >= 10
    assert all(re.match(r" *\d+ s  put \d+ \(\d+/s\), consumer 1: ", line) for line in lines)
    match = re.fullmatch(
        r"(\d+) messages put, (\d+) acknowledged:"
        r" (\d+) by consumer 1, (\d+) by consumer 2, (\d+) by consumer 3\.",
        counts,
    )
    assert match
    put, acknowledged, *shares = map(int, match.groups())
    assert acknowledged == sum(shares) == put - 1
    assert min(shares[1:]) > 0
    times = re.fullmatch(
        r"Consumer 1 stopped reading at (\d+\.\d) s and was dropped at (\d+\.\d) s\.", dropped
    )
    assert times
    assert float(times[2]) - float(times[1]) >= 4.9
    assert re.fullmatch(
        r"A message that was stuck on its way to it moved on to consumer [23]\.", moved
    )
    assert buried.startswith("What it had taken and not acknowledged is buried: 1 ")
    assert total == f"{put} = {acknowledged} acknowledged + 1 buried: nothing is lost."
