"""Where a server is, whatever is spoken there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server: host and port, or the path of a unix socket (then host is "")."""

    host: str
    port: int
    path: str | None = None

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix://{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_authority(text: str, default_port: int) -> Endpoint | None:
    """Read `HOST` or `HOST:PORT`, an IPv6 host in brackets; None: it is of another form."""
    if text.startswith("["):
        host, bracket, tail = text[1:].partition("]")
        good = bool(bracket) and (not tail or tail.startswith(":"))
        port_text = tail[1:]
    else:
        host, _, port_text = text.partition(":")
        good = True
    port = _port(port_text, default_port)
    if not (good and host and port) or "/" in host:
        return None
    return Endpoint(host, port)


def _port(text: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) > 65_535:
        return 0
    return int(text)
