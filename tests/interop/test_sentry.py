"""`etcdq worker` with SENTRY_DSN: what comes to a server that stands for Sentry, over HTTP."""

import gzip
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sentry_sdk.envelope import Envelope

from etcdq.beanstalk import BlockingClient
from tests.support.command_line import command
from tests.support.processes import clean_environment, free_port, run_etcdq

END_S = 60.0
APPLICATION = """
import sys
from etcdq import PermanentError
from etcdq.worker import consumer

HIDE_PACKAGE

def gone(job, error):
    print("given up", job.job_id, flush=True)

@consumer("t", on_give_up=gone)
async def fails(job):
    raise PermanentError("no such customer")
"""
HIDE = 'sys.modules["sentry_sdk"] = None  # as if it were not installed'


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the beanstalk door of a node of ours listens."""
    address = f"127.0.0.1:{free_port()}"
    with run_etcdq("--listen-beanstalk", address):
        yield address


@pytest.fixture
def received() -> Iterator[tuple[str, list[Any]]]:
    """An address as SENTRY_DSN has it, and the events that come there."""
    events: list[Any] = []

    class Sentry(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            event = Envelope.deserialize(body).get_event()
            if event is not None:
                events.append(event)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Sentry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://key@127.0.0.1:{server.server_port}/1", events
        server.shutdown()
        thread.join()


def give_up_one(
    folder: Path, address: str, dsn: str, hide: str = ""
) -> tuple[int, int, list[dict[str, Any]]]:
    """Let a worker give a job up, and stop it; return the job's id, the exit code and its log."""
    (folder / "app_jobs.py").write_text(APPLICATION.replace("HIDE_PACKAGE", hide))
    with BlockingClient(address) as client:
        job_id = client.put("t", b"x").job_id
    process = subprocess.Popen(
        command("worker", "app_jobs"),
        cwd=folder,
        env=clean_environment(ETCDQ_BEANSTALK_URL=address, SENTRY_DSN=dsn),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    process.terminate()
    _, stderr = process.communicate(timeout=END_S)
    lines = [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]
    assert said == f"given up {job_id}\n", stderr
    return job_id, process.returncode, lines


def test_event_comes_to_sentry(
    tmp_path: Path, address: str, received: tuple[str, list[Any]]
) -> None:
    """Nothing but the variable is needed; what is not sent yet is sent at the end."""
    dsn, events = received
    job_id, code, _ = give_up_one(tmp_path, address, dsn)

    assert code == 0
    (event,) = events
    (error,) = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("PermanentError", "no such customer")
    assert event["tags"] == {"consumer": "fails", "tube": "t", "job_id": str(job_id), "tries": "1"}


def test_without_the_package(tmp_path: Path, address: str, received: tuple[str, list[Any]]) -> None:
    """It is said, and all goes on."""
    dsn, events = received
    _, code, lines = give_up_one(tmp_path, address, dsn, HIDE)

    assert (code, events) == (0, [])
    assert [line for line in lines if "sentry-sdk is not installed" in line["event"]] != []


def test_sentry_is_away(tmp_path: Path, address: str) -> None:
    """It holds nothing up."""
    _, code, _ = give_up_one(tmp_path, address, f"http://key@127.0.0.1:{free_port()}/1")

    assert code == 0


def test_address_that_is_none(tmp_path: Path, address: str) -> None:
    """Wrong usage."""
    (tmp_path / "app_jobs.py").write_text(APPLICATION.replace("HIDE_PACKAGE", ""))
    done = subprocess.run(
        command("worker", "app_jobs"),
        cwd=tmp_path,
        env=clean_environment(ETCDQ_BEANSTALK_URL=address, SENTRY_DSN="nonsense"),
        capture_output=True,
        text=True,
        timeout=END_S,
    )

    assert done.returncode == 2
    assert done.stderr.startswith("etcdq worker: SENTRY_DSN: ")
