"""Who puts which jobs. A body points at something in the mailbox or in the store, and is no more.

The keys (`idp`) let one job of each thing be there at a time, however often it is put: a poll, a
rewind and a backfill do no harm to what waits already.
"""

import json

from etcdq import EtcdqError
from etcdq.beanstalk import BlockingClient
from mail import store
from mail.provider import Header, Mail
from mail.settings import INBOUND, OUTBOUND, TASKS

queue = BlockingClient(timeout_s=5.0)
"""For all threads; it needs no server yet."""


def put_inbound(header: Header) -> bool:
    """Let a mail become a ticket; return False if its job is there already."""
    body = json.dumps(header._asdict()).encode()
    return queue.put(INBOUND, body, idp=f"mail/in/{header.number}").state is None


def put_outbound(reply_id: int) -> bool:
    """Let a reply be sent; return False if its job is there already."""
    body = json.dumps({"reply": reply_id}).encode()
    return queue.put(OUTBOUND, body, idp=f"mail/out/{reply_id}").state is None


def put_notice(mail: Mail) -> None:
    """Let the team be told of a ticket."""
    body = json.dumps({"message_id": mail.message_id, "sender": mail.sender}).encode()
    queue.put(TASKS, body, idp=f"mail/notice/{mail.number}")


def compose(recipient: str, text: str) -> tuple[int, bool]:
    """Keep a reply, and let it be sent: what a web request calls.

    Returns:
        Its id, and whether its job was put. If the queue cannot be had, the reply is kept all the
        same, the request goes on, and `backfill` puts the job later.
    """
    reply_id = store.add_reply(recipient, text)
    try:
        put_outbound(reply_id)
    except EtcdqError:
        return reply_id, False
    return reply_id, True
