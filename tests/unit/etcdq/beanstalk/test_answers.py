"""What replies mean."""

import pytest

from etcdq import beanstalk
from etcdq.beanstalk.answers import expect, expect_tags, inserted
from etcdq.beanstalk.records import Inserted
from etcdq.beanstalk.replies import Reply


def test_the_word_that_was_expected() -> None:
    """It is the reply itself."""
    reply = Reply("DELETED")

    assert expect(reply, "DELETED", b"delete 1\r\n") is reply


@pytest.mark.parametrize(
    ("word", "extension", "kind"),
    [
        ("NOT_FOUND", False, beanstalk.NotFoundError),
        ("BAD_FORMAT", False, beanstalk.BadFormatError),
        ("BAD_FORMAT", True, beanstalk.UnknownCommandError),
        ("TOUCHED", False, beanstalk.RemoteProtocolError),
    ],
)
def test_another_word(word: str, extension: bool, kind: type[Exception]) -> None:
    """A refusal is its error, a word of another command is a fault; both say what was asked."""
    with pytest.raises(kind, match="delete 1"):
        expect(Reply(word), "DELETED", b"delete 1\r\n", extension=extension)


@pytest.mark.parametrize("reply", [Reply("NOT_FOUND"), Reply("OK")])
def test_a_server_that_knows_groups_knows_tags(reply: Reply) -> None:
    """It has such a group, or says that it has not."""
    expect_tags(reply)


@pytest.mark.parametrize("word", ["UNKNOWN_COMMAND", "BAD_FORMAT"])
def test_a_server_without_tags(word: str) -> None:
    """It does not know what a group is."""
    with pytest.raises(beanstalk.UnsupportedError, match="knows no idp"):
        expect_tags(Reply(word))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("7",), Inserted(7)),
        (("7", "READY"), Inserted(7, "READY")),
        (("7", "DELAYED", "5"), Inserted(7, "DELAYED", 5)),
    ],
)
def test_inserted(arguments: tuple[str, ...], found: Inserted) -> None:
    """The id, and of a duplicate what the first one is."""
    assert inserted(Reply("INSERTED", arguments)) == found


def test_not_inserted() -> None:
    """Anything else is no answer to a put."""
    with pytest.raises(beanstalk.RemoteProtocolError):
        inserted(Reply("DELETED"))
