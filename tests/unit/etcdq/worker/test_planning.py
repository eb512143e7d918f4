"""In which order jobs of one reserve are run."""

from dataclasses import dataclass

import pytest

from etcdq.worker.planning import Plan, plan


@dataclass(frozen=True)
class Job:
    """A job by its name."""

    name: str
    tries: int = 0
    vanished: int = 0


def job(text: str) -> Job:
    """Read a name, a mark `*` for each failed try, and `!` for each vanished worker."""
    vanished = text.count("!")
    return Job(text.rstrip("*!"), text.count("*") + vanished, vanished)


def planned(text: str, *, together: bool, tries_max: int = 5) -> tuple[str, str, str]:
    """Plan jobs; return who is given up, who is run (| between runs), who is handed back."""
    found: Plan[Job] = plan(
        [job(each) for each in text.split()], together=together, tries_max=tries_max
    )
    runs = "|".join(" ".join(each.name for each in run) for run in found.runs)
    return " ".join(j.name for j in found.spent), runs, " ".join(j.name for j in found.back)


@pytest.mark.parametrize(
    ("jobs", "one_by_one", "together"),
    [
        ("a b c", ("", "a|b|c", ""), ("", "a b c", "")),
        ("a* b c*", ("", "a|b|c", ""), ("", "b|a|c", "")),
        ("a! b c*", ("", "b|c|a", ""), ("", "b|c|a", "")),
        ("a! b! c!", ("", "a", "b c"), ("", "a", "b c")),
        ("a!!!!! b", ("a", "b", ""), ("a", "b", "")),
        ("a***!! b*****", ("a b", "", ""), ("a b", "", "")),
    ],
)
def test_order(jobs: str, one_by_one: tuple[str, str, str], together: tuple[str, str, str]) -> None:
    """Who failed is run alone; who may have killed its worker comes last, and is the only one."""
    assert planned(jobs, together=False) == one_by_one
    assert planned(jobs, together=True) == together
