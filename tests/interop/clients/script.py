"""The words that tests and drivers exchange: `DRIVER HOST PORT COMMAND ARGUMENTS...`, lines back.

Imported by the drivers, in environments that have no package of ours.
"""

import asyncio
import inspect


def say(*words):
    """Print a line at once; bytes as text."""
    shown = (word.decode() if isinstance(word, bytes) else str(word) for word in words)
    print(*shown, flush=True)


def talk(script, arguments):
    """Run one command of a driver's script."""
    host, port, command, *rest = arguments
    said = getattr(script(host, port), command)(*rest)
    if inspect.iscoroutine(said):
        asyncio.run(said)
