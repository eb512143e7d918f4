"""The HTTP/1.1 side of one connection, without I/O: bytes in, answers out."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import h11
import msgspec

from etcdq.health import metrics
from etcdq.health.status import Status, report

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


def answer(method: str, target: str, status: Status, now_s: float) -> tuple[HTTPStatus, str, bytes]:
    """Return status code, content type and body for a request.

    Args:
        method: its verb.
        target: the path, with or without a query.
        status: of the process.
        now_s: on `time.monotonic`.
    """
    if method not in ("GET", "HEAD"):
        return HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, b"GET or HEAD\n"
    path = target.partition("?")[0]
    if path == "/metrics":
        return HTTPStatus.OK, metrics.CONTENT_TYPE, metrics.render(status, now_s)
    if path not in ("/live", "/ready"):
        return HTTPStatus.NOT_FOUND, _TEXT, b"/live, /ready, /metrics\n"
    found = report(status, now_s)
    good = found.live if path == "/live" else found.ready
    code = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    return code, _JSON, msgspec.json.encode(found) + b"\n"


class Http:
    """One connection.

    Args:
        status: of the process.
        clock: the time on `time.monotonic`.
    """

    def __init__(self, status: Status, clock: Callable[[], float]) -> None:
        self.is_over = False
        self._status = status
        self._clock = clock
        self._h11 = h11.Connection(h11.SERVER)
        self._request: h11.Request | None = None

    def receive(self, data: bytes) -> bytes:
        """Take bytes, b"" at their end; return what to send. Then close, if `is_over`."""
        out = b""
        try:
            self._h11.receive_data(data)
            while not self.is_over:
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    break
                if isinstance(event, h11.Request):
                    self._request = event
                elif isinstance(event, h11.EndOfMessage):
                    out += self._answer_request()
                elif isinstance(event, h11.ConnectionClosed):
                    self.is_over = True
        except h11.RemoteProtocolError as error:
            self.is_over = True
            if self._h11.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                out += self._send(HTTPStatus(error.error_status_hint), _TEXT, f"{error}\n".encode())
        return out

    def _answer_request(self) -> bytes:
        assert self._request is not None
        method, target = self._request.method.decode(), self._request.target.decode()
        out = self._send(*answer(method, target, self._status, self._clock()))
        self._request = None
        if self._h11.our_state is h11.DONE:
            self._h11.start_next_cycle()
        else:
            self.is_over = True  # the client wants it closed
        return out

    def _send(self, code: HTTPStatus, content_type: str, body: bytes) -> bytes:
        is_head = self._request is not None and self._request.method == b"HEAD"
        headers = [
            ("content-type", content_type),
            ("content-length", str(len(body))),
            ("cache-control", "no-store"),
        ]
        if code is HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append(("allow", "GET, HEAD"))
        events: list[h11.Event] = [
            h11.Response(status_code=code, headers=headers, reason=code.phrase),
            *([] if is_head else [h11.Data(data=body)]),
            h11.EndOfMessage(),
        ]
        return b"".join(self._h11.send(event) or b"" for event in events)
