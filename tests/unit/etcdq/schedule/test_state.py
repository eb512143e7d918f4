"""The state file: what one scheduler leaves to the next."""

from pathlib import Path

import pytest

from etcdq.schedule.agenda import Record, Run
from etcdq.schedule.state import load_state, save_state

RECORDS = {"poll": Record("every 60s", 1.5, [Run(7, 60)]), "tidy": Record("cron", 2.0, [])}


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    """The next start knows what this one knew, and nothing else lies around."""
    path = tmp_path / "schedule.yml.state"

    save_state(str(path), {})
    save_state(str(path), RECORDS)

    assert load_state(str(path)) == RECORDS
    assert list(tmp_path.iterdir()) == [path]


def test_no_file(tmp_path: Path) -> None:
    """Without a file there was nobody before."""
    assert load_state(str(tmp_path / "none")) == {}


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"entries": {"poll": 5}}'])
def test_another_file(tmp_path: Path, content: str) -> None:
    """What is no state is told as a wrong value."""
    path = tmp_path / "state"
    path.write_text(content)

    with pytest.raises(ValueError, match=r"."):
        load_state(str(path))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """What cannot be written is told by the system's own error."""
    with pytest.raises(FileNotFoundError):
        save_state(str(tmp_path / "none" / "state"), {})
