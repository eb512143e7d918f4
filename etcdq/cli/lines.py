"""The standard input, line by line, as fast or as slowly as it comes."""

import os
import sys
from collections.abc import AsyncGenerator

import trio

READ_BYTES = 65_536
"""Of one read: what it holds in whole lines is put together, so a slow pipe is passed on at once
and a fast one in large steps."""


async def read_lines() -> AsyncGenerator[list[bytes], None]:
    """Give the lines of the standard input as they come, without their ends."""
    rest = b""
    while True:
        data = await trio.to_thread.run_sync(
            os.read, sys.stdin.fileno(), READ_BYTES, abandon_on_cancel=True
        )
        *lines, rest = (rest + data).split(b"\n")
        if not data and rest:
            lines.append(rest)
        if lines:
            yield lines
        if not data:
            return
