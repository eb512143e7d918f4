"""Answers of the beanstalk door, byte for byte."""

import pytest

from etcdq.actors.queue.messages import JobState
from etcdq.server.beanstalk import replies


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (replies.inserted(18446744073709551615), b"INSERTED 18446744073709551615\r\n"),
        (replies.reserved(7, b"a\r\n\0"), b"RESERVED 7 4\r\na\r\n\0\r\n"),
        (replies.reserved(7, b""), b"RESERVED 7 0\r\n\r\n"),
        (replies.found(7, b"%d"), b"FOUND 7 2\r\n%d\r\n"),
        (replies.reserved_batch([]), b"RESERVED_BATCH 0\r\n"),
        (
            replies.reserved_batch([(1, b"hello"), (2, b"you")]),
            b"RESERVED_BATCH 2\r\nRESERVED 1 5\r\nhello\r\nRESERVED 2 3\r\nyou\r\n",
        ),
        (replies.deleted_batch(3, 1), b"DELETED_BATCH 3 1\r\n"),
        (replies.using(b"a+b"), b"USING a+b\r\n"),
        (replies.watching(2), b"WATCHING 2\r\n"),
        (replies.kicked(0), b"KICKED 0\r\n"),
        (replies.flushed(12), b"FLUSHED 12\r\n"),
        (replies.ok(b"---\n- default\n"), b"OK 14\r\n---\n- default\n\r\n"),
    ],
)
def test_answers(reply: bytes, expected: bytes) -> None:
    """Ids, counts, names and bodies are written as both references write them."""
    assert reply == expected


@pytest.mark.parametrize(
    ("state", "priority", "expected"),
    [
        (JobState.READY, None, b"INSERTED 42 READY\r\n"),
        (JobState.READY, 0, b"INSERTED 42 READY 0\r\n"),
        (JobState.RESERVED, 10, b"INSERTED 42 RESERVED 10\r\n"),
        (JobState.DELAYED, None, b"INSERTED 42 DELAYED\r\n"),
        (JobState.BURIED, None, b"INSERTED 42 BURIED\r\n"),
        (None, None, b"INSERTED 42 DELETED\r\n"),
    ],
)
def test_duplicate(state: JobState | None, priority: int | None, expected: bytes) -> None:
    """A put that made no job says which one there is, its state, and a priority that changed."""
    assert replies.duplicate(42, state, priority) == expected


def test_words_are_lines() -> None:
    """Each whole answer is its own name and one line end."""
    words = {name: value for name, value in vars(replies).items() if name.isupper()}
    words.pop("_STATE_WORDS")

    assert len(words) == 18
    assert {name: name.encode() + b"\r\n" for name in words} == words
