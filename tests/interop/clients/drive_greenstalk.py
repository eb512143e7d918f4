"""Drives greenstalk: `transcript.play`. Runs in its environment."""

from greenstalk import Client, Job
from transcript import play


def commands_of(client):
    """Return what it has; a job goes in as the client wants it, and comes out as one."""
    return {
        "put": client.put,
        "use": client.use,
        "reserve": client.reserve,
        "reserve-with-timeout": client.reserve,
        "reserve-job": client.reserve_job,
        "delete": client.delete,
        "release": lambda job_id, *rest: client.release(Job(job_id, ""), *rest),
        "bury": lambda job_id, *rest: client.bury(Job(job_id, ""), *rest),
        "touch": lambda job_id: client.touch(Job(job_id, "")),
        "watch": client.watch,
        "ignore": client.ignore,
        "peek": client.peek,
        "peek-ready": client.peek_ready,
        "peek-delayed": client.peek_delayed,
        "peek-buried": client.peek_buried,
        "kick": client.kick,
        "kick-job": client.kick_job,
        "stats": client.stats,
        "stats-job": client.stats_job,
        "stats-tube": client.stats_tube,
        "list-tubes": client.tubes,
        "list-tube-used": client.using,
        "list-tubes-watched": client.watching,
        "pause-tube": client.pause_tube,
        "close": client.close,
    }


play(lambda port: Client(("127.0.0.1", port)), commands_of)
