"""OPTIONS of a backend: which are taken, and which tube a queue has."""

from typing import Any

import pytest

from etcdq.django.options import read_options
from etcdq.errors import InvalidArgumentError
from etcdq.worker.failure import DeadLetter

QUEUES = {"default", "mail"}


def test_defaults() -> None:
    """Nothing has to be said."""
    options = read_options({}, QUEUES)

    assert options.tubes_of(QUEUES, []) == ["django.default", "django.mail"]
    assert options.tubes_of(QUEUES, ["mail"]) == ["django.mail"]
    assert options.how_to_give_up() == "delete"
    assert (options.ttr_s, options.tries_max, options.address) == (60, 5, None)


@pytest.mark.parametrize(
    ("tube", "tubes"),
    [
        ("tasks", ["tasks"]),
        ("a.{queue}", ["a.default", "a.mail"]),
        ({"default": "x", "mail": "y", "other": "z"}, ["x", "y"]),
        ({"default": "x", "mail": "x"}, ["x"]),
    ],
)
def test_tubes(tube: Any, tubes: list[str]) -> None:
    """One for all queues, one each, or as a mapping says."""
    assert read_options({"tube": tube}, QUEUES).tubes_of(QUEUES, []) == tubes


def test_shared_tube_is_worked_off_whole() -> None:
    """A worker of a queue would take the other's tasks."""
    options = read_options({"tube": {"default": "x", "mail": "x", "bulk": "y"}}, QUEUES)
    queues = {*QUEUES, "bulk"}

    assert options.tubes_of(queues, ["bulk"]) == ["y"]
    assert options.tubes_of(queues, ["mail", "default"]) == ["x"]
    with pytest.raises(InvalidArgumentError, match="'default' shares the tube x with queue 'mail'"):
        options.tubes_of(queues, ["mail", "bulk"])


def test_no_list_of_queues() -> None:
    """With QUEUES empty any name is one, so a worker has to be told, unless all are together."""
    assert read_options({"tube": "tasks"}, []).tubes_of([], []) == ["tasks"]
    assert read_options({"tube": {"a": "x"}}, []).tubes_of([], []) == ["x"]
    assert read_options({}, []).tubes_of([], ["a"]) == ["django.a"]
    with pytest.raises(InvalidArgumentError, match="say which queues"):
        read_options({}, []).tubes_of([], [])
    with pytest.raises(InvalidArgumentError, match="none for queue 'b'"):
        read_options({"tube": {"a": "x"}}, []).tube_of("b")


@pytest.mark.parametrize(
    ("give_up", "means"),
    [
        ("bury", "bury"),
        ({"dead_letter": "graves"}, DeadLetter("graves")),
        (DeadLetter("graves"), DeadLetter("graves")),
    ],
)
def test_give_up(give_up: Any, means: object) -> None:
    """It is said as to a consumer, or in plain words."""
    assert read_options({"give_up": give_up}, QUEUES).how_to_give_up() == means


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tubes": "x"}, "unknown field `tubes`"),
        ({"tube": "no tube"}, "tube of queue 'default': 'no tube'"),
        ({"tube": {"default": "x"}}, "none for queue 'mail'"),
        ({"tube": {"default": "x", "mail": "y", "other": "- -"}}, "tube of queue 'other'"),
        ({"address": "http://x"}, "address 'http://x'"),
        ({"timeout_s": 0}, "timeout_s 0.0 is not above 0"),
        ({"ttr_s": 0}, "ttr_s 0 is not a whole number"),
        ({"ttr_s": 1.5}, "Expected `int`, got `float`"),
        ({"tries_max": 0}, "tries_max 0"),
        ({"give_up": "forget"}, "give_up 'forget' is unknown"),
        ({"give_up": {"dead_letter": "a b"}}, "give_up: tube 'a b'"),
        ({"give_up": {"bury": 1}}, "give_up {'bury': 1} is unknown"),
    ],
)
def test_wrong_options(given: dict[str, Any], text: str) -> None:
    """Each is told by its name."""
    with pytest.raises(InvalidArgumentError) as caught:
        read_options(given, sorted(QUEUES))
    assert text in caught.value.text
