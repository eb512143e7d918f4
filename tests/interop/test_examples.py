"""The examples run, and print what they say."""

import subprocess
import sys
from pathlib import Path

from tests.support.processes import clean_environment, run_etcdq

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMEOUT_S = 60.0


def run_example(name: str, *arguments: str) -> tuple[list[str], str]:
    """Run an example with warnings as errors; return the lines it printed, and its stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_every_example_is_tried() -> None:
    """An example without a test would rot."""
    found = {path.name for path in EXAMPLES.iterdir() if not path.name.startswith((".", "_"))}
    assert found == {
        "embedded_node.py",
        "mail",  # test_mail_example.py
        "produce_and_consume.py",
        "schedule.yml",  # tests/unit/etcdq/schedule/test_file.py
    }


def test_produce_and_consume() -> None:
    """Every message comes to one of the workers, in order, and none is left."""
    with run_etcdq() as endpoint:
        (*lines, left), stderr = run_example("produce_and_consume.py", endpoint)

    assert stderr == ""
    assert sorted(line.partition(": ")[2] for line in lines) == sorted(
        [*(f"message {number}" for number in range(1, 10)), "the last message"]
    )
    assert {line.partition(": ")[0] for line in lines} <= {"worker 1", "worker 2"}
    assert left == "left in the queue: 0"


def test_embedded_node() -> None:
    """A node, a watch, a queue, and the way of a message that was not acknowledged."""
    (first, *lines), stderr = run_example("embedded_node.py")

    assert stderr.startswith("buried 1 "), "the node's own warning"
    assert stderr.count("\n") == 1
    assert first.startswith("also for others: etcdctl --endpoints http://127.0.0.1:")
    assert lines == [
        "changed: config/colour = blue",
        "acknowledged first: True",
        "buried: 1",
        "kicked: 1",
        "waiting: ['second']",
        "too late for second: False",
    ]
