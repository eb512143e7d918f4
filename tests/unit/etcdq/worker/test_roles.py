"""Which consumers a worker process runs."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from etcdq.errors import InvalidArgumentError
from etcdq.worker import ReservedJob, TubeConsumer, consumer
from etcdq.worker.roles import load_consumers


class Base(TubeConsumer):
    """Base of others: it has no tubes."""

    def process(self, job: ReservedJob) -> None:
        """Do nothing."""


class Inbound(Base):
    """One."""

    tubes = ("inbound",)


class _Hidden(Base):
    tubes = ("hidden",)


@consumer("outbound")
def send(job: ReservedJob) -> None:
    """Another one."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module `app_jobs` with consumers in it."""
    made = ModuleType("app_jobs")
    for each in (Base, Inbound, _Hidden, send):
        setattr(made, each.__name__, each)
    made.send_too = send  # type: ignore[attr-defined]
    made.number = 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app_jobs", made)
    return made


def names(target: str, role: str, folder: Path) -> list[str]:
    """Return the names of what would run."""
    return [type(each).__name__ for each in load_consumers(target, role, folder)]


def test_everything_in_a_module(module: ModuleType, tmp_path: Path) -> None:
    """By default each consumer runs once; bases and what is private are left out."""
    assert names("app_jobs", "all", tmp_path) == ["Inbound", "send"]


def test_one_object(module: ModuleType, tmp_path: Path) -> None:
    """MODULE:OBJECT names one, a private one as well, or an instance."""
    module.mine = Inbound()  # type: ignore[attr-defined]

    assert names("app_jobs:_Hidden", "all", tmp_path) == ["_Hidden"]
    assert load_consumers("app_jobs:mine", "all", tmp_path) == [module.mine]


def test_roles_in_code(module: ModuleType, tmp_path: Path) -> None:
    """A role lists consumers, or their names; `all` is what is there and in any role."""
    module.ROLES = {"mail": [send], "other": ["_Hidden"]}  # type: ignore[attr-defined]

    assert names("app_jobs", "mail", tmp_path) == ["send"]
    assert names("app_jobs", "other", tmp_path) == ["_Hidden"]
    assert names("app_jobs", "all", tmp_path) == ["Inbound", "send", "_Hidden"]


def test_roles_of_the_project(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project file may list them, those of other modules too; code comes before it."""
    other = ModuleType("app_other")
    other.Hidden = _Hidden  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app_other", other)
    text = '[tool.etcdq.roles]\nmail = ["Inbound", "app_other:Hidden"]\nboth = ["Inbound"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    module.ROLES = {"both": [send]}  # type: ignore[attr-defined]

    assert names("app_jobs", "mail", tmp_path) == ["Inbound", "_Hidden"]
    assert names("app_jobs", "both", tmp_path) == ["send"]


def test_role_of_another_module(module: ModuleType, tmp_path: Path) -> None:
    """It holds up no other role; who needs it is told which one it is."""
    text = '[tool.etcdq.roles]\nmail = ["Inbound"]\nweb = ["Crawler"]\n'
    (tmp_path / "pyproject.toml").write_text(text)

    assert names("app_jobs", "mail", tmp_path) == ["Inbound"]
    for role in ("web", "all"):
        with pytest.raises(InvalidArgumentError, match="role web: there is no 'Crawler'"):
            load_consumers("app_jobs", role, tmp_path)


@pytest.mark.parametrize(
    ("target", "role", "text"),
    [
        ("no_such_module", "all", "no module 'no_such_module'"),
        ("no_such.module", "all", "no module 'no_such.module'"),
        ("app_jobs:Nothing", "all", "no 'Nothing' in app_jobs"),
        ("app_jobs:number", "all", "7 is no consumer"),
        ("app_jobs", "cleaning", "no role 'cleaning', but all, empty"),
        ("app_jobs", "empty", "no consumers in app_jobs, role empty"),
        ("app_jobs:Base", "all", "Base: it has no tubes"),
    ],
)
def test_what_is_not_there(
    target: str, role: str, text: str, module: ModuleType, tmp_path: Path
) -> None:
    """It is told what there is instead."""
    module.ROLES = {"empty": []}  # type: ignore[attr-defined]

    with pytest.raises(InvalidArgumentError, match=text):
        load_consumers(target, role, tmp_path)


def test_module_that_lacks_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a module imports and does not find is the application's error, told with its trace."""
    (tmp_path / "app_broken.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load_consumers("app_broken", "all", tmp_path)


@pytest.mark.parametrize("code", [0, 3])
def test_module_that_exits(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that runs when it is imported: its exit code is not the worker's."""
    (tmp_path / "app_script.py").write_text(f"raise SystemExit({code})\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(InvalidArgumentError, match="'app_script' exits when it is imported"):
        load_consumers("app_script", "all", tmp_path)


@pytest.mark.parametrize(
    "text", ["[tool", '[tool.etcdq.roles]\nmail = "Inbound"', "[tool.etcdq]\nroles = [1]"]
)
def test_wrong_project_file(text: str, module: Any, tmp_path: Path) -> None:
    """A project file that cannot be read is told by its name."""
    (tmp_path / "pyproject.toml").write_text(text)

    with pytest.raises(InvalidArgumentError, match=r"pyproject\.toml: "):
        load_consumers("app_jobs", "all", tmp_path)
