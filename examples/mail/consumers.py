"""What is done with the jobs of each tube.

Mail that comes in and mail that goes out are consumers of their own, with threads of their own: an
outage of the transport holds up no ticket. Maintenance has a role of its own: in production its
long jobs run in another process, and hold up neither.
"""

import json
from types import MappingProxyType

from etcdq import PermanentError
from etcdq.schedule.consumer import DispatchConsumer
from etcdq.worker import ReservedJob, TubeConsumer, consumer
from mail import provider, puts, store
from mail.maintenance import Poller, vacuum
from mail.provider import Header
from mail.settings import INBOUND, MAINTENANCE, OUTBOUND, RETRY_S, TASKS


class _WithStore:
    """No consumer keeps a connection to the store for the life of its process."""

    def after_batch(self, jobs: list[ReservedJob]) -> None:
        """Close what the handler, in this thread, has opened."""
        store.close()


class Inbound(_WithStore, TubeConsumer):
    """Mails become tickets."""

    tubes = (INBOUND,)
    batch_size = 20
    retry_base_s = RETRY_S
    permanent = (UnicodeDecodeError,)  # a text that cannot be read today cannot be read tomorrow

    def process_batch(self, jobs: list[ReservedJob]) -> None:
        """Fetch mails, keep them in one transaction, and let the team know."""
        mails = [provider.fetch(json.loads(job.body)["number"]) for job in jobs]
        store.open_tickets(mails)
        for mail in mails:
            puts.put_notice(mail)

    def on_give_up(self, job: ReservedJob, error: BaseException) -> None:
        """The mail is still in the mailbox: record which one. `rewind` lets it be polled again."""
        store.drop(Header(**json.loads(job.body)), repr(error))


class Outbound(_WithStore, TubeConsumer):
    """Replies are sent. One that is given up is a reply without a date: `backfill` finds it."""

    tubes = (OUTBOUND,)
    concurrency = 4
    retry_base_s = RETRY_S

    def process(self, job: ReservedJob) -> None:
        """Send a reply, unless that is done."""
        reply = store.reply(json.loads(job.body)["reply"])
        if reply.delivered_at is not None:
            return
        if not job.is_valid:
            raise TimeoutError(f"somebody else may be sending reply {reply.id}")
        try:
            provider.send(reply.id, reply.recipient, reply.text)
        except provider.RefusedError as error:
            raise PermanentError(str(error)) from error
        store.mark_delivered(reply.id)


@consumer(TASKS)
async def notify(job: ReservedJob) -> None:
    """Tell the team of a ticket. One that is given up is reported, and that is all."""
    ticket = json.loads(job.body)
    await provider.tell_chat(f"{ticket['sender']} wrote {ticket['message_id']}")


class Maintenance(_WithStore, DispatchConsumer):
    """What the schedule puts. What fails is not tried again: the schedule puts the next one."""

    tubes = (MAINTENANCE,)
    allowed = MappingProxyType({"Poller": Poller, "vacuum": vacuum})


ROLES = {"mail": [Inbound, Outbound, notify], "maintenance": [Maintenance]}
