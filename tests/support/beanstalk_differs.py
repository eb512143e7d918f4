"""The table of what a beanstalkd and our node in its dialect legitimately answer differently."""

import re

STATS = {
    "pid": (rb"\d+", "each is a process of its own"),
    "version": (rb'"[^"\n]+"', "each says its own version"),
    "rusage-utime": (rb"\d+\.\d{6}", "each has used the CPU as it did"),
    "rusage-stime": (rb"\d+\.\d{6}", "each has used the CPU as it did"),
    "uptime": (rb"\d+", "they did not start at the same moment"),
    "id": (rb"[0-9a-f]{16}", "drawn by lot at the start"),
}
"""Fields of the `stats` document: how the value must look, and why it differs."""

AT_ONCE = {
    b"reserved": (b"ttr", b"time-left"),
    b"delayed": (b"delay", b"time-left"),
    b"": (b"pause", b"pause-time-left"),
}
"""By a job's state, or for a tube: seconds given, and left. What is asked in the packet that brings
it about is asked at once, for us: of 60 seconds all 60 are left, where a beanstalkd has lost a
microsecond and says 59."""

KEPT_AWAY = [
    "A beanstalkd keeps no order among several that wait for a tube: one at most waits for each.",
    "It serves who waits at the moment at which a job becomes ready, we when the packet, the `kick`"
    " or the lost connection that made jobs ready is done, and then with the best of them: while"
    " anyone waits, packets hold one command, `kick` is for one job, and who goes holds at most"
    " one.",
    "It counts a command behind a reserve that waits when it comes to it, we when we have read it:"
    " `stats` is not asked while anything is behind a reserve that waits, nor behind one itself.",
    "Each command of a packet has an instant of its own there, the packet one with us, and of jobs"
    " that are due at one instant the older one comes first: one command of a packet delays.",
    "It numbers and counts a put when it has read its line, we when the job is whole: no packet"
    " ends between the two with others before the rest.",
    "Whether it does what is behind a reserve that waits when its client has closed the connection"
    " is the kernel's choice (over TCP it does, over a unix socket not): such a client stays.",
    "It hangs, or takes what it should not, on the lines named in `beanstalk_odd_lines.py`.",
    "In about one of five cases it forgets to end a reservation until its connection speaks: the"
    " player makes it speak (`Beanstalkd.nudge`).",
]
"""What sessions keep away from, and how: what follows there is no fault of either."""


def normal(reply: bytes) -> bytes:
    """Return a reply with everything left out that may differ, and nothing else.

    The length of a document that holds such a value is left out too: who reads a reply has
    checked that it is as long as it says.
    """
    if not reply.startswith(b"OK "):
        return reply
    if b"\nrusage-utime: " in reply:
        for field, (look, _) in STATS.items():
            name = field.encode()
            reply = re.sub(rb"(?m)^%s: %s$" % (name, look), b"%s: (differs)" % name, reply)
        return re.sub(rb"\AOK \d+", b"OK (differs)", reply)
    return _an_instant_later(reply)


def _an_instant_later(reply: bytes) -> bytes:
    shown = dict(line.split(b": ", 1) for line in reply.split(b"\n") if b": " in line)
    given, left = AT_ONCE.get(shown.get(b"state", b""), (b"", b""))
    seconds = shown.get(left)
    if seconds is None or seconds == b"0" or seconds != shown[given]:
        return reply
    less = b"%d" % (int(seconds) - 1)
    length = int(reply[3 : reply.index(b"\r")]) - len(seconds) + len(less)
    reply = reply.replace(b"\n%s: %s\n" % (left, seconds), b"\n%s: %s\n" % (left, less))
    return re.sub(rb"\AOK \d+", b"OK %d" % length, reply)
