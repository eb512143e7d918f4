"""Tasks of a Django project, enqueued and run by real processes, with each Django that is here."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from etcdq.beanstalk import BlockingClient
from tests.django.conftest import Kind, versions
from tests.support.django_project import Project, Web
from tests.support.mortal_server import run_mortal_server
from tests.support.programs import Program

WAIT_S = 60.0
LOOK_S = 0.02
TUBES = "django"


@pytest.fixture(scope="module")
def project(django: Kind, ours: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return the project, its databases made."""
    project = Project(django.python, tmp_path_factory.mktemp("project"), ours, TUBES)
    done = project.manage("migrate", "-v", "0")
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture(scope="module")
def web(project: Project) -> Iterator[Web]:
    """Return a process that enqueues."""
    with project.web() as web:
        yield web


@pytest.fixture(scope="module")
def worker(project: Project) -> Iterator[Program]:
    """Return a worker of the backend "default", which runs one task after the other."""
    with project.worker() as worker:
        yield worker


@pytest.fixture
def queue(ours: str) -> Iterator[BlockingClient]:
    """Return a client of the server itself."""
    with BlockingClient(ours) as client:
        yield client


def until(is_so: Callable[[], object]) -> None:
    """Look at other processes until something is so there."""
    end_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end_s, "it does not come about"
        time.sleep(LOOK_S)


def jobs(queue: BlockingClient, tube: str) -> dict[str, Any]:
    """Return how many jobs of a tube are in which state, but for states that none is in."""
    figures = queue.stats_tube(tube)
    states = ("ready", "reserved", "delayed", "buried")
    counts = {state: figures[f"current-jobs-{state}"] for state in states}
    return {state: count for state, count in counts.items() if count}


# tasks ------------------------------------------------------------------------------------------


def test_project_is_sound(web: Web) -> None:
    """The system checks find nothing, and the tables are what the migrations make."""
    assert web("call", command="check", words=["--fail-level", "WARNING"]) is None
    assert web("call", command="makemigrations", words=["--check", "-v", "0"]) is None


def test_which_tasks(django: Kind, web: Web) -> None:
    """Django's own Tasks are used where it has them, else the backport's."""
    facts = web("facts")

    assert facts["backport"] == ("django-tasks" in versions(django))
    assert facts["get_result"]
    assert facts["others"] == [True, True]


def test_result(web: Web, worker: Program) -> None:
    """A task is run, Django is told of each step, and what it returned can be asked for."""
    id = web("enqueue", "add", 1, 2)

    assert worker.lines(3) == ["started add 1", "add 1 2", "finished add SUCCESSFUL"]
    assert web("result", id=id) == {
        "status": "SUCCESSFUL",
        "value": 3,
        "attempts": 1,
        "errors": [],
        "trace": [],
        "times": 4,
        "task": "shop.tasks.add",
        "args": [1, 2],
    }
    assert "TaskResultDoesNotExist" in web("result", id="no such id")["error"]
    assert "TaskResultDoesNotExist" in web("result", id=id, backend="one_tube")["error"]


def test_result_that_changes(web: Web, worker: Program) -> None:
    """Who enqueued looks at the result until it is there, in Django's own words."""
    assert web("refresh", "add", 20, 22) == [42, 42, True]
    worker.lines_until("finished")
    id = web("enqueue", "send", "a")
    worker.lines_until("finished")
    assert "TaskResultMismatch" in web("refresh_other", id=id)["error"]


def test_once(web: Web, worker: Program, queue: BlockingClient) -> None:
    """A put that is made again finds the job there; a job that comes again is not run again."""
    tube = f"{TUBES}.default"
    id = web("enqueue", "add", 7, 7, in_s=3600)
    job = queue.peek(_last(queue))
    assert queue.put(tube, b"again", idp=id).job_id == job.job_id
    assert queue.kick(tube) == 1
    assert worker.lines_until("finished")[1] == "add 7 7"

    queue.put(tube, job.body)
    web("enqueue", "add", 8, 8)
    assert worker.lines_until("finished") == ["started add 1", "add 8 8", "finished add SUCCESSFUL"]


def test_async_task(web: Web, worker: Program) -> None:
    """A coroutine function is run by asyncio, as Django's own backends do."""
    id = web("enqueue", "send", "someone@example.org")

    assert worker.lines_until("finished")[1] == "send someone@example.org"
    assert web("result", id=id)["value"] == {"to": "someone@example.org"}


def test_enqueued_from_elsewhere(web: Web, worker: Program) -> None:
    """A coroutine, threads and a forked child enqueue as well, and so does the parent after it."""
    web("aenqueue", "add", 1, 0)
    assert worker.lines_until("finished")[1] == "add 1 0"
    assert len(web("in_thread", "add", 2, 0)) == 3
    for _ in range(3):
        assert worker.lines_until("finished")[1] == "add 2 0"
    assert web("in_child", "add", 3, 0) == 0
    assert worker.lines_until("finished")[1] == "add 3 0"
    web("enqueue", "add", 4, 0)
    assert worker.lines_until("finished")[1] == "add 4 0"


def test_task_enqueues_tasks(web: Web, worker: Program, queue: BlockingClient) -> None:
    """Tasks that enqueue the next one share the worker's client: one connection for them all."""
    web("enqueue", "chain", 1)
    for count in (1, 0):
        assert worker.lines_until("finished")[1] == f"chain {count}"
    before = queue.stats()["total-connections"]
    web("enqueue", "chain", 5)
    for count in range(5, -1, -1):
        assert worker.lines_until("finished")[1] == f"chain {count}"
    assert queue.stats()["total-connections"] == before


def test_failed_task_is_tried_again(web: Web, worker: Program) -> None:
    """It is told which try this is, and the error of the first one stays in the result."""
    id = web("enqueue", "tell", "hello")

    assert worker.lines(2) == ["started tell 1", f"tell hello 1 {id}"]
    assert worker.lines(3) == [
        "started tell 2",
        f"tell hello 2 {id}",
        "finished tell SUCCESSFUL",
    ]
    result = web("result", id=id)
    assert (result["status"], result["value"], result["attempts"]) == ("SUCCESSFUL", 2, 2)
    assert result["errors"] == ["builtins.ValueError"]


@pytest.mark.parametrize(
    ("task", "arguments", "text"),
    [("fail", ["for ever"], "for ever"), ("no_json", [], "not JSON")],
)
def test_task_is_given_up(
    task: str, arguments: list[str], text: str, web: Web, worker: Program, queue: BlockingClient
) -> None:
    """What no retry can mend fails at once: the result says why, and the job is gone."""
    id = web("enqueue", task, *arguments)

    assert worker.lines_until("finished") == [f"started {task} 1", f"finished {task} FAILED"]
    result = web("result", id=id)
    assert (result["status"], result["attempts"], result["times"]) == ("FAILED", 1, 4)
    assert result["errors"] == ["etcdq.worker.failure.PermanentError"]
    assert text in result["trace"][0]
    until(lambda: jobs(queue, f"{TUBES}.default") == {})


def test_jobs_that_are_no_tasks(web: Web, worker: Program, queue: BlockingClient) -> None:
    """They are given up; only what was decorated as a task is ever called."""
    id = web("enqueue", "add", 0, 0, in_s=3600)
    body = queue.peek(_last(queue)).body
    queue.put(f"{TUBES}.default", b"nothing")
    queue.put(f"{TUBES}.default", b'{"task": "os.system"}')
    for path in (b"shop.tasks.no_task", b"os.system", b"shop.tasks"):
        queue.put(f"{TUBES}.default", body.replace(b"shop.tasks.add", path))
    web("enqueue", "add", 1, 1)

    assert worker.lines_until("finished")[1] == "add 1 1"
    until(lambda: jobs(queue, f"{TUBES}.default") == {"delayed": 1})
    assert queue.kick(f"{TUBES}.default") == 1
    assert worker.lines_until("finished")[1] == "add 0 0"
    assert web("result", id=id)["status"] == "SUCCESSFUL"


def _last(queue: BlockingClient) -> int:
    """Return the id of the newest job."""
    return int(queue.stats()["total-jobs"])


def test_connections_to_databases(web: Web, worker: Program) -> None:
    """A task leaves no connection behind for the next one that its thread runs."""
    found = []
    for _ in range(2):
        id = web("enqueue", "look_at_connection")
        worker.lines_until("finished")
        found.append(web("result", id=id)["value"])

    (first, _), (second, had_one) = found
    assert first == second
    assert not had_one


# queues, order and time -------------------------------------------------------------------------


def test_deferred(web: Web, queue: BlockingClient, worker: Program) -> None:
    """`run_after` puts a task off, on the server: nobody has it before."""
    web("enqueue", "add", 5, 5, in_s=3600)
    web("enqueue", "add", 6, 6, in_s=-5)

    assert worker.lines_until("finished")[1] == "add 6 6"
    until(lambda: jobs(queue, f"{TUBES}.default") == {"delayed": 1})
    job_id = _last(queue) - 1
    assert 3000 < queue.stats_job(job_id)["delay"] <= 3600
    queue.delete(job_id)


def test_priorities_on_one_tube(project: Project, web: Web) -> None:
    """Of what waits the highest priority is run first, of equal ones the oldest."""
    on = {"backend": "one_tube"}
    for number, priority in enumerate((0, -100, 100, 0, 99)):
        web("enqueue", "add", number, priority, **on, priority=priority, queue_name="bulk")

    with project.worker("--backend", "one_tube") as worker:
        ran = [worker.lines_until("finished")[1] for _ in range(5)]
    assert ran == ["add 2 100", "add 4 99", "add 0 0", "add 3 0", "add 1 -100"]


def test_some_queues(project: Project, web: Web, queue: BlockingClient) -> None:
    """A worker of some queues leaves the others alone."""
    on = {"backend": "at_once"}
    web("enqueue", "add", 1, 1, **on)
    web("enqueue", "add", 2, 2, **on, queue_name="bulk")
    web("enqueue", "send", "a", **on)

    options = ("--backend", "at_once", "--queue", "bulk", "--queue", "mail")
    with project.worker(*options) as worker:
        ran = {worker.lines_until("finished")[1] for _ in range(2)}
        assert ran == {"add 2 2", "send a"}
    left = queue.reserve(f"{TUBES}.default.at_once")
    queue.delete(left.job_id)
    assert json.loads(left.body)["args"] == [1, 1]
    assert jobs(queue, f"{TUBES}.default.at_once") == {}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--queue", "nope"), "there is no queue 'nope' in QUEUES, but bulk, default, mail"),
        (("--backend", "nope"), "there is no backend 'nope' in TASKS"),
        (("--backend", "other"), "is no etcdq.django.TubeBackend"),
        (
            ("--backend", "one_tube", "--queue", "mail"),
            "shares the tube django.all with queue 'mail'",
        ),
        (("--grace", "soon"), "'soon' is no time such as 30s, 5m or 1h"),
        (("--processes", "0"), "'0' is not a whole number above 0"),
        (("--concurrency", "1001"), "concurrency 1001 is not a whole number from 1 to 1000"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], text: str, web: Web) -> None:
    """It is told in a line."""
    error = web("call", command="etcdq_worker", words=options)["error"]

    assert error.startswith("django.core.management.base.CommandError: ")
    assert text in error


def test_wrong_usage_has_its_exit_code(project: Project) -> None:
    """It is that of `etcdq worker`."""
    done = project.manage("etcdq_worker", "--queue", "nope")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("CommandError: there is no queue 'nope'")


# transactions -----------------------------------------------------------------------------------


def test_enqueued_when_the_transaction_commits(
    project: Project, web: Web, queue: BlockingClient
) -> None:
    """Nobody runs a task before what it is about can be seen, nor if that is rolled back."""
    on = {"backend": "one_tube"}
    assert web("in_transaction", "add", 1, 1, **on, rolled_back=True) == [0, 0]
    assert web("in_transaction", "add", 2, 2, **on, rolled_back=False) == [0, 1]
    other = {"backend": "of_other", "rolled_back": True}
    assert web("in_transaction", "add", 1, 1, **other, of="other") == [0, 0]
    at_once = {"backend": "at_once"}
    assert web("in_transaction", "add", 3, 3, **at_once, rolled_back=True) == [1, 1]

    with project.worker("--backend", "one_tube") as worker:
        assert worker.lines_until("finished")[1] == "add 2 2"
    put = queue.reserve(f"{TUBES}.default.at_once")
    queue.delete(put.job_id)
    assert json.loads(put.body)["args"] == [3, 3]


# trouble ----------------------------------------------------------------------------------------


def test_worker_that_dies(project: Project, web: Web) -> None:
    """Its task is tried again by another one, its process is replaced, and the end is clean."""
    id = web("enqueue", "kill", backend="at_once")

    with project.worker("--backend", "at_once", "--processes", "2") as worker:
        assert worker.line() == "started kill 1"
        first = worker.line()
        assert worker.line() == "started kill 2"
        second = worker.line()
        assert worker.line() == "finished kill SUCCESSFUL"
        until(lambda: "a worker process died" in worker.errors)
    assert (first.split()[:2], second.split()[:2]) == (["kill", "1"], ["kill", "2"])
    assert first != second
    assert web("result", id=id, backend="at_once")["attempts"] == 2


def test_nobody_at_the_address(web: Web, queue: BlockingClient) -> None:
    """An enqueue raises then, and leaves no result behind that would wait for ever."""
    error = web("enqueue", "add", 1, 1, backend="away")["error"]

    assert error.startswith("etcdq.errors.NotConnectedError: cannot connect to 127.0.0.1:1")
    error = web("in_transaction", "add", 1, 1, backend="away", rolled_back=False)["error"]
    assert "cannot connect" in error
    assert web("results", backend="away") == 0


def test_server_that_comes_and_goes(django: Kind, tmp_path: Path) -> None:
    """The same process enqueues again, and the same worker runs it, when the server is back."""
    with run_mortal_server("etcdq") as server:
        address = server.address
        project = Project(django.python, tmp_path, address, TUBES, PROJECT_WITHOUT_RESULTS="1")
        with project.web() as web, project.worker() as worker:
            web("enqueue", "add", 1, 1)
            assert worker.lines_until("finished")[1] == "add 1 1"
            server.kill()
            assert "etcdq.errors." in web("enqueue", "add", 2, 2)["error"]
            server.start()
            web("enqueue", "add", 3, 3)
            assert worker.lines_until("finished")[1] == "add 3 3"


def test_beanstalkd_and_no_results(django: Kind, beanstalkd: str, tmp_path: Path) -> None:
    """A plain beanstalkd will do. Without the app for results none are kept, and Django says so."""
    tubes = f"{TUBES}.{django.name}"
    project = Project(django.python, tmp_path, beanstalkd, tubes, PROJECT_WITHOUT_RESULTS="1")
    with project.web() as web, project.worker() as worker:
        assert not web("facts")["get_result"]
        id = web("enqueue", "tell", "hello")
        assert worker.lines_until("finished") == [
            "started tell 1",
            f"tell hello 1 {id}",
            "started tell 2",
            f"tell hello 2 {id}",
            "finished tell SUCCESSFUL",
        ]
        assert "NotImplementedError" in web("result", id=id)["error"]
        web("enqueue", "fail", "now")
        assert worker.lines_until("finished")[1] == "finished fail FAILED"
        web("aenqueue", "add", 1, 1)
        assert worker.lines_until("finished")[1] == "add 1 1"
