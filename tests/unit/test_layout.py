"""Imports flow one way: vocabulary, cores, shells, server; and the client library stands apart."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

VOCABULARY = {"errors", "messages", "tube_messages"}
VOCABULARY_FILES = {"actors/core.py", "actors/effect.py", "actors/limits.py", "actors/message.py"}
SHELLS = {
    "actors/mailbox.py",
    "actors/shell.py",
    "actors/turns.py",
    "server/beanstalk/shell.py",
    "server/byte_stream.py",
    "server/daemon.py",
    "server/etcd/shell.py",
    "server/listen.py",
    "server/node.py",
    "server/notify.py",
    "server/process.py",
    "server/readers.py",
}
EDGES = {
    "server/config.py": {"os"},  # reads the environment, the file, and nothing else
    "server/facts.py": {"os", "secrets", "time"},  # says what the process is
}
WORLD = {
    "asyncio", "datetime", "multiprocessing", "os", "random", "secrets", "select", "selectors",
    "signal", "socket", "ssl", "subprocess", "threading", "time", "tricycle", "trio",
    "trio_asyncio",
}  # fmt: skip
SHARED_BY_DOORS = {"etcdq.server.byte_stream", "etcdq.server.readers"}
BEANSTALK_WORLD = {
    "etcdq/beanstalk/address.py": {"os"},  # reads the environment
    "etcdq/beanstalk/background.py": {"trio"},
    "etcdq/beanstalk/blocking.py": {"os", "threading", "time"},
    "etcdq/beanstalk/connection.py": {"os", "trio"},
    "etcdq/beanstalk/link.py": {"os", "socket", "threading", "time"},
    "etcdq/beanstalk/producer.py": {"trio"},
    "etcdq/beanstalk/reserving.py": {"trio"},
}
HEALTH_WORLD = {
    "etcdq/health/pulse.py": {"time", "trio"},
    "etcdq/health/server.py": {"threading", "time", "trio"},
}
WORKER_WORLD = {
    "etcdq/worker/backoff.py": {"random"},  # a generator is given to it
    "etcdq/worker/calling.py": {"trio"},
    "etcdq/worker/control.py": {"trio"},
    "etcdq/worker/failure.py": {"random"},  # so here
    "etcdq/worker/job.py": {"trio"},  # the type of a clock
    "etcdq/worker/launch.py": {"random", "trio"},
    "etcdq/worker/link.py": {"trio"},
    "etcdq/worker/parent.py": {"random", "signal", "subprocess", "trio"},
    "etcdq/worker/process.py": {"os", "random", "signal", "trio"},
    "etcdq/worker/reload.py": {"os"},  # looks at files
    "etcdq/worker/round.py": {"random", "trio"},
    "etcdq/worker/stretch.py": {"threading", "time"},  # a thread's turn
    "etcdq/worker/sentry.py": {"os"},  # reads the environment
    "etcdq/worker/slot.py": {"random", "trio"},
    "etcdq/worker/supervision.py": {"random"},
}
SCHEDULE_WORLD = {
    "etcdq/schedule/consumer.py": {"trio"},
    "etcdq/schedule/desk.py": {"trio"},
    "etcdq/schedule/process.py": {"signal", "trio"},
    "etcdq/schedule/scheduler.py": {"random", "time", "trio"},
    "etcdq/schedule/slots.py": {"datetime"},  # calendars; it asks no clock
    "etcdq/schedule/state.py": {"os"},
}
DJANGO_WORLD = {
    "etcdq/django/backend.py": {"datetime"},  # until when a task is put off
    "etcdq/django/consumer.py": {"os", "socket"},  # who ran a task
    "etcdq/django/envelope.py": {"datetime"},  # the type
    "etcdq/django/results/store.py": {"datetime"},  # so here
}
WITH_A_NODE = {"etcdq/embedded.py", "etcdq/cli/serve.py"}


def sources(*folders: str) -> list[str]:
    """Return the files of folders, generated ones left out, links not followed."""
    found = [
        str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")
    ]
    generated = ("server/etcd/pb/", "etcdq/wire/", "etcdq/actors/", "etcdq/server/")
    return sorted(path for path in found if not path.startswith(generated))


@cache
def imports(path: str) -> frozenset[str]:
    """Return the modules that a file imports anywhere in it, but for type checking only."""
    return frozenset(_imports(path))


def _imports(path: str) -> Iterator[str]:
    tree = ast.parse((ROOT / path).read_text())
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            # `from package import module` imports the module: name both.
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rank(path: str) -> int:
    """Return how far from the vocabulary a file is; it imports nothing farther away."""
    room, stem = path.split("/")[0], Path(path).stem
    if room == "server":
        return 3
    if path in SHELLS:
        return 2
    return 0 if stem in VOCABULARY or path in VOCABULARY_FILES else 1


def own_file(module: str) -> str | None:
    """Return the file of one of our rooms' modules, None for anything else."""
    if not module.startswith(("etcdq.actors.", "etcdq.server.")):
        return None
    path = module.removeprefix("etcdq.").replace(".", "/")
    return f"{path}.py" if (ROOT / f"{path}.py").exists() else None


def test_rooms_are_found() -> None:
    """The rules below look at something."""
    assert len(sources("actors")) > 20
    assert len(sources("server")) > 20
    assert set(imports("actors/shell.py")) >= {"trio", "etcdq.actors.mailbox"}
    assert own_file("etcdq.actors.shell") == "actors/shell.py"
    assert {rank(path) for path in sources("actors", "server")} == {0, 1, 2, 3}


@pytest.mark.parametrize("path", sources("actors", "server"))
def test_imports_flow_one_way(path: str) -> None:
    """Vocabulary knows vocabulary, cores know vocabulary and cores, shells know cores."""
    for module in imports(path):
        imported = own_file(module)
        if imported is not None:
            assert rank(imported) <= rank(path), f"{path} imports {imported}"


@pytest.mark.parametrize("path", sources("actors", "server"))
def test_cores_know_no_world(path: str) -> None:
    """Only what says of itself that it is a Trio shell imports Trio, clocks, sockets, chance."""
    text = (ROOT / path).read_text()
    docstring = ast.get_docstring(ast.parse(text)) or ""
    is_shell = any(line.startswith("Trio shell.") for line in docstring.splitlines())
    assert is_shell == (path in SHELLS)
    if not is_shell:
        world = {module.split(".")[0] for module in imports(path)} & WORLD
        world |= {f"uuid.{each}" for each in ("uuid1", "uuid4") if f"{each}(" in text}
        assert world <= EDGES.get(path, set())


@pytest.mark.parametrize("path", sources("server"))
def test_a_door_knows_neither_daemon_nor_other_doors(path: str) -> None:
    """What lies in a door's folder imports of server/ that folder, and what all doors share."""
    parts = path.split("/")
    if len(parts) == 2:
        return
    for module in imports(path):
        shared = module.startswith(tuple(SHARED_BY_DOORS))
        if module.startswith("etcdq.server.") and not shared:
            assert module.split(".")[2] == parts[1], f"{path} imports {module}"


@pytest.mark.parametrize("path", sources("etcdq"))
def test_client_needs_no_node(path: str) -> None:
    """Of what applications import, only what runs a node imports the node's rooms."""
    if path in WITH_A_NODE:
        return
    rooms = [m for m in imports(path) if m.startswith(("etcdq.actors", "etcdq.server"))]
    assert rooms == []


@pytest.mark.parametrize("path", sources("etcdq/beanstalk"))
def test_beanstalk_client_stands_alone(path: str) -> None:
    """It imports of ours only itself and what both clients share; the world, in few files."""
    ours = {module for module in imports(path) if module.startswith("etcdq.")}
    shared = ("etcdq.beanstalk", "etcdq.endpoint", "etcdq.errors")
    assert [module for module in ours if not module.startswith(shared)] == []
    world = {module.split(".")[0] for module in imports(path)} & WORLD
    assert world <= BEANSTALK_WORLD.get(path, set())


@pytest.mark.parametrize("path", sources("etcdq/health"))
def test_health_stands_alone(path: str) -> None:
    """Probes know of ours only an address: what they tell of a process is handed to them."""
    ours = {module for module in imports(path) if module.startswith("etcdq.")}
    assert [m for m in ours if not m.startswith(("etcdq.health", "etcdq.endpoint"))] == []
    world = {module.split(".")[0] for module in imports(path)} & WORLD
    assert world <= HEALTH_WORLD.get(path, set())


@pytest.mark.parametrize("path", sources("etcdq/worker"))
def test_worker_stands_on_the_beanstalk_client(path: str) -> None:
    """It imports of ours only itself and that client; the world, in few files."""
    ours = {module for module in imports(path) if module.startswith("etcdq.")}
    shared = ("etcdq.worker", "etcdq.beanstalk", "etcdq.health", "etcdq.endpoint", "etcdq.errors")
    assert [module for module in ours if not module.startswith(shared)] == []
    world = {module.split(".")[0] for module in imports(path)} & WORLD
    assert world <= WORKER_WORLD.get(path, set())


@pytest.mark.parametrize("path", sources("etcdq/schedule"))
def test_schedule_stands_on_worker_and_client(path: str) -> None:
    """It imports of ours only itself and what it speaks by; the world, in few files."""
    ours = {module for module in imports(path) if module.startswith("etcdq.")}
    rooms = ("schedule", "worker", "health", "beanstalk", "endpoint", "errors")
    shared = tuple(f"etcdq.{room}" for room in rooms)
    assert [module for module in ours if not module.startswith(shared)] == []
    world = {module.split(".")[0] for module in imports(path)} & WORLD
    assert world <= SCHEDULE_WORLD.get(path, set())


@pytest.mark.parametrize("path", sources("etcdq/django"))
def test_django_stands_on_worker_and_client(path: str) -> None:
    """It imports of ours only itself and what it speaks by; the world, in few files."""
    ours = {module for module in imports(path) if module.startswith("etcdq.")}
    rooms = ("django", "worker", "beanstalk", "endpoint", "errors")
    shared = tuple(f"etcdq.{room}" for room in rooms)
    assert [module for module in ours if not module.startswith(shared)] == []
    world = {module.split(".")[0] for module in imports(path)} & WORLD
    assert world <= DJANGO_WORLD.get(path, set())


@pytest.mark.parametrize("path", sources("actors", "server", "etcdq", "tests", "bench"))
def test_one_name(path: str) -> None:
    """The rooms are imported as etcdq.actors and etcdq.server, never under a second name."""
    second = [m for m in imports(path) if m.split(".")[0] in ("actors", "server")]
    assert second == []
