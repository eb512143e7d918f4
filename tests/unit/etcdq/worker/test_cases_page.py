"""docs/worker-cases.md names tests that are there, and leaves no case out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/worker-cases.md").read_text()
CASES = ("C62", "C64", "C65", "C67", "C68", "C70", "C71", "C73", "C74", "C76")
TESTS = re.findall(r"([a-z_/]+)::(\w+)", PAGE)


def find_file(place: str) -> Path:
    """Return the file that the page calls so."""
    folder, _, name = place.rpartition("/")
    if folder == "unit":
        (path,) = (ROOT / "tests/unit/etcdq").glob(f"[hsw]*/test_{name}.py")
        return path
    return ROOT / "tests" / (folder or "shell") / f"test_{name}.py"


def test_the_page_is_read() -> None:
    """The test below looks at something, and each case has a row that names a test."""
    assert len(TESTS) > 60
    rows = re.findall(r"^\| (C\d\d) \|.*::test_\w+ \|$", PAGE, re.MULTILINE)
    assert rows == list(CASES)


def test_every_cell_names_tests() -> None:
    """What stands under "shown by" is nothing but names of tests."""
    cells = [line.split(" | ")[-1].removesuffix(" |") for line in PAGE.splitlines() if "::" in line]
    names = [name for cell in cells for name in cell.split("<br>")]
    assert names == [f"{place}::{function}" for place, function in TESTS]


@pytest.mark.parametrize(("place", "function"), sorted(set(TESTS)))
def test_what_the_page_names_is_there(place: str, function: str) -> None:
    """A test of that file."""
    text = find_file(place).read_text()
    assert re.search(rf"^(async )?def {function}\(", text, re.MULTILINE)
