"""docs/beanstalk-scenarios.md names what is there, and says what the files say."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.beanstalk_script import scenarios

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SECTIONS = {
    "beanstalkd, testserv.c": "testserv",
    "tuber, tests/integration.rs": "integration",
    "tuber, src/server/tests.rs": "unit",
}


def rows() -> list[tuple[str, str, list[str]]]:
    """Return the section, first cell and names of each row of the page."""
    found: list[tuple[str, str, list[str]]] = []
    section = ""
    for line in (ROOT / "docs/beanstalk-scenarios.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = re.fullmatch(r"\| (.+?) \| (.+) \|", line)
        if cells and cells[1] != "scenario" and cells[1] != "reported":
            found.append((section, cells[1].removesuffix(" †"), cells[2].split("<br>")))
    return found


SCENARIOS = scenarios(HERE)
ROWS = rows()


def test_the_page_is_read() -> None:
    """The tests below look at something."""
    assert len(ROWS) > 300
    assert {section for section, _, _ in ROWS} == {*SECTIONS, "Reported faults"}


@pytest.mark.parametrize("name", sorted({name for _, _, names in ROWS for name in names}))
def test_what_the_page_names_is_there(name: str) -> None:
    """A scenario of a text file, or a test of a Python file."""
    if ".txt: " in name:
        file, scenario = name.split(": ", 1)
        assert any((one.file, one.name) == (file, scenario) for one in SCENARIOS)
    else:
        file, function = name.split("::")
        path = ROOT / file if "/" in file else HERE / file
        assert re.search(rf"^(async )?def {function}\(", path.read_text(), re.MULTILINE)


def test_the_page_says_what_the_files_say() -> None:
    """What a scenario says that it shows stands in the page, and nothing else does."""
    in_files: defaultdict[str, set[str]] = defaultdict(set)
    for one in SCENARIOS:
        for shown in one.shows:
            in_files[shown].add(f"{one.file}: {one.name}")
    in_page: defaultdict[str, set[str]] = defaultdict(set)
    for section, first, names in ROWS:
        if section in SECTIONS:
            in_page[f"{SECTIONS[section]}.{first}"] |= {name for name in names if ".txt: " in name}

    assert in_files == {shown: names for shown, names in in_page.items() if names}
