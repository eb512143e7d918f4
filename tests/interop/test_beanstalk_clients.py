"""Beanstalk clients that other people wrote, as processes, on a real beanstalkd and on our nodes.

greenstalk and pystalk (Python), beaneater (Ruby), Pheanstalk (PHP), fivebeans, node-beanstalk and
jackd (Node.js) do the same steps on all, and must report the same; so must the suite that
fivebeans ships. `scripts/clients` gets them, Debian has beaneater and Pheanstalk; `clients/` holds
what drives them. Everybody gets servers of their own, and some run at once: they mostly wait.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.support.beanstalk_peer import run_beanstalkd
from tests.support.beanstalk_scenario import scenario
from tests.support.processes import clean_environment, free_port, run_etcdq

ROOT = Path(__file__).parents[2]
DRIVERS = Path(__file__).parent / "clients"
NODE_MODULES = ROOT / ".clients/node/node_modules"
DEBIAN = {
    "beaneater": ("ruby", "/usr/lib/ruby/vendor_ruby/beaneater.rb", "ruby-beaneater"),
    "pheanstalk": ("php", "/usr/share/php/Pheanstalk/autoload.php", "php-pda-pheanstalk"),
}
LACKING = {
    "greenstalk": set[str](),
    "pystalk": {
        "reserve", "reserve-job", "touch", "peek", "list-tube-used", "list-tubes-watched",
    },
    "beaneater": {"reserve-job"},
    "pheanstalk": {"reserve-job"},
    "fivebeans": {"reserve-job"},
    "node_beanstalk": set[str](),
    "jackd": {"pause-tube"},
}  # fmt: skip
"""What each client has no call for."""

END_S = 120.0
SUITE_PASSES = 53
OWN_FIGURES = re.compile(r"^(A stats -> (?:pid|rusage-.time|uptime|id|total-connections)) .*")
"""What two servers do not have in common; and one was asked whether it listens, on a connection."""

TIMES = re.compile(r'(.* -> (?:age|time-left|pause-time-left)) "?(-?\d+)"?')
STALL_S = 3
"""Ages may differ by so much: a program may have to wait for its turn on the machine."""

AT_ONCE = 4


@contextmanager
def run_ours(dialect: str) -> Iterator[int]:
    """Run our node in a dialect; give the port of its beanstalk door."""
    port = free_port()
    flags = ("--listen-beanstalk", f"127.0.0.1:{port}", "--beanstalk-dialect", dialect)
    with run_etcdq(*flags):
        yield port


@contextmanager
def run_theirs() -> Iterator[int]:
    """Run a real beanstalkd; give its port."""
    with run_beanstalkd() as address:
        yield int(address.rpartition(":")[2])


def command_of(client: str) -> list[str]:
    """Return what runs the driver of a client."""
    if client in DEBIAN:
        program, file, package = DEBIAN[client]
        found = shutil.which(program)
        if found is None or not Path(file).exists():
            pytest.skip(f"no {client} here: install the Debian package {package}")
        return [found, str(DRIVERS / f"drive_{client}.{Path(file).suffix[1:]}")]
    python = ROOT / ".clients" / client / "bin/python"
    if python.exists():
        return [str(python), str(DRIVERS / f"drive_{client}.py")]
    if not NODE_MODULES.exists():
        pytest.skip(f"no {client} here: run scripts/clients")
    return ["node", str(DRIVERS / f"drive_{client}.js")]


def run(command: list[str], **environment: str) -> str:
    """Run a program to its end, which must be a good one; return what it printed."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=END_S,
        env=clean_environment(NODE_PATH=str(NODE_MODULES), **environment),
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def transcript(client: str, port: int, folder: Path) -> list[str]:
    """Return what a client saw at a port, without the figures that are a server's own."""
    steps = folder / f"{client}-{port}.json"
    steps.write_text(json.dumps(list(scenario())))
    printed = run([*command_of(client), str(port), str(steps)])
    return [OWN_FIGURES.sub(r"\1", line) for line in printed.splitlines()]


def suite_results(port: int, folder: Path) -> dict[str, list[str]]:
    """Return what fivebeans' own suite says of the server at a port: titles by outcome."""
    mocha = NODE_MODULES / ".bin/mocha"
    if not mocha.exists():
        pytest.skip("no fivebeans here: run scripts/clients")
    path = folder / f"suite-{port}.json"
    options = f"--exit -t 8000 --reporter json --reporter-option output={path}".split()
    subprocess.run(
        [str(mocha), *options, "test/"],
        cwd=NODE_MODULES / "fivebeans",
        env=clean_environment(BEANSTALKD_PORT=str(port)),
        capture_output=True,
        timeout=END_S,
        check=False,
    )
    said = json.loads(path.read_text())
    return {
        outcome: [test["fullTitle"] for test in said[outcome]] for outcome in ("passes", "failures")
    }


def alike(mine: str, real: str) -> bool:
    """Tell whether two lines are the same, but for a second that passed between."""
    if mine == real:
        return True
    ours, theirs = TIMES.fullmatch(mine), TIMES.fullmatch(real)
    if ours is None or theirs is None or ours[1] != theirs[1]:
        return False
    return abs(int(ours[2]) - int(theirs[2])) <= STALL_S


def play_on_each(client: str, folder: Path) -> list[list[str]]:
    """Return what a client saw on ours in beanstalkd's dialect, and in tuber's, and on theirs."""
    with run_ours("beanstalkd") as strict, run_ours("tuber") as usual, run_theirs() as theirs:
        ports = (strict, usual, theirs)
        with ThreadPoolExecutor() as at_once:
            return list(at_once.map(lambda port: transcript(client, port, folder), ports))


def run_suite_on_both(folder: Path) -> list[dict[str, list[str]]]:
    """Return what fivebeans' suite says of ours and of theirs."""
    with run_ours("beanstalkd") as ours, run_theirs() as theirs, ThreadPoolExecutor() as at_once:
        return list(at_once.map(lambda port: suite_results(port, folder), (ours, theirs)))


def figure_of(line: str) -> str | None:
    """Return which figure of a document of statistics a line shows."""
    found = re.match(r"\w+ stats\S* .*-> [\w-]+ ", line)
    return found and found[0]


def in_any_order(line: str) -> str | list[str]:
    """Return a line, or the words of a line that shows a list of tubes, sorted."""
    return sorted(re.findall(r"[\w-]+", line)) if " list-tubes" in line else line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for what programs read and write."""
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def at_once() -> Iterator[ThreadPoolExecutor]:
    """Run programs beside the tests, a few at a time."""
    with ThreadPoolExecutor(AT_ONCE) as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


@pytest.fixture(scope="module", autouse=True)
def suite(at_once: ThreadPoolExecutor, folder: Path) -> Future[list[dict[str, list[str]]]]:
    """What fivebeans' suite will have said: it takes longest, so it begins first."""
    return at_once.submit(run_suite_on_both, folder)


@pytest.fixture(scope="module", autouse=True)
def seen(at_once: ThreadPoolExecutor, folder: Path) -> dict[str, Future[list[list[str]]]]:
    """What each client saw, or will have seen."""
    return {client: at_once.submit(play_on_each, client, folder) for client in LACKING}


@pytest.mark.peer
@pytest.mark.parametrize("client", LACKING)
def test_a_client_sees_what_it_sees_on_beanstalkd(
    client: str, seen: dict[str, Future[list[list[str]]]]
) -> None:
    """Every command, answer, error and figure reaches the client as from the real beanstalkd."""
    mine, _, real = seen[client].result()

    assert [pair for pair in zip_longest(mine, real, fillvalue="") if not alike(*pair)] == []
    assert mine[-1] == "done"
    steps = {f"{name} {command}" for name, command, *_ in scenario()}
    assert {" ".join(line.split()[:2]) for line in mine[:-1]} == steps
    lacking = {line.split()[1] for line in mine if line.endswith("-> lacking")}
    assert lacking == LACKING[client]


@pytest.mark.peer
@pytest.mark.parametrize("client", LACKING)
def test_a_client_can_use_the_default_dialect(
    client: str, seen: dict[str, Future[list[list[str]]]]
) -> None:
    """A node with tuber's extensions answers the same; there are more figures, and none is gone.

    Lists have an order of their own.
    """
    _, mine, real = seen[client].result()

    answers, expected = (
        [in_any_order(line) for line in lines if not figure_of(line)] for lines in (mine, real)
    )
    assert answers == expected
    assert {figure_of(line) for line in real} - {figure_of(line) for line in mine} == set()


@pytest.mark.peer
def test_the_suite_of_fivebeans(suite: Future[list[dict[str, list[str]]]]) -> None:
    """The suite that fivebeans ships passes as on the real beanstalkd.

    On Node.js 20 one of its tests fails on both: it expects the errors of an older one.
    """
    mine, real = suite.result()

    assert mine["failures"] == real["failures"]
    assert mine["passes"] == real["passes"]
    assert len(mine["passes"]) >= SUITE_PASSES
