"""Which Python files there are, and when they changed."""

import os
from pathlib import Path

ENVIRONMENT_MARK = "pyvenv.cfg"


def snapshot(folder: Path) -> dict[str, int]:
    """Return the Python files below a folder with their times of change, in nanoseconds.

    Hidden folders and virtual environments are left out.
    """
    found: dict[str, int] = {}
    for path, folders, files in os.walk(folder):
        if ENVIRONMENT_MARK in files:
            folders.clear()
            continue
        folders[:] = [each for each in folders if not each.startswith((".", "__pycache__"))]
        for name in files:
            if name.endswith(".py"):
                full = os.path.join(path, name)
                try:
                    found[full] = os.stat(full).st_mtime_ns
                except FileNotFoundError:
                    continue  # it went while we looked
    return found
