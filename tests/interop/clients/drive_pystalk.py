"""Drives pystalk: `transcript.play`. Runs in its environment."""

from pystalk import BeanstalkClient
from transcript import play


def commands_of(client):
    """Return what it has; it lacks the words that it needs for nothing."""
    return {
        "put": client.put_job,
        "use": client.use,
        "reserve-with-timeout": client.reserve_job,
        "delete": client.delete_job,
        "release": client.release_job,
        "bury": client.bury_job,
        "watch": client.watch,
        "ignore": client.ignore,
        "peek-ready": client.peek_ready,
        "peek-delayed": client.peek_delayed,
        "peek-buried": client.peek_buried,
        "kick": client.kick_jobs,
        "kick-job": client.kick_job,
        "stats": client.stats,
        "stats-job": client.stats_job,
        "stats-tube": client.stats_tube,
        "list-tubes": client.list_tubes,
        "pause-tube": client.pause_tube,
        "close": client.close,
    }


play(lambda port: BeanstalkClient("127.0.0.1", port, auto_decode=True), commands_of)
