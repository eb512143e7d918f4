"""The documents of beanstalk servers, quoted or not."""

import pytest

from etcdq.beanstalk.documents import JOB_TEXTS, SERVER_TEXTS, read_names, read_statistics
from etcdq.errors import RemoteProtocolError


def test_statistics() -> None:
    """Numbers are numbers, and what is a text stays one even if it looks like a number."""
    document = (
        b'---\ncurrent-jobs-ready: 3\nrusage-utime: 0.002477\nversion: "1.12"\n'
        b"id: 9131940586112011\nhostname: vm\nos: #1 SMP: x\npause-time-left: -1\nnew: 1e5\n\r\n"
    )

    figures = read_statistics(document, SERVER_TEXTS)

    assert dict(figures) == {
        "current-jobs-ready": 3,
        "rusage-utime": 0.002477,
        "version": "1.12",
        "id": "9131940586112011",
        "hostname": "vm",
        "os": "#1 SMP: x",
        "pause-time-left": -1,
        "new": "1e5",
    }


def test_job() -> None:
    """The id of a job is a number, the name of its tube is not."""
    figures = read_statistics(b'---\nid: 5\ntube: "10"\nstate: ready\nfile: 0\n', JOB_TEXTS)

    assert dict(figures) == {"id": 5, "tube": "10", "state": "ready", "file": 0}


def test_names() -> None:
    """Names stay names, whatever YAML would make of them."""
    assert read_names(b'---\n- default\n- no\n- 10\n- "q"\n- +1.5\n\r\n') == [
        "default", "no", "10", "q", "+1.5",
    ]  # fmt: skip
    assert read_names(b"---\n") == []


@pytest.mark.parametrize("document", [b"", b"- a\n", b"---\na\n", b"--- \n", b"\xff"])
def test_no_document(document: bytes) -> None:
    """Anything else is the server's fault."""
    with pytest.raises(RemoteProtocolError):
        read_names(document)
    with pytest.raises(RemoteProtocolError):
        read_statistics(document, frozenset())
