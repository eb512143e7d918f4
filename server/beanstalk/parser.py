"""Bytes of one beanstalk connection to commands, in any pieces, without I/O.

Lines are cut out here and read by their dialect (`beanstalkd_lines.py`, `tuber_lines.py`); a put's
body follows its line. Nothing a client sends raises. What is kept between two pieces is at most
one unfinished line or the body of one put that may come; a refused body is counted, not kept.

Each dialect keeps to its reference where a line or a body goes wrong:

- beanstalkd ends a line by its first CR, if LF follows, and looks at 224 bytes at a time. 224
  bytes without such an end are dropped, and so on; then what is dropped ends at the next end of
  line, and is answered BAD_FORMAT once. A CR that stands alone hides the end of its line.
- tuber ends a line by LF, whatever stands before. A line over its limit is answered BAD_FORMAT
  and ends the connection.
- A body that is too big is answered once it has been swallowed (beanstalkd), or before (tuber).
- Bytes in the place of a body's CRLF are EXPECTED_CRLF, and are not looked at again.
- Other refused puts have no body: what follows is the next command.

Source: beanstalkd prot.c, `scan_line_end`, `conn_process_io`, `_skip`; tuber src/server.rs,
`handle_connection`.
"""

from etcdq.actors import limits
from etcdq.server.beanstalk import beanstalkd_lines, replies, tuber_lines
from etcdq.server.beanstalk.commands import (
    Close,
    Command,
    Put,
    Quit,
    Refused,
    Reserve,
    ReserveWithTimeout,
)
from etcdq.server.beanstalk.door import Dialect
from etcdq.server.beanstalk.reading import BAD_FORMAT, Line, PutHead, Reader

Received = Command | Refused | Close
"""What came over a connection. After `Quit` and `Close` nothing comes."""

_CRLF = b"\r\n"

KNOWN: dict[Dialect, dict[bytes, Line]] = {"beanstalkd": {}, "tuber": {}}
"""Lines that most clients repeat, by dialect. All connections share them: what a line says depends
on nothing else."""

_REPEATED = frozenset((PutHead, Reserve, ReserveWithTimeout))
_KNOWN_LINE_BYTES_MAX = 48
"""The four longest numbers of a put fit."""


class Parser:
    """The parser of one connection.

    Args:
        job_bytes_max: puts with a larger body are refused.
    """

    def __init__(self, job_bytes_max: int, dialect: Dialect) -> None:
        self._job_bytes_max = job_bytes_max
        self._strict = dialect == "beanstalkd"
        self._read_line: Reader = (
            beanstalkd_lines.read_line if self._strict else tuber_lines.read_line
        )
        self._known = KNOWN[dialect]
        self._line_bytes_max = (
            limits.BEANSTALKD_LINE_BYTES_MAX if self._strict else limits.TUBER_LINE_BYTES_MAX
        )
        self._over = False
        self._line = b""  # unfinished
        self._dropping = False  # of a line too long for beanstalkd, all but its end is dropped
        self._missing = 0  # bytes until the end of a body, of what is there:
        self._head: PutHead | None = None
        self._body = bytearray()
        self._after_body: Refused | None = None

    @property
    def kept_bytes(self) -> int:
        """How much is kept of what is not finished."""
        return len(self._line) + len(self._body)

    @property
    def begun(self) -> bool:
        """Whether a line or a body has begun and is not complete, kept or not."""
        return bool(self._line or self._missing or self._dropping)

    def receive(self, data: bytes) -> list[Received]:
        """Take the next bytes; return what became complete, in order."""
        out: list[Received] = []
        pos = 0
        if self._over:
            return out
        if self._missing:
            pos = self._take_body(data, 0, out)
        elif self._line:
            data, self._line = self._line + data, b""
        self._take_lines(data, pos, out)
        return out

    def _take_lines(self, data: bytes, pos: int, out: list[Received]) -> None:
        # The hot path: for a line that is known nothing of ours is called.
        strict = self._strict
        mark, mark_bytes = (b"\r", 2) if strict else (b"\n", 1)
        window = self._line_bytes_max - mark_bytes + 1
        known = self._known
        end = len(data)
        while pos < end:
            stop = data.find(mark, pos, pos + window)
            if stop < 0 or (strict and data[stop + 1 : stop + 2] != b"\n"):
                pos = self._take_unfinished(data, pos, out)
                continue
            line = data[pos:stop]
            pos = stop + mark_bytes
            if self._dropping:
                self._dropping = False
                out.append(BAD_FORMAT)
                continue
            read = known.get(line)
            if read is None:
                read = self._read_line(line)
                if type(read) in _REPEATED:
                    self._remember(line, read)
            if not isinstance(read, PutHead):
                out.append(read)
                if type(read) is Quit:
                    self._over = True
                    return
                continue
            stop = pos + read.body_bytes
            if (
                data[stop : stop + 2] == _CRLF
                and read.body_bytes <= self._job_bytes_max
                and not read.garbage
            ):
                body = data[pos:stop]
                out.append(Put(read.priority, read.delay_s, read.ttr_s, body, read.tags))
                pos = stop + 2
            else:
                pos = self._begin_body(read, data, pos, out)

    def _remember(self, line: bytes, read: Line) -> None:
        if len(line) > _KNOWN_LINE_BYTES_MAX:
            return
        if isinstance(read, PutHead) and read.tags is not None:
            return
        if len(self._known) >= limits.COMMAND_LINES_MAX:
            self._known.clear()
        self._known[line] = read

    def _take_unfinished(self, data: bytes, pos: int, out: list[Received]) -> int:
        """Take a line whose end is not in sight; return where to go on."""
        if len(data) - pos < self._line_bytes_max:
            self._line = data[pos:]
            return len(data)
        if self._strict:
            self._dropping = True
            return pos + self._line_bytes_max
        out += (BAD_FORMAT, Close())
        self._over = True
        return len(data)

    def _begin_body(self, head: PutHead, data: bytes, pos: int, out: list[Received]) -> int:
        """Take what is there of a body that is unfinished or wrong; return where to go on."""
        counted = Put.name if self._strict else ""
        if head.body_bytes > self._job_bytes_max:
            too_big = Refused(replies.JOB_TOO_BIG, counted=counted)
            if self._strict:
                self._after_body = too_big
            else:
                out.append(too_big)
        elif head.garbage:
            out.append(Refused(replies.BAD_FORMAT, counted=counted))
            return pos
        else:
            self._head = head
        self._missing = head.body_bytes + 2
        return self._take_body(data, pos, out)

    def _take_body(self, data: bytes, pos: int, out: list[Received]) -> int:
        stop = min(pos + self._missing, len(data))
        self._missing -= stop - pos
        head = self._head
        if head is not None:
            self._body += data[pos:stop]
        if self._missing:
            return stop
        if head is not None:
            out.append(self._whole_put(head))
            self._head = None
            self._body = bytearray()
        elif self._after_body is not None:
            out.append(self._after_body)
            self._after_body = None
        return stop

    def _whole_put(self, head: PutHead) -> Received:
        if self._body.endswith(_CRLF):
            body = bytes(memoryview(self._body)[:-2])
            return Put(head.priority, head.delay_s, head.ttr_s, body, head.tags)
        if self._strict:
            # beanstalkd has counted it, and given it an id, before it sees the end of the body.
            return Refused(replies.EXPECTED_CRLF, counted=Put.name, put_id_spent=True)
        return Refused(replies.EXPECTED_CRLF)
