"""What applications write."""

from typing import Any

import pytest

from etcdq.errors import InvalidArgumentError
from etcdq.worker import DeadLetter, ReservedJob, TubeConsumer, consumer
from etcdq.worker.consumer import CONSUMER_OF
from etcdq.worker.failure import Rules


def made(**attributes: Any) -> type[TubeConsumer]:
    """Return a consumer with these attributes."""
    base = {"tubes": ("t",), "process": lambda self, job: None}
    return type("Made", (TubeConsumer,), {**base, **attributes})


def test_decorated_function_stays_a_function() -> None:
    """It can be called as before, and leads to a consumer with the options."""

    @consumer("a", "b", concurrency=3, permanent=(KeyError,), give_up=DeadLetter("dead"))
    def handle(job: object) -> None:
        """Handle it."""
        seen.append(job)

    seen: list[object] = []
    handle(7)

    cls = getattr(handle, CONSUMER_OF)
    assert seen == [7]
    assert (cls.__name__, cls.__doc__) == ("handle", "Handle it.")
    assert cls().weights() == {"a": None, "b": None}
    assert (cls.concurrency, cls.give_up) == (3, DeadLetter("dead"))
    assert cls().rules() == Rules(permanent=(KeyError,))
    cls().process(8)
    assert seen == [7, 8]
    assert not cls().takes_batches()


def test_decorated_function_for_batches() -> None:
    """With `together` it is given a list; hooks are functions as well."""
    given_up: list[object] = []

    def note(job: ReservedJob, error: BaseException) -> None:
        given_up.append(job)

    @consumer("a", together=True, batch_size=50, on_give_up=note)
    async def handle(jobs: list[ReservedJob]) -> None: ...

    cls = getattr(handle, CONSUMER_OF)
    cls().on_give_up("job", ValueError())
    assert cls().takes_batches()
    assert given_up == ["job"]


def test_tubes_with_weights() -> None:
    """Tubes may be names, names with weights, or one name."""
    assert made(tubes={"a": 3, "b": 1})().weights() == {"a": 3, "b": 1}
    assert made(tubes="mail")().weights() == {"mail": None}


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"tubes": ()}, "no tubes"),
        ({"__init__": lambda self: None}, r"__init__ is to call super\(\)"),
        ({"tubes": ("a b",)}, "tube 'a b'"),
        ({"tubes": {"a": 0}}, "weight 0"),
        ({"process": TubeConsumer.process}, "either process or process_batch"),
        ({"process_batch": lambda self, jobs: None}, "either process or process_batch"),
        ({"concurrency": 0}, "concurrency 0"),
        ({"batch_size": 1001}, "batch_size 1001"),
        ({"tries_max": 0}, "tries_max 0"),
        ({"retry_base_s": 0.5}, "retry_base_s 0.5"),
        ({"permanent": ValueError}, "permanent <class 'ValueError'> is no tuple"),
        ({"permanent": ("ValueError",)}, "permanent .* is no tuple of exception classes"),
        ({"give_up": "forget"}, "give_up 'forget'"),
        ({"give_up": DeadLetter("-")}, "tube '-'"),
    ],
)
def test_what_cannot_be_run(attributes: dict[str, Any], text: str) -> None:
    """A wrong value is told before anything is reserved, with the name of the consumer."""
    with pytest.raises(InvalidArgumentError, match=f"Made: .*{text}"):
        made(**attributes)().check()


def test_decorator_checks() -> None:
    """A decorated function is checked where it is written."""
    with pytest.raises(InvalidArgumentError, match="handle: batch_size 0"):

        @consumer("a", batch_size=0)
        def handle(job: ReservedJob) -> None: ...
