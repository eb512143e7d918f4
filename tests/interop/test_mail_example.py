"""The mail product of examples/mail as its processes: a worker is killed, a mail and a reply are
given up, and the two commands recover them.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from etcdq.beanstalk import BlockingClient
from tests.support.command_line import command
from tests.support.processes import clean_environment, free_port, run_etcdq

EXAMPLES = Path(__file__).parents[2] / "examples"
END_S = 60.0
MAILS = 120
UNREADABLE = 7
REPLIES = 12
NOBODY = "nobody@example.org"

Until = Callable[[Callable[[], object]], None]


class Product:
    """The product in a folder of its own, and its processes."""

    def __init__(self, folder: Path, address: str) -> None:
        self.home = folder / "data"
        self.address = address
        self._folder = folder
        self._environment = clean_environment(
            MAIL_HOME=str(self.home),
            MAIL_RETRY_S="1",
            MAIL_LATENCY_S="0.02",
            ETCDQ_BEANSTALK_URL=address,
        )
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, *arguments: str, stdin: str = "") -> list[str]:
        """Run a command of the product; return what it prints."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "mail", *arguments],
            cwd=EXAMPLES,
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=END_S,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    def start(self, name: str, *arguments: str) -> None:
        """Start `etcdq`; what it says is kept in a file."""
        with (self._folder / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                command(*arguments), cwd=EXAMPLES, env=self._environment, stderr=log
            )

    def told(self, name: str, event: str) -> list[dict[str, object]]:
        """Return what a worker told of one kind of event."""
        lines = (self._folder / f"{name}.log").read_text().splitlines()
        return [said for said in map(json.loads, lines) if said["event"] == event]

    def figures(self) -> dict[str, int]:
        """Return how much there is of everything."""
        if not (self.home / "mail.sqlite").exists():
            return {}
        with closing(sqlite3.connect(self.home / "mail.sqlite", timeout=END_S)) as it:
            return {
                name: it.execute(f"select count(*) from {what}").fetchone()[0]
                for name, what in {
                    "tickets": "tickets",
                    "dropped": "dropped",
                    "undelivered": "replies where delivered_at is null",
                }.items()
            }

    def told_team(self) -> int:
        """Return of how many mails the team was told."""
        path = self.home / "chat.txt"
        return len(set(path.read_text().splitlines())) if path.exists() else 0

    def end(self) -> dict[str, int]:
        """Tell all processes to end; return their exit codes."""
        for process in self._running.values():
            process.terminate()
        return {name: each.wait(timeout=END_S) for name, each in self._running.items()}

    def kill(self) -> None:
        """Leave nothing running."""
        for process in self._running.values():
            process.kill()
            process.wait(timeout=END_S)


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    """The product, with mails that came while nothing ran; one of them cannot be read."""
    found = Product(tmp_path, f"127.0.0.1:{free_port()}")
    lines = "".join(f"user{number}@example.org mail {number}\n" for number in range(1, MAILS + 1))
    assert found.run("receive", stdin=lines) == []
    unreadable = found.home / "mailbox" / f"{UNREADABLE}.eml"
    unreadable.write_bytes(unreadable.read_bytes() + b"\xff")
    yield found
    found.kill()


def test_mail_product(product: Product, tmp_path: Path, wait_until: Until) -> None:
    """Every mail becomes a ticket and every reply is sent, whatever happens to them on the way."""
    (product.home / "outage").touch()
    (product.home / "refused").write_text(f"{NOBODY}\n")
    schedule = tmp_path / "schedule.yml"
    own = (EXAMPLES / "mail/schedule.yml").read_text()
    schedule.write_text(own.replace("every: 60s", "every: 1s"))  # nobody waits for a minute
    product.start("mail", "worker", "mail.consumers", "--role", "mail", "--processes", "2")
    product.start("maintenance", "worker", "mail.consumers", "--role", "maintenance")
    product.start("schedule", "schedule", str(schedule))

    # The queue is away: a reply is kept, whoever composes it is told nothing worse than that, and
    # what waits is not known.
    assert product.run("reply", stdin="user1@example.org reply 1\n") == [
        "reply 1 is kept; backfill sends it when the queue is back"
    ]
    assert "mail.inbound unknown" in product.run("show")[-1]

    with (
        run_etcdq("--listen-beanstalk", product.address),
        BlockingClient(product.address) as queue,
    ):

        def is_idle(tube: str) -> bool:
            figures = queue.stats_tube(tube)
            return not any(
                figures.count(f"current-jobs-{s}") for s in ("ready", "reserved", "delayed")
            )

        names = [NOBODY, *(f"user{number}@example.org" for number in range(3, REPLIES + 1))]
        lines = "".join(f"{name} reply\n" for name in names)
        assert product.run("reply", stdin=lines) == []

        # A worker is killed in the middle of its work: another one does it.
        wait_until(lambda: product.figures()["tickets"] >= 20)
        victim = product.told("mail", "worker process started")[0]["pid"]
        assert isinstance(victim, int)
        os.kill(victim, signal.SIGKILL)
        assert product.figures()["tickets"] < MAILS / 2
        wait_until(lambda: product.told("mail", "a worker process died"))
        wait_until(lambda: product.figures()["tickets"] == MAILS - 1)
        assert not (product.home / "sent").exists(), "the outage has held up no ticket"

        # What cannot be done is given up, and recorded.
        (product.home / "outage").unlink()
        wait_until(lambda: product.figures()["dropped"] == 1 and is_idle("mail.outbound"))
        undelivered = product.figures()["undelivered"]
        assert undelivered >= 2, "the one that was kept, and the one to nobody"
        totals, dropped, waiting = product.run("show")
        assert totals == f"{MAILS - 1} tickets, 1 dropped, 12 replies, {undelivered} undelivered"
        assert re.match(rf"dropped: <{UNREADABLE}@example\.org>: UnicodeDecodeError", dropped)
        assert "mail.inbound 0, mail.outbound 0" in waiting
        given_up = {each["consumer"] for each in product.told("mail", "job is given up")}
        assert given_up == {"Inbound", "Outbound"}

        # It is mended, and both commands recover what was dropped.
        unreadable = product.home / "mailbox" / f"{UNREADABLE}.eml"
        unreadable.write_bytes(unreadable.read_bytes().removesuffix(b"\xff"))
        (product.home / "refused").unlink()
        assert product.run("rewind") == ["1 dropped mails are polled again"]
        assert product.run("backfill") == [f"{undelivered} replies are to be sent again"]
        all_done = {"tickets": MAILS, "dropped": 0, "undelivered": 0}
        wait_until(lambda: product.figures() == all_done and product.told_team() == MAILS)
        sent = {path.stem for path in (product.home / "sent").iterdir()}
        assert sent == {str(number) for number in range(1, REPLIES + 1)}

        assert product.run("rewind") == ["0 dropped mails are polled again"]
        assert product.run("backfill") == ["0 replies are to be sent again"]
        assert product.end() == {"mail": 0, "maintenance": 0, "schedule": 0}
