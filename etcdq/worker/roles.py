"""Which consumers a worker process runs: those of a module, or of one of its roles."""

import importlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from etcdq.errors import InvalidArgumentError
from etcdq.worker.consumer import CONSUMER_OF, TubeConsumer

ALL: Final = "all"
"""The role that runs everything."""
PROJECT_FILE: Final = "pyproject.toml"


def load_consumers(target: str, role: str, folder: Path) -> list[TubeConsumer]:
    """Import a module and return the consumers that a role runs, checked.

    A role is a name with a list of consumers, in the module (`ROLES = {"mail": [Inbound, send]}`)
    or in a project file (`[tool.etcdq.roles]`, `mail = ["Inbound", "app.outbound:send"]`).

    Args:
        target: MODULE, or MODULE:OBJECT for a single consumer.
        role: one of the roles, or "all": whatever is in the module and in its roles.
        folder: where the project file may be.

    Raises:
        InvalidArgumentError: there is no such module, object or role, or it has no consumers.
    """
    module_name, colon, name = target.partition(":")
    module = _import(module_name)
    if colon:
        chosen: Iterable[Any] = [_named(module, name)]
    else:
        roles = {**_roles_of_project(folder), **getattr(module, "ROLES", {})}
        if role == ALL and role not in roles:
            listed = [x for each in roles for x in _listed(module, each, roles[each])]
            chosen = [*_consumers_in(module), *listed]
        elif role in roles:
            chosen = _listed(module, role, roles[role])
        else:
            known = ", ".join(sorted({ALL, *roles}))
            raise InvalidArgumentError(f"there is no role {role!r}, but {known}")
    consumers = _made(chosen)
    if not consumers:
        raise InvalidArgumentError(f"there are no consumers in {target}, role {role}")
    for consumer in consumers:
        consumer.check()
    return consumers


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # something that the module itself imports
        raise InvalidArgumentError(f"there is no module {name!r} here") from error
    except SystemExit as error:  # as its exit code would say that the worker did well
        raise InvalidArgumentError(f"module {name!r} exits when it is imported") from error


def _named(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        raise InvalidArgumentError(f"there is no {name!r} in {module.__name__}") from None


def _listed(module: ModuleType, role: str, listed: Iterable[Any]) -> list[Any]:
    try:
        return [_resolved(module, each) for each in listed]
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"role {role}: {error.text}") from error


def _resolved(module: ModuleType, what: Any) -> Any:
    """Return what a role lists: a consumer itself, its name here, or MODULE:NAME."""
    if not isinstance(what, str):
        return what
    other, colon, name = what.partition(":")
    return _named(_import(other), name) if colon else _named(module, what)


def _roles_of_project(folder: Path) -> Mapping[str, list[str]]:
    path = folder / PROJECT_FILE
    if not path.exists():
        return {}
    try:
        document = tomllib.loads(path.read_text())
        roles = document.get("tool", {}).get("etcdq", {}).get("roles", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{PROJECT_FILE}: {error}") from error
    wrong = not isinstance(roles, dict) or not all(_is_names(each) for each in roles.values())
    if wrong:
        raise InvalidArgumentError(
            f"{PROJECT_FILE}: a role in [tool.etcdq.roles] is a list of names"
        )
    found: Mapping[str, list[str]] = roles
    return found


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _consumers_in(module: ModuleType) -> Iterator[Any]:
    """Give what in a module is a consumer; one without tubes is a base of others."""
    for name, value in vars(module).items():
        is_class = isinstance(value, type) and issubclass(value, TubeConsumer)
        if is_class and (name.startswith("_") or not value.tubes):
            continue
        if is_class or isinstance(value, TubeConsumer) or hasattr(value, CONSUMER_OF):
            yield value


def _made(chosen: Iterable[Any]) -> list[TubeConsumer]:
    """Make an instance of each, and of none two."""
    made: dict[int, TubeConsumer] = {}
    for each in chosen:
        cls = getattr(each, CONSUMER_OF, each)
        if isinstance(cls, TubeConsumer):
            made.setdefault(id(cls), cls)
        elif isinstance(cls, type) and issubclass(cls, TubeConsumer):
            if id(cls) not in made:
                made[id(cls)] = cls()
        else:
            raise InvalidArgumentError(f"{each!r} is no consumer")
    return list(made.values())
