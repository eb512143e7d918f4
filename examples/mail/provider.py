"""Stands for the provider of mail: a mailbox, a transport and the team's chat, as files.

`mailbox/7.eml` is the seventh mail that came. The transport is down while a file `outage` is there,
and takes no mail for whom the file `refused` names, one a line.
"""

import time
from email import message_from_bytes
from typing import NamedTuple

import trio

from mail.settings import HOME, LATENCY_S


class OutageError(Exception):
    """The transport is down for now."""


class RefusedError(Exception):
    """The transport does not take this mail, and never will as it is."""


class Header(NamedTuple):
    """What the mailbox lists of a mail."""

    number: int
    message_id: str
    received_at: float


class Mail(NamedTuple):
    """A mail."""

    number: int
    message_id: str
    sender: str
    text: str


def receive(sender: str, text: str) -> Header:
    """Let a mail come in."""
    folder = HOME / "mailbox"
    folder.mkdir(parents=True, exist_ok=True)
    number = max(_numbers(), default=0) + 1
    content = f"Message-ID: <{number}@example.org>\nFrom: {sender}\n\n{text}\n"
    beside = folder / f"{number}.new"  # whole, or not there at all
    beside.write_text(content)
    beside.rename(folder / f"{number}.eml")
    return _header(number)


def headers(after: int) -> list[Header]:
    """List the mails behind a number, oldest first."""
    return [_header(number) for number in sorted(_numbers()) if number > after]


def fetch(number: int) -> Mail:
    """Read a mail.

    Raises:
        UnicodeDecodeError: its text is not what it should be.
    """
    time.sleep(LATENCY_S)
    said = message_from_bytes((HOME / "mailbox" / f"{number}.eml").read_bytes())
    payload = said.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return Mail(number, said["Message-ID"], said["From"], payload.decode().strip())


def send(number: int, recipient: str, text: str) -> None:
    """Send a mail.

    Raises:
        OutageError: not now.
        RefusedError: never.
    """
    time.sleep(LATENCY_S)
    refused = HOME / "refused"
    if (HOME / "outage").exists():
        raise OutageError("the transport is down")
    if refused.exists() and recipient in refused.read_text().splitlines():
        raise RefusedError(f"no mail for {recipient}")
    folder = HOME / "sent"
    folder.mkdir(exist_ok=True)
    with (folder / f"{number}.txt").open("a") as file:  # one that is sent twice is seen
        file.write(f"{recipient}: {text}\n")


async def tell_chat(text: str) -> None:
    """Write a line to the team's chat."""
    async with await trio.open_file(HOME / "chat.txt", "a") as file:
        await file.write(f"{text}\n")


def _numbers() -> list[int]:
    return [int(path.stem) for path in (HOME / "mailbox").glob("*.eml")]


def _header(number: int) -> Header:
    path = HOME / "mailbox" / f"{number}.eml"
    return Header(number, f"<{number}@example.org>", path.stat().st_mtime)
