"""What `import etcdq` offers, and what it costs."""

import ast
import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import etcdq

ROOT = Path(__file__).parents[2]


def typed_exports() -> dict[str, str]:
    """Return name to module of the exports that type checkers see."""
    tree = ast.parse((ROOT / "etcdq/__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found = {}
            for each in node.body:
                assert isinstance(each, ast.ImportFrom)
                assert each.module is not None
                for alias in each.names:
                    assert alias.asname == alias.name, f"{alias.name}: re-export as itself"
                    found[alias.name] = each.module
            return found
    raise AssertionError("etcdq/__init__.py shows nothing to type checkers")


def test_type_checkers_see_what_there_is() -> None:
    """The lazy table and the typed imports are the same list."""
    assert typed_exports() == etcdq._LAZY


@pytest.mark.parametrize("name", sorted(etcdq._LAZY))
def test_export_is_there_and_explained(name: str) -> None:
    """Every public name is found, is what its module has, and has a docstring of its own."""
    value = getattr(etcdq, name)

    assert value is getattr(importlib.import_module(etcdq._LAZY[name]), name)
    assert inspect.getdoc(value)


def test_unknown_name() -> None:
    """A name that is not there is told as Python tells it."""
    with pytest.raises(AttributeError, match="module 'etcdq' has no attribute 'nothing'"):
        etcdq.nothing  # noqa: B018


def test_version_is_the_packages() -> None:
    """The version stands twice, and is the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert etcdq.__version__ == project["version"]


def loaded_after(statement: str) -> set[str]:
    """Return the modules that a fresh Python has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_costs_nothing() -> None:
    """`import etcdq` loads no library: what is used is loaded when it is used."""
    loaded = loaded_after("import etcdq")

    assert not loaded & {"trio", "grpclib", "betterproto", "google.protobuf", "pydantic"}


def test_a_client_loads_no_node() -> None:
    """Who only connects has neither the node's rooms nor its configuration in memory."""
    loaded = loaded_after("import etcdq; etcdq.connect")

    assert "etcdq.client.client" in loaded
    assert not {name for name in loaded if name.startswith(("etcdq.actors", "etcdq.server"))}
    assert "pydantic" not in loaded


def test_a_beanstalk_client_loads_no_grpc() -> None:
    """Who speaks beanstalk has neither the node nor the etcd client's libraries in memory."""
    loaded = loaded_after("import etcdq.beanstalk")

    assert "trio" in loaded
    assert not {name for name in loaded if name.startswith(("etcdq.actors", "etcdq.server"))}
    assert not loaded & {"grpclib", "betterproto", "trio_asyncio", "google.protobuf", "pydantic"}


def test_the_command_line_loads_one_command() -> None:
    """`etcdq serve` loads no client; the command line itself loads neither."""
    loaded = loaded_after("import etcdq.cli")

    assert not loaded & {"trio", "grpclib", "betterproto", "pydantic"}
    loaded = loaded_after("import etcdq.cli.serve, etcdq.server.process")
    assert "etcdq.server.daemon" in loaded
    assert not loaded & {"grpclib", "betterproto", "rich", "structlog"}
