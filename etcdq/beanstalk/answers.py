"""What the reply to a command means: the value that was asked for, or an error. Without I/O."""

from typing import Final

from etcdq.beanstalk.errors import BadFormatError, UnknownCommandError, refusal
from etcdq.beanstalk.records import Inserted
from etcdq.beanstalk.replies import Reply
from etcdq.errors import RemoteProtocolError, UnsupportedError

TAGS_PROBE: Final = b"stats-group default\r\n"
"""Asked before the first put with tags: only servers that read tags know it.

Any other one answers such a put by an error, and then carries out its body.
"""


def expect(reply: Reply, word: str, command: bytes, *, extension: bool = False) -> Reply:
    """Return the reply if it begins with this word.

    Args:
        reply: the answer of the server.
        word: the only one that is no error.
        command: what was asked.
        extension: whether only tuber's dialect has this command.

    Raises:
        EtcdqError: the refusal that it is.
    """
    if reply.word == word:
        return reply
    asked = command.split(b"\r\n", 1)[0].decode()
    error = refusal(reply, asked)
    if extension and isinstance(error, BadFormatError):
        # A plain beanstalkd takes some of tuber's commands for its own, wrongly spelled.
        error = UnknownCommandError(error.text)
    raise error or RemoteProtocolError(f"{reply.word} is no answer to {asked}")


def expect_tags(reply: Reply) -> None:
    """Read the reply to `TAGS_PROBE`.

    Raises:
        UnsupportedError: the server knows no tags.
    """
    if reply.word == "NOT_FOUND":
        return  # it knows what a group is
    try:
        expect(reply, "OK", TAGS_PROBE, extension=True)
    except UnsupportedError as error:
        raise UnsupportedError("put: the server knows no idp, grp, aft and con") from error


def inserted(reply: Reply) -> Inserted:
    """Read the reply to a put that is no refusal."""
    if reply.word != "INSERTED":
        raise RemoteProtocolError(f"{reply.word} is no answer to put")
    words = reply.arguments
    return Inserted(
        reply.number(),
        words[1] if len(words) > 1 else None,
        reply.number(2) if len(words) > 2 else None,
    )
