"""Every error class by its name in `etcdq`: raised, caught, and caused at a real server."""

import ast
import builtins
import importlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import etcdq
from etcdq import beanstalk
from etcdq.beanstalk.address import parse_address
from etcdq.beanstalk.connection import dial, open_connection
from etcdq.beanstalk.errors import refusal
from etcdq.schedule.dispatch import resolve
from etcdq.schedule.file import read_schedule
from etcdq.worker.failure import Rules, retry_delay_s
from tests.support.processes import free_port, run_etcdq

Cause = Callable[[beanstalk.Client], Awaitable[object]]

PACKAGE = Path(etcdq.__file__).parent
NOT_THE_LIBRARY = ("actors", "server", "wire")
"""The node's rooms, whose errors stay in the node, and generated code."""


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Give the classes of the library that others may see, each with its module.

    They are read, not imported: one that nobody imports is found as well.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] in NOT_THE_LIBRARY:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield ".".join(("etcdq", *parts)), node


def _error_classes() -> dict[str, str]:
    """Return name to module of each class that is an exception, or derived from one."""
    known = {
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    found: dict[str, str] = {}
    before = -1
    while len(found) > before:  # until no class has one of them as a base any more
        before = len(found)
        for module, node in _classes():
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if bases & (known | found.keys()) or node.name.endswith("Error"):
                found[node.name] = module
    return found


DEFINED = _error_classes()
ABSTRACT = {"EtcdqError", "RequestError", "UnavailableError"}
LEAVES = sorted(DEFINED.keys() - ABSTRACT)
OF_APPLICATIONS = {"PermanentError", "TriesUsedUpError"}
"""No call of the library raises them: one is the application's to raise, one is handed to it."""


@pytest.fixture(scope="module")
def narrow_node() -> Iterator[str]:
    """The beanstalk door of a node of ours that takes two jobs a tube."""
    address = f"127.0.0.1:{free_port()}"
    with run_etcdq("--listen-beanstalk", address, "--max-jobs-per-queue", "2"):
        yield address


@asynccontextmanager
async def on_own_tube(address: str, name: str) -> AsyncIterator[beanstalk.Client]:
    """Give a client with a tube of its own."""
    async with beanstalk.connect(address) as client:
        await client.use(name)
        await client.watch(name)
        await client.ignore("default")
        yield client


def test_every_class_is_found() -> None:
    """The list is not empty, and each class that is on it has its name in `etcdq`."""
    assert len(DEFINED) > 30
    assert {"ScheduleError", "DispatchError", "PermanentError"} < DEFINED.keys()
    assert {name for name in DEFINED if name not in etcdq._LAZY} == set()


@pytest.mark.parametrize("name", LEAVES)
def test_raised_and_caught_by_its_name(name: str) -> None:
    """`except etcdq.NAME` catches what was raised by that name, and so does EtcdqError."""
    kind = getattr(etcdq, name)
    assert kind is getattr(importlib.import_module(DEFINED[name]), name)
    given = ["why"] if name == "ScheduleError" else "why"  # it takes its lines

    try:
        raise kind(given)
    except getattr(etcdq, name) as error:
        caught = error
    assert str(caught) == "why"
    if name not in OF_APPLICATIONS:
        assert caught.text == "why"
        with pytest.raises(etcdq.EtcdqError, match="why"):
            raise kind(given)


async def _wait_with_a_held_job(client: beanstalk.Client) -> None:
    await client.put(b"x", ttr_s=1)
    await client.reserve(0)
    await client.reserve(5)


async def _fill(client: beanstalk.Client) -> None:
    for _ in range(3):
        await client.put(b"x")


async def _drain(client: beanstalk.Client) -> None:
    await client.drain()
    try:
        await client.put(b"x")
    finally:
        await client.undrain()


BY_ANY: dict[str, Cause] = {
    "NotFoundError": lambda client: client.delete(2**63),
    "TimedOutError": lambda client: client.reserve(0),
    "DeadlineSoonError": _wait_with_a_held_job,
    "NotIgnoredError": lambda client: client.ignore("NotIgnoredError"),
    "JobTooBigError": lambda client: client.put(b"x" * 70_000),
    "InvalidArgumentError": lambda client: client.use("no such name"),
}
BY_OURS: dict[str, Cause] = {"OutOfMemoryError": _fill, "DrainingError": _drain}


@pytest.mark.parametrize("name", sorted(BY_ANY))
async def test_caused_at_a_server(beanstalk_address: str, name: str) -> None:
    """A real server, beanstalkd or ours, causes the class of this name."""
    async with on_own_tube(beanstalk_address, name) as client:
        with pytest.raises(getattr(etcdq, name)):
            await BY_ANY[name](client)


@pytest.mark.parametrize("name", sorted(BY_OURS))
async def test_caused_at_ours(narrow_node: str, name: str) -> None:
    """Our node causes what a beanstalkd does only when it is short of memory or told to end."""
    async with on_own_tube(narrow_node, name) as client:
        with pytest.raises(getattr(etcdq, name)):
            await BY_OURS[name](client)


BAD_LINES = {
    "BadFormatError": b"put 1 2\r\n",
    "UnknownCommandError": b"fetch\r\n",
    "ExpectedCrlfError": b"put 0 0 60 1\r\nxxx",
}


@pytest.mark.parametrize("name", sorted(BAD_LINES))
async def test_caused_by_lines_that_no_call_sends(beanstalk_address: str, name: str) -> None:
    """What the client takes care not to send is refused under these names."""
    endpoint = parse_address(beanstalk_address)
    stream = await dial(endpoint, 5)
    async with open_connection(stream, endpoint) as connection:
        reply = await connection.ask(BAD_LINES[name])
    error = refusal(reply, "a line")
    assert error is not None

    with pytest.raises(getattr(etcdq, name)):
        raise error


async def test_caused_by_nobody_there() -> None:
    """Without a server it is NotConnectedError."""
    with pytest.raises(etcdq.NotConnectedError):
        async with beanstalk.connect(f"127.0.0.1:{free_port()}"):
            pass


async def test_caused_by_leaving(beanstalk_address: str) -> None:
    """A client that was left says ClosedError."""
    async with beanstalk.connect(beanstalk_address) as client:
        pass
    with pytest.raises(etcdq.ClosedError):
        await client.stats()


async def test_caused_by_another_protocol(ours: str) -> None:
    """What is no beanstalk server, here our etcd door, is RemoteProtocolError or a lost one."""
    async with beanstalk.connect(ours) as client:
        with pytest.raises((etcdq.RemoteProtocolError, etcdq.ConnectionLostError)):
            await client.stats()


def test_caused_by_a_body_that_is_not_allowed() -> None:
    """What a scheduled job may not run is DispatchError."""
    with pytest.raises(etcdq.DispatchError, match=r"class 'os\.system' is not allowed"):
        resolve(b'{"class": "os.system", "args": ["true"]}', {})


def test_caused_by_a_schedule_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read is ScheduleError."""
    with pytest.raises(etcdq.ScheduleError, match="cannot be read"):
        read_schedule(str(tmp_path / "schedule.yml"))


def test_permanent_by_its_name() -> None:
    """What is raised by the name PermanentError is what workers do not try again."""
    error = etcdq.PermanentError("no such customer")
    assert retry_delay_s(error, 1, Rules(), random.Random(0)) is None
    assert retry_delay_s(ValueError(), 1, Rules(), random.Random(0)) is not None
