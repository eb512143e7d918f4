"""The table from domain errors to gRPC statuses has no gap and no stray."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

from etcdq import actors
from etcdq.actors import errors
from etcdq.actors.node.mvcc import errors as mvcc_errors
from etcdq.server.etcd.errors import CODES, status_of


def leaves(kind: type[errors.EtcdqError]) -> Iterator[type[errors.EtcdqError]]:
    """The concrete errors under `kind` that live in actors/."""
    for one in kind.__subclasses__():
        if one.__module__.startswith("etcdq.actors.") and one not in errors._ABSTRACT:
            yield one
        yield from leaves(one)


def import_all_actors() -> None:
    """Import every module of actors/, so that no error class is missed."""
    for module in pkgutil.walk_packages(actors.__path__, "etcdq.actors."):
        importlib.import_module(module.name)


def test_every_error_of_the_domain_has_a_status() -> None:
    """Each leaf of the error tree in actors/ is in the table, and nothing else is."""
    import_all_actors()

    assert set(leaves(errors.EtcdqError)) == set(CODES)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            errors.RequestTooLargeError("etcdserver: request is too large"),
            3,
            "etcdserver: request is too large",
        ),
        (
            errors.InvalidArgumentError("etcdserver: key is not provided"),
            3,
            "etcdserver: key is not provided",
        ),
        (errors.InvalidKeyError("etcdq: no such form"), 3, "etcdq: no such form"),
        (
            errors.NoSuchQueueError("etcdq: there is no queue 'a'"),
            5,
            "etcdq: there is no queue 'a'",
        ),
        (errors.NoSuchJobError("there is no job 7"), 5, "there is no job 7"),
        (errors.OverLimitError("etcdq: full"), 8, "etcdq: full"),
        (errors.DrainingError("etcdq: draining"), 14, "etcdq: draining"),
        (mvcc_errors.KeyNotFoundError(), 3, "etcdserver: key not found"),
        (mvcc_errors.LeaseNotFoundError(), 5, "etcdserver: requested lease not found"),
        (
            mvcc_errors.CompactedError(7),
            11,
            "etcdserver: mvcc: required revision has been compacted",
        ),
        (
            mvcc_errors.FutureRevisionError(),
            11,
            "etcdserver: mvcc: required revision is a future revision",
        ),
    ],
)
def test_codes_and_texts_are_etcds(error: errors.EtcdqError, code: int, text: str) -> None:
    """Clients match on code and text: both are exactly etcd's."""
    assert status_of(error) == (code, text)
