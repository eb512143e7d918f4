"""Tasks of a Django project, enqueued and run by real processes, with each Django that is here."""

import pytest

from etcdq.beanstalk import BlockingClient
from tests.django.conftest import Kind, versions
from tests.support.django_project import TUBES, Web, jobs, newest, until
from tests.support.programs import Program


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
    job = queue.peek(newest(queue))
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
    body = queue.peek(newest(queue)).body
    queue.put(f"{TUBES}.default", b"nothing")
    queue.put(f"{TUBES}.default", b'{"task": "os.system"}')
    for path in (b"shop.tasks.no_task", b"os.system", b"shop.tasks"):
        queue.put(f"{TUBES}.default", body.replace(b"shop.tasks.add", path))
    web("enqueue", "add", 1, 1)

    assert worker.lines_until("finished")[1] == "add 1 1"
    until(lambda: jobs(queue, f"{TUBES}.default") == {"delayed": 1})
    for path in ("shop.tasks.no_task", "os.system", "shop.tasks"):
        assert f"'{path}' is no task" in worker.errors
    assert queue.kick(f"{TUBES}.default") == 1
    assert worker.lines_until("finished")[1] == "add 0 0"
    assert web("result", id=id)["status"] == "SUCCESSFUL"


def test_task_whose_function_is_gone(web: Web, worker: Program, queue: BlockingClient) -> None:
    """It is tried again, for another worker may have it; then its result tells what is wrong."""
    id = web("enqueue", "add", 9, 9, in_s=3600)
    job = queue.peek(newest(queue))
    queue.delete(job.job_id)
    queue.put(f"{TUBES}.default", job.body.replace(b"shop.tasks.add", b"shop.tasks.gone"))

    until(lambda: web("result", id=id)["status"] == "FAILED")
    assert web("result", id=id)["errors"] == ["builtins.ImportError"]
    until(lambda: jobs(queue, f"{TUBES}.default") == {})


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
