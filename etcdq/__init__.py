"""etcdq: a message queue that needs no client of its own.

What applications import. The node's rooms (`etcdq.actors`, `etcdq.server`) are links to the
folders beside this one, see docs/adr/0001-one-import-name.md.
"""

__version__ = "0.1.0"
