"""The programs of docs/python-client.md run, on a real beanstalkd and on our node."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import clean_environment

PAGE = Path(__file__).parents[2] / "docs/python-client.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
WITHIN_S = 30

SAYS = ("b'someone@example.org'", "", "True True", "curl http://127.0.0.1:")
"""A part of what each prints, in order."""


def test_no_program_is_left_out() -> None:
    """Each has its line above."""
    assert len(PROGRAMS) == len(SAYS)


@pytest.mark.parametrize("place", range(len(SAYS)))
def test_program_runs(place: int, beanstalk_address: str) -> None:
    """As it stands on the page, with the address in the environment."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAMS[place]],
        env=clean_environment(ETCDQ_BEANSTALK_URL=beanstalk_address),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert SAYS[place] in done.stdout
