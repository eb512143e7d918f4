"""What the schedule runs. Plain classes and functions: nothing of a queue is in them."""

from mail import provider, puts, store


class Poller:
    """Puts a job for each mail that has come since the last poll."""

    def perform(self) -> None:
        """Poll once. If a put fails, the next poll begins where this one began."""
        seen = last = store.cursor()
        for header in provider.headers(after=seen):
            if not store.has_ticket(header.message_id):
                puts.put_inbound(header)
            last = header.number
        store.move_cursor(seen, last)  # unless it was rewound meanwhile: that is not undone


def vacuum() -> None:
    """Tidy the store."""
    store.vacuum()
