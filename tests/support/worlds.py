"""Three worlds in which a node and its clients live, so that one transcript is told in each.

- `core`: sessions and stages stepped by hand under a manual clock; no Trio at all.
- `memory`: the node's shells and one session per memory stream, under the autojump clock.
- `lockstep`: the same over lockstep streams, where a write ends when it was read; on request.
- `tcp`: a node that listens on 127.0.0.1, in this process, under the autojump clock.

A transcript is an async function of a world. `settle` lets everything happen that can happen
now; `wait` lets time pass; `until` lets as much pass as it takes. In the core world none of them
ever suspends, which is how we know that no Trio is in there.
"""

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
import trio
import trio.testing

from tests.support.core_world import CoreWorld
from tests.support.trio_world import lockstep_world, memory_world, tcp_world
from tests.support.world import World

Transcript = Callable[[World], Coroutine[Any, Any, None]]


def transcript(
    function: Transcript | None = None, /, *, worlds: str = "core memory tcp", **settings: Any
) -> Any:
    """Make a test of an async function of a world: it is run in each of the worlds named.

    Args:
        function: set when the decorator is used without brackets.
        worlds: the worlds, separated by blanks.
        settings: of the node, as an operator writes them.
    """
    if function is None:
        return lambda function: transcript(function, worlds=worlds, **settings)

    @wraps(function)
    def test(kind: str, **arguments: Any) -> None:
        def script(world: World) -> Coroutine[Any, Any, None]:
            return function(world, **arguments)

        if kind == "core":
            _tell_without_trio(script(CoreWorld(settings)))
        else:
            opened = {
                "memory": memory_world,
                "lockstep": lockstep_world,
                "tcp": tcp_world,
            }[kind]
            clock = trio.testing.MockClock(autojump_threshold=0)
            trio.run(_tell, opened(settings), script, clock=clock)

    signature = inspect.signature(function)
    kind = inspect.Parameter("kind", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    others = list(signature.parameters.values())[1:]
    test.__signature__ = inspect.Signature([kind, *others])  # type: ignore[attr-defined]
    return pytest.mark.parametrize("kind", worlds.split())(test)


def _tell_without_trio(script: Coroutine[Any, Any, None]) -> None:
    try:
        script.send(None)
    except StopIteration:
        return
    script.close()
    raise AssertionError("the core world waits for something outside of it")


async def _tell(opened: Any, script: Transcript) -> None:
    failure: BaseException | None = None
    async with opened as world:
        try:
            await script(world)
        except Exception as error:  # told outside of the nurseries, which would wrap it
            failure = error
    if failure is not None:
        raise failure
