"""Reply words as errors."""

import inspect

import pytest

import etcdq
from etcdq import beanstalk
from etcdq.beanstalk import errors
from etcdq.beanstalk.errors import REFUSALS, refusal
from etcdq.beanstalk.replies import Reply

OURS = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and value.__module__ == errors.__name__
}


@pytest.mark.parametrize("word", sorted(REFUSALS))
def test_word_has_its_class(word: str) -> None:
    """Each word is a class of its own, which says what was asked and why it was refused."""
    error = refusal(Reply(word), "delete 5")

    assert error is not None
    assert type(error) is REFUSALS[word][0]
    assert error.text == f"delete 5: {REFUSALS[word][1]} ({word})"
    bases = (etcdq.RequestError, etcdq.UnavailableError, etcdq.RemoteProtocolError)
    assert sum(isinstance(error, base) for base in bases) == 1


def test_words_and_classes_are_one_to_one() -> None:
    """No class is missing in the table, none stands for two words."""
    kinds = [kind for kind, _ in REFUSALS.values()]

    assert len(set(kinds)) == len(kinds)
    assert set(kinds) == {*OURS.values(), etcdq.NotFoundError}


@pytest.mark.parametrize("name", sorted([*OURS, "NotFoundError"]))
def test_exported_and_explained(name: str) -> None:
    """Each is known as etcdq.beanstalk.NAME, and names its word."""
    kind = getattr(beanstalk, name)

    assert issubclass(kind, etcdq.EtcdqError)
    if name in OURS:
        word = next(word for word, (each, _) in REFUSALS.items() if each is kind)
        assert (inspect.getdoc(kind) or "").startswith(f"{word}: ")


def test_arguments_are_told() -> None:
    """What the server says beside the word is not lost: here the id of the buried job."""
    error = refusal(Reply("BURIED", ("7",)), "put")

    assert error is not None
    assert error.text.endswith("(BURIED 7)")


def test_no_refusal() -> None:
    """An answer is none."""
    assert refusal(Reply("DELETED"), "delete 5") is None


@pytest.mark.parametrize(
    ("name", "builtin"), [("TimedOutError", TimeoutError), ("BadFormatError", ValueError)]
)
def test_nearest_builtin(name: str, builtin: type[Exception]) -> None:
    """Where Python has a word for it, that word catches it too."""
    with pytest.raises(builtin):
        raise getattr(beanstalk, name)("x")


def test_every_export_is_explained() -> None:
    """Every public name of the package has a docstring."""
    names = [name for name in vars(beanstalk) if name[0].isupper() or name == "connect"]

    assert len(names) > 20
    assert [name for name in names if not inspect.getdoc(getattr(beanstalk, name))] == []
