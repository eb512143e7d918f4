"""Carries out a talk of the beanstalk client against a list of what is asked and answered."""

from typing import TypeVar

from etcdq.beanstalk.replies import Reply
from etcdq.beanstalk.talks import Talk

T = TypeVar("T")


def carry_out(talk: Talk[T], *script: tuple[bytes, Reply]) -> T:
    """Answer what the talk asks, one by one; expect exactly that it asks this."""
    left = list(script)
    try:
        asked = next(talk)
        while True:
            answers = []
            for command in asked:
                expected, reply = left.pop(0)
                assert command == expected
                answers.append(reply)
            asked = talk.send(answers)
    except StopIteration as end:
        assert left == []
        result: T = end.value
        return result
