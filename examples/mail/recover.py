"""The two ways back for what was given up. Both may be run at any time, and again."""

from mail import puts, store


def rewind() -> int:
    """Let mails that were dropped be polled again; return how many there are.

    They stay recorded until they are tickets. What was polled since the oldest of them is looked at
    again too, and left alone where it is a ticket, or its job waits.
    """
    dropped = store.dropped()
    if not dropped:
        return 0
    while (seen := store.cursor()) >= dropped[0].number:
        if store.move_cursor(seen, dropped[0].number - 1):
            break
    return len(dropped)


def backfill() -> int:
    """Put a job for each reply that was not sent and has none; return how many."""
    return sum(puts.put_outbound(reply.id) for reply in store.undelivered())
