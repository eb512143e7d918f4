"""The tree of errors that the client library raises."""

import pytest

import etcdq
from etcdq import errors

ALL = sorted(
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, Exception)
)
ABSTRACT = {"EtcdqError", "RequestError", "UnavailableError"}
LEAVES = [name for name in ALL if name not in ABSTRACT]


def test_all_are_exported() -> None:
    """Each class is known as etcdq.NAME, and is the same one."""
    assert len(ALL) == 18
    assert all(getattr(etcdq, name) is getattr(errors, name) for name in ALL)


@pytest.mark.parametrize("name", LEAVES)
def test_leaf_is_caught_by_its_name(name: str) -> None:
    """A leaf is raised and caught by its name, keeps its text, and says who erred."""
    kind = getattr(etcdq, name)

    with pytest.raises(kind, match="why it is so") as caught:
        raise kind("why it is so")

    assert type(caught.value) is kind
    assert caught.value.text == "why it is so"
    bases = (etcdq.RequestError, etcdq.UnavailableError, etcdq.RemoteProtocolError)
    assert sum(isinstance(caught.value, base) for base in bases) == 1
    assert isinstance(caught.value, etcdq.EtcdqError)


@pytest.mark.parametrize("name", sorted(ABSTRACT))
def test_bases_are_not_raised(name: str) -> None:
    """What stands for a kind of error refuses to be one."""
    with pytest.raises(TypeError, match="is abstract"):
        getattr(etcdq, name)("x")


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("InvalidArgumentError", ValueError),
        ("NotFoundError", LookupError),
        ("UnsupportedError", NotImplementedError),
        ("PermissionDeniedError", PermissionError),
        ("DeadlineExceededError", TimeoutError),
    ],
)
def test_nearest_builtin(name: str, builtin: type[Exception]) -> None:
    """Where Python has a word for it, that word catches it too."""
    with pytest.raises(builtin):
        raise getattr(etcdq, name)("x")
