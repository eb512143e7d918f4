"""Queues, order, transactions and trouble, in the same project as the tasks."""

import json
from pathlib import Path

import pytest

from etcdq.beanstalk import BlockingClient
from tests.django.conftest import Kind
from tests.support.django_project import TUBES, Project, Web, jobs, newest, until
from tests.support.mortal_server import run_mortal_server
from tests.support.programs import Program

# queues, order and time -------------------------------------------------------------------------


def test_deferred(web: Web, queue: BlockingClient, worker: Program) -> None:
    """`run_after` puts a task off, on the server: nobody has it before."""
    web("enqueue", "add", 5, 5, in_s=3600)
    web("enqueue", "add", 6, 6, in_s=-5)

    assert worker.lines_until("finished")[1] == "add 6 6"
    until(lambda: jobs(queue, f"{TUBES}.default") == {"delayed": 1})
    job_id = newest(queue) - 1
    assert 3000 < queue.stats_job(job_id)["delay"] <= 3600
    queue.delete(job_id)


def test_priorities_on_one_tube(project: Project, web: Web) -> None:
    """Of what waits the highest priority is run first, of equal ones the oldest."""
    on = {"backend": "one_tube"}
    for number, priority in enumerate((0, -100, 100, 0, 99)):
        web("enqueue", "add", number, priority, **on, priority=priority, queue_name="bulk")

    with project.worker("--backend", "one_tube", "--batch-size", "3") as worker:
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


def test_enqueued_when_the_transaction_commits(web: Web, queue: BlockingClient) -> None:
    """Nobody runs a task before what it is about can be seen, nor if that is rolled back."""
    on = {"backend": "one_tube"}
    assert web("in_transaction", "add", 1, 1, **on, rolled_back=True) == [0, 0]
    assert web("in_transaction", "add", 2, 2, **on, rolled_back=False) == [0, 1]
    other = {"backend": "of_other", "rolled_back": True}
    assert web("in_transaction", "add", 1, 1, **other, of="other") == [0, 0]
    at_once = {"backend": "at_once"}
    assert web("in_transaction", "add", 3, 3, **at_once, rolled_back=True) == [1, 1]

    for tube, args in ((f"{TUBES}.all", [2, 2]), (f"{TUBES}.default.at_once", [3, 3])):
        job = queue.reserve(tube)
        queue.delete(job.job_id)
        assert json.loads(job.body)["args"] == args
        assert jobs(queue, tube) == {}


# trouble ----------------------------------------------------------------------------------------


def test_worker_that_dies(project: Project, web: Web) -> None:
    """Its task is tried again by another one, its process is replaced, and the end is clean."""
    id = web("enqueue", "kill", backend="at_once")

    with project.worker("--backend", "at_once", "--processes", "2", "--batch-size", "2") as worker:
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
    """An enqueue raises while the server is away; the same process enqueues when it is back."""
    with run_mortal_server("etcdq") as server:
        address = server.address
        project = Project(django.python, tmp_path, address, TUBES, PROJECT_WITHOUT_RESULTS="1")
        with project.web() as web:
            web("enqueue", "add", 1, 1)
            assert web("depth", backend="default", queue="default") == 1
            server.kill()
            assert "etcdq.errors." in web("enqueue", "add", 2, 2)["error"]
            server.start()
            web("enqueue", "add", 3, 3)
            assert web("depth", backend="default", queue="default") == 1


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
