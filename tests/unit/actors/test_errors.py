"""The error tree."""

import pytest

from etcdq.actors import errors
from etcdq.actors.errors import (
    CoreFault,
    DrainingError,
    EtcdqError,
    InvalidArgumentError,
    OverLimitError,
    RemoteProtocolError,
    RequestError,
    UnavailableError,
)

ABSTRACT = [EtcdqError, RequestError, RemoteProtocolError, UnavailableError]
TREE = [
    error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, EtcdqError)
]


@pytest.mark.parametrize("error", ABSTRACT)
def test_who_erred_is_no_error_by_itself(error: type[EtcdqError]) -> None:
    """Only leaves are raised: the bases are for catching."""
    with pytest.raises(TypeError, match="abstract"):
        error("text")


@pytest.mark.parametrize("error", [error for error in TREE if error not in ABSTRACT])
def test_every_leaf_says_who_erred(error: type[EtcdqError]) -> None:
    """Each stands under exactly one of caller, peer and world, and tells its catcher what to do."""
    assert sum(issubclass(error, base) for base in ABSTRACT[1:]) == 1
    assert error.__doc__


def test_errors_are_values() -> None:
    """Equal when of one kind and one text, so that a test can expect one in a reply."""
    assert OverLimitError("full") == OverLimitError("full")
    assert OverLimitError("full") != OverLimitError("over")
    assert OverLimitError("full") != DrainingError("full")
    assert len({InvalidArgumentError("a"), InvalidArgumentError("a")}) == 1
    assert InvalidArgumentError("a").text == str(InvalidArgumentError("a")) == "a"


def test_a_core_fault_names_key_and_message() -> None:
    """It is our bug, not an error of the tree."""
    fault = CoreFault(b"jobs", "put")
    assert str(fault) == "the core of b'jobs' failed on 'put'"
    assert not isinstance(fault, EtcdqError)
