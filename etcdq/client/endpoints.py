"""Where servers are: how an endpoint is written and read."""

import os
from dataclasses import dataclass

from etcdq.errors import InvalidArgumentError

DEFAULT_ENDPOINT = "127.0.0.1:2379"
DEFAULT_PORT = 2379
ENVIRONMENT_NAME = "ETCDQ_ENDPOINTS"


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


def parse_endpoint(text: str) -> Endpoint:
    """Read `HOST`, `HOST:PORT`, `http://HOST:PORT` or `unix://PATH`; IPv6 hosts in brackets.

    Raises:
        InvalidArgumentError: of another form, or https.
    """
    scheme, mark, rest = text.strip().rpartition("://")
    if scheme == "unix" or (not mark and rest.startswith("unix:")):
        path = rest.removeprefix("unix:")
        if path:
            return Endpoint("", 0, path)
    if scheme not in ("", "http"):
        raise InvalidArgumentError(f"endpoint {text!r}: only http:// and unix:// are known")
    authority = rest.removesuffix("/")
    if authority.startswith("["):
        host, bracket, tail = authority[1:].partition("]")
        good = bool(bracket) and (not tail or tail.startswith(":"))
        port_text = tail[1:]
    else:
        host, _, port_text = authority.partition(":")
        good = True
    port = _port(port_text)
    if not (good and host and port) or "/" in host:
        raise InvalidArgumentError(f"endpoint {text!r} is not of the form HOST:PORT or unix://PATH")
    return Endpoint(host, port)


def choose_endpoints(given: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """Return the endpoints to use: `given`, else those of ETCDQ_ENDPOINTS, else the default.

    Each text may hold several, separated by commas.
    """
    texts = given or (os.environ.get(ENVIRONMENT_NAME, ""),)
    parts = [part for text in texts for part in text.split(",") if part.strip()]
    if given and not parts:
        raise InvalidArgumentError("no endpoint is given")
    return tuple(parse_endpoint(part) for part in parts or [DEFAULT_ENDPOINT])


def _port(text: str) -> int:
    if not text:
        return DEFAULT_PORT
    if not (text.isascii() and text.isdigit()) or int(text) > 65_535:
        return 0
    return int(text)
