"""etcdq: a message queue that needs no client of its own.

What applications import. The node's rooms (`etcdq.actors`, `etcdq.server`) are links to the
folders beside this one, see docs/adr/0001-one-import-name.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etcdq.embedded import open_node as open_node

__version__ = "0.1.0"

_LAZY = {"open_node": "etcdq.embedded"}
"""Names whose modules are imported when they are first asked for: a client needs no server."""


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'etcdq' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value
