"""The product's own data, in SQLite: what outlives every job.

Each thread has a connection of its own; the consumers close it after each batch (`consumers.py`).
"""

import sqlite3
import threading
import time
from typing import NamedTuple

from mail.provider import Header, Mail
from mail.settings import HOME

SCHEMA = """
create table if not exists tickets (
  number integer, message_id text primary key, sender text, text text
);
create table if not exists replies (
  id integer primary key, recipient text, text text, delivered_at real
);
create table if not exists dropped (
  message_id text primary key, kind text, number integer, received_at real, why text
);
create table if not exists cursor (id integer primary key check (id = 1), number integer);
"""
WAIT_S = 30.0

_mine = threading.local()


class Reply(NamedTuple):
    """A mail that we send."""

    id: int
    recipient: str
    text: str
    delivered_at: float | None


class Dropped(NamedTuple):
    """A mail whose job was given up: it is in the mailbox, and no ticket yet."""

    message_id: str
    kind: str
    number: int
    received_at: float
    why: str


def store() -> sqlite3.Connection:
    """Return this thread's connection; `with store() as it:` is a transaction that writes."""
    connection: sqlite3.Connection | None = getattr(_mine, "connection", None)
    if connection is None:
        HOME.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            HOME / "mail.sqlite", timeout=WAIT_S, isolation_level="IMMEDIATE"
        )
        connection.executescript(SCHEMA)
        _mine.connection = connection
    return connection


def close() -> None:
    """Close this thread's connection, if it has one."""
    connection: sqlite3.Connection | None = getattr(_mine, "connection", None)
    if connection is not None:
        connection.close()
        _mine.connection = None


# mail that comes in -----------------------------------------------------------------------


def open_tickets(mails: list[Mail]) -> None:
    """Make tickets of mails, one of each however often this is called; none is dropped any more."""
    with store() as it:
        it.executemany("insert or ignore into tickets values (?, ?, ?, ?)", mails)
        it.executemany(
            "delete from dropped where message_id = ?", [(mail.message_id,) for mail in mails]
        )


def has_ticket(message_id: str) -> bool:
    """Say whether a mail is a ticket already."""
    found = store().execute("select 1 from tickets where message_id = ?", (message_id,))
    return found.fetchone() is not None


def drop(header: Header, why: str) -> None:
    """Record that the job of a mail was given up."""
    with store() as it:
        values = (header.message_id, "failed", header.number, header.received_at, why)
        it.execute("insert or replace into dropped values (?, ?, ?, ?, ?)", values)


def dropped() -> list[Dropped]:
    """Return the mails whose jobs were given up, oldest first."""
    return [Dropped(*row) for row in store().execute("select * from dropped order by number")]


def cursor() -> int:
    """Return the number of the last mail for which a job was put."""
    row = store().execute("select number from cursor").fetchone()
    return 0 if row is None else int(row[0])


def move_cursor(before: int, number: int) -> bool:
    """Move the cursor; return whether it was where it is thought to be."""
    with store() as it:
        it.execute("insert or ignore into cursor values (1, 0)")
        moved = it.execute("update cursor set number = ? where number = ?", (number, before))
        return moved.rowcount == 1


# mail that goes out -----------------------------------------------------------------------


def add_reply(recipient: str, text: str) -> int:
    """Keep a reply that is to be sent; return its id."""
    with store() as it:
        made = it.execute("insert into replies (recipient, text) values (?, ?)", (recipient, text))
        assert made.lastrowid is not None
        return made.lastrowid


def reply(reply_id: int) -> Reply:
    """Return a reply."""
    row = store().execute("select * from replies where id = ?", (reply_id,)).fetchone()
    return Reply(*row)


def undelivered() -> list[Reply]:
    """Return the replies that were not sent yet."""
    found = store().execute("select * from replies where delivered_at is null order by id")
    return [Reply(*row) for row in found]


def mark_delivered(reply_id: int) -> None:
    """Record that a reply was sent."""
    with store() as it:
        it.execute("update replies set delivered_at = ? where id = ?", (time.time(), reply_id))


# all of it --------------------------------------------------------------------------------


def counts() -> dict[str, int]:
    """Return how many there are of each."""
    asked = {
        "tickets": "select count(*) from tickets",
        "dropped": "select count(*) from dropped",
        "replies": "select count(*) from replies",
        "undelivered": "select count(*) from replies where delivered_at is null",
    }
    return {name: store().execute(query).fetchone()[0] for name, query in asked.items()}


def vacuum() -> None:
    """Give unused room back: long work that nobody waits for."""
    store().execute("vacuum")
