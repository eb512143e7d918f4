"""Every scenario of this folder's text files, on our node and, where it can, on a beanstalkd.

How they are written is said in `tests/support/beanstalk_script.py`.
"""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from tests.support.beanstalk_script import Replay, Scenario, scenarios
from tests.support.beanstalk_servers import open_beanstalkd, open_node

SCENARIOS = scenarios(Path(__file__).parent)
TRIES = 3

ON_OURS = [
    pytest.param(scenario, dialect, id=f"{dialect}: {scenario.name}")
    for scenario in SCENARIOS
    for dialect in ("tuber", "beanstalkd")
    if scenario.kind in ("both", "ours", dialect)
]
ON_A_BEANSTALKD = [scenario for scenario in SCENARIOS if scenario.kind in ("both", "beanstalkd")]


async def on_ours(scenario: Scenario, dialect: str, bytewise: bool) -> None:
    """Replay a scenario on a node of its own."""
    settings: dict[str, Any] = {
        name.replace("-", "_"): value for name, value in scenario.settings.items()
    }
    failure = ""
    async with open_node(beanstalk_dialect=dialect, **settings) as server:
        try:
            await Replay(server, scenario, bytewise=bytewise).run()
        except AssertionError as error:
            failure = str(error)
    if failure:  # told outside of the nursery, and without the path to it
        pytest.fail(failure, pytrace=False)


async def on_a_beanstalkd(scenario: Scenario, folder: Path) -> None:
    """Replay a scenario on a beanstalkd of its own."""
    flags = {"max-job-size": "-z"}
    words = [word for name, value in scenario.settings.items() for word in (flags[name], value)]
    with open_beanstalkd(folder, flags=words) as server:
        await Replay(server, scenario, is_real=True).run()


@pytest.mark.parametrize(("scenario", "dialect"), ON_OURS)
def test_scenario(scenario: Scenario, dialect: str) -> None:
    """The node answers as the scenario says, each thing at its instant."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    trio.run(on_ours, scenario, dialect, False, clock=clock)


@pytest.mark.parametrize(("scenario", "dialect"), ON_OURS)
def test_scenario_byte_by_byte(scenario: Scenario, dialect: str) -> None:
    """The same, however the bytes come."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    trio.run(on_ours, scenario, dialect, True, clock=clock)


@pytest.mark.peer
def test_scenarios_of_a_beanstalkd(tmp_path: Path) -> None:
    """A beanstalkd answers the same: all of them side by side, for some take seconds.

    What fails is played again: real seconds on a busy machine are not what a script says.
    """
    left = dict(enumerate(ON_A_BEANSTALKD))
    failures: dict[int, str] = {}

    async def play(number: int, folder: Path) -> None:
        try:
            await on_a_beanstalkd(left[number], folder)
        except AssertionError as error:
            failures[number] = f"{left[number].name}: {error}"

    async def play_all(folders: dict[int, Path]) -> None:
        async with trio.open_nursery() as nursery:
            for number, folder in folders.items():
                nursery.start_soon(play, number, folder)

    for again in range(TRIES):
        failures.clear()
        folders = {number: tmp_path / f"{number}-{again}" for number in left}
        for folder in folders.values():
            folder.mkdir()
        trio.run(play_all, folders)
        left = {number: left[number] for number in failures}
    if failures:
        pytest.fail("\n".join(failures.values()), pytrace=False)
