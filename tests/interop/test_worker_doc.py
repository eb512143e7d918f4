"""What docs/worker.md and docs/schedule.md show does what they say, as it is typed there."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.command_line import command
from tests.support.processes import clean_environment, free_port, run_etcdq

DOCS = Path(__file__).parents[2] / "docs"
END_S = 60.0


def program(page: str) -> str:
    """Return the only Python program of a page."""
    text = (DOCS / page).read_text()
    (found,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert isinstance(found, str)
    return found


def test_the_worker(tmp_path: Path, wait_until: Callable[[Callable[[], object]], None]) -> None:
    """The module, the worker and the put: the job is done, and so is one of the other consumer."""
    (tmp_path / "jobs.py").write_text(program("worker.md"))
    address = f"127.0.0.1:{free_port()}"
    environment = clean_environment(ETCDQ_BEANSTALK_URL=address, PYTHONUNBUFFERED="1")
    printed = tmp_path / "printed"
    with (
        run_etcdq("--listen-beanstalk", address),
        printed.open("wb") as stdout,
        subprocess.Popen(
            command("worker", "jobs", "--role", "mail"),
            cwd=tmp_path,
            env=environment,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
        ) as worker,
    ):
        try:
            body = json.dumps({"to": "someone@example.org"})
            for tube in ("mail", "inbound"):
                put = command("put", "-t", tube, body)
                subprocess.run(
                    put, env=environment, check=True, timeout=END_S, stdout=subprocess.DEVNULL
                )
            wait_until(lambda: len(printed.read_text().splitlines()) == 2)
            worker.terminate()
            assert worker.wait(END_S) == 0
        finally:
            worker.kill()
    # Both may print at the same time, piece by piece: every piece is there.
    pieces = "sending to someone@example.org\nstoring 1\n"
    assert sorted(printed.read_text()) == sorted(pieces)


def test_the_consumer_of_a_schedule(tmp_path: Path) -> None:
    """What runs recurring jobs is a consumer that a worker takes."""
    (tmp_path / "jobs.py").write_text(program("schedule.md"))
    code = (
        "from pathlib import Path; from etcdq.worker.roles import load_consumers;"
        "print(*(type(each).__name__ for each in load_consumers('jobs', 'all', Path('.'))))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=END_S,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "Maintenance\n", "")
