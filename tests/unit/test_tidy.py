"""The house rules that a program can check."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("actors", "server", "etcdq", "tests", "bench", "examples")
GENERATED = ("server/etcd/pb/", "etcdq/wire/", "etcdq/actors/", "etcdq/server/")

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "XX" + "X")

NEEDS_NO_TEST = {
    "core": "a protocol: nothing happens in it",
    "effect": "values without behaviour",
    "message": "values without behaviour",
    "messages": "values without behaviour",
    "tube_messages": "values without behaviour",
    "codes": "numbers",
    "limits": "numbers; the relations between them are asserted at import",
    "context": "values without behaviour",
    "door": "values without behaviour",
}

TESTED_ELSEWHERE = {
    "server/process.py": "tests/interop/test_serve.py",  # a process is tested as a process
    "server/etcd/shell.py": "tests/shell/test_etcd_shell.py",  # actors/shell.py has the name
    "server/beanstalk/shell.py": "tests/shell/test_beanstalk_shell.py",  # so here
}


def sources(*folders: str) -> list[str]:
    """Return the Python files of folders, generated ones left out, links not followed."""
    found = [
        str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")
    ]
    return sorted(path for path in found if not path.startswith(GENERATED))


def lines(path: str) -> list[str]:
    return (ROOT / path).read_text().splitlines()


@pytest.mark.parametrize("path", sources(*ROOMS))
def test_size(path: str) -> None:
    """Files, functions and lines have a size at which they can be read."""
    text = lines(path)
    assert len(text) <= FILE_LINES_MAX
    wide = [number for number, line in enumerate(text, 1) if len(line) > COLUMNS_MAX]
    assert wide == []
    for node in ast.walk(ast.parse("\n".join(text))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < FUNCTION_LINES_MAX, node.name


@pytest.mark.parametrize("path", sources(*ROOMS))
def test_nothing_is_left_for_later(path: str) -> None:
    """What is not done is an issue, not a comment."""
    found = [line for line in lines(path) if any(word in line for word in UNFINISHED)]
    assert found == []


@pytest.mark.parametrize("path", sources("actors", "server", "etcdq"))
def test_file_says_what_it_is(path: str) -> None:
    """Every module begins with a docstring."""
    assert ast.get_docstring(ast.parse((ROOT / path).read_text()))


def packages() -> list[str]:
    folders = {str(Path(path).parent) for path in sources("actors", "server", "etcdq")}
    return sorted(folders)


@pytest.mark.parametrize("folder", packages())
def test_folder_is_a_package(folder: str) -> None:
    """Every folder with code has an __init__.py: one without would be left out of the wheel."""
    assert (ROOT / folder / "__init__.py").exists()


@pytest.mark.parametrize(
    "path", [p for p in sources("actors", "server") if p.endswith("__init__.py")]
)
def test_package_file_only_explains(path: str) -> None:
    """An __init__.py of a room says what lies in it, and may re-export; no code hides there."""
    body = ast.parse((ROOT / path).read_text()).body
    assert all(isinstance(node, ast.Expr | ast.ImportFrom) for node in body)


def mirrored(path: str) -> list[Path]:
    """Return where the tests of a source may be: unit tests by its path, shell tests by name."""
    source = Path(path)
    name = f"test_{source.stem}.py"
    return [ROOT / "tests/unit" / source.parent / name, ROOT / "tests/shell" / name]


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sources("actors", "server")
        if Path(path).stem not in {"__init__", *NEEDS_NO_TEST}
    ],
)
def test_source_has_its_test(path: str) -> None:
    """Who changes a file finds its tests by its name."""
    if path in TESTED_ELSEWHERE:
        assert (ROOT / TESTED_ELSEWHERE[path]).exists()
        return
    assert any(place.exists() for place in mirrored(path)), mirrored(path)[0]


@pytest.mark.parametrize("path", sources("tests/unit/actors", "tests/unit/server"))
def test_test_has_its_source(path: str) -> None:
    """A test file of a source that is gone is gone too."""
    name = Path(path).name
    if name in ("__init__.py", "conftest.py"):
        return
    folder = ROOT / Path(path).parent.relative_to("tests/unit")
    stem = name.removeprefix("test_").removesuffix(".py")
    # A large source may have several: test_core.py, test_core_model.py.
    assert any(stem == s.stem or stem.startswith(f"{s.stem}_") for s in folder.glob("*.py"))
