"""Tasks that go on behind a block, and end with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def open_background() -> AsyncIterator[trio.Nursery]:
    """Give a nursery whose tasks are cancelled when the block is left.

    What the block raises comes out as it is, in no group: whoever uses a client catches its errors
    by their names and knows nothing of the tasks behind it.
    """
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:  # raised below, outside of the nursery's group
                failure = error
            finally:
                nursery.cancel_scope.cancel()
    except BaseException:
        # Of the scope around us, which the block's own error outweighs.
        if failure is None or isinstance(failure, trio.Cancelled):
            raise
    if failure is not None:
        raise failure
