"""etcdctl, as people type it, against `etcdq serve`; ordinary keys beside the real etcd."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import zip_longest

import pytest

from tests.support.calls import Calls
from tests.support.processes import run_etcdq
from tests.support.programs import Etcdctl, Program

pytestmark = pytest.mark.peer

UUID = "8f14e45f-ceea-467f-a0e6-1c0b6d3d7a11"
LOOK_S = 0.2
WaitUntil = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="module")
def ctl(ours: str) -> Etcdctl:
    """Return etcdctl at our node."""
    return Etcdctl(ours)


@pytest.fixture(scope="module")
def both(real_etcd: str) -> Iterator[tuple[Etcdctl, Etcdctl]]:
    """Return etcdctl at a node of ours without queues, and at a real etcd."""
    with run_etcdq() as endpoint:
        yield Etcdctl(endpoint), Etcdctl(real_etcd)


# the queue --------------------------------------------------------------------------------------


def test_the_four_commands(ctl: Etcdctl) -> None:
    """README's commands, as typed: the watcher prints the message, del prints 1 and then 0."""
    with ctl.start("watch", f"/q/jobs/c/{UUID}") as watch:
        assert ctl("put", "/q/jobs/p/job-1", "payload") == ["OK"]
        kind, key, body = watch.lines(3)

    assert (kind, body) == ("PUT", "payload")
    assert re.fullmatch(r"/q/jobs/\d{16}/job-1", key)
    assert ctl("del", key) == ["1"]
    assert ctl("del", key) == ["0"]


def test_messages_in_order(ctl: Etcdctl) -> None:
    """What waited comes first, in the order of the puts, then what is put while it watches."""
    for number in range(3):
        ctl("put", f"/queue/order/producer/{9 - number}", f"body-{number}")
    with ctl.start("watch", f"/queue/order/consumer/{UUID}", "--prev-kv") as watch:
        ctl("put", "/q/order/p/late", "body-3")
        events = [watch.lines(3) for _ in range(4)]

    assert [(kind, body) for kind, _, body in events] == [("PUT", f"body-{n}") for n in range(4)]
    keys = [key for _, key, _ in events]
    assert keys == sorted(keys)
    assert [ctl("del", key, "--prev-kv") for key in keys] == [
        ["1", key, f"body-{number}"] for number, key in enumerate(keys)
    ]


def test_looking_at_what_waits(ctl: Etcdctl) -> None:
    """Every option of get, on waiting messages: under their delivery keys, in line order."""
    for name in ("x", "a", "m"):
        ctl("put", f"/q/look/p/{name}", f"body-{name}")
    prefix = ("get", "--prefix", "/q/look/")
    listed = ctl(*prefix)
    keys, bodies = listed[::2], listed[1::2]

    assert bodies == ["body-x", "body-a", "body-m"]
    assert [key.rpartition("/")[2] for key in keys] == ["x", "a", "m"]
    assert ctl(*prefix, "--print-value-only", "--limit=2") == bodies[:2]
    assert ctl(*prefix, "--print-value-only", "--order=DESCEND") == bodies[::-1]
    assert ctl(*prefix, "--print-value-only", "--sort-by=VALUE") == sorted(bodies)
    assert [key for key in ctl(*prefix, "--keys-only") if key] == keys
    assert ctl("get", keys[0], keys[2], "--print-value-only") == bodies[:2]
    assert not set(keys) & set(ctl("get", "--from-key", "/q/look/"))
    assert ctl("get", "/q/look/p/a") == ["/q/look/p/a", "body-a"]
    [answer] = ctl(*prefix, "--limit=1", "-w", "json")
    assert (json.loads(answer)["count"], json.loads(answer)["more"]) == (3, True)


def test_purge(ctl: Etcdctl) -> None:
    """del --prefix of a queue takes its messages; wider deletes take none."""
    for number in range(3):
        ctl("put", f"/q/purge/p/{number}", "x")
    ctl("del", "--prefix", "/q/")
    ctl("del", "--prefix", "")

    assert ctl("del", "--prefix", "/q/purge/") == ["3"]
    assert ctl("get", "--prefix", "/q/purge/") == []


def test_registry(ctl: Etcdctl, calls: Calls, wait_until: WaitUntil) -> None:
    """A consumer's key is there as long as it watches."""
    key = f"/q/registry/c/{UUID}"
    with ctl.start("watch", key):
        wait_until(lambda: calls.get(key))
        node = ctl("get", "/q/registry", "--print-value-only")
        assert ctl("get", "--prefix", "/q/registry/c/") == [key, *node]

    wait_until(lambda: calls.get(key) is None)
    assert ctl("get", "--prefix", "/q/registry/c/") == []


NO_KEY = "is no key of a queue: it lacks"
WRITTEN = "a registry key is written by the server, and this one has no living owner"
NAME = "it is UTF-8, 1 to 200 bytes, without control characters, as in /q/{name}/p/{key}"
NO_OPTIONS = "lease, ignore_value and ignore_lease mean nothing on a producer key"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("/q/jobs/p x", f"key '/q/jobs/p' {NO_KEY} a key to put under: /q/{{name}}/p/{{key}}"),
        ("/q/jobs/p/ x", f"key '/q/jobs/p/' {NO_KEY} a key to put under: /q/{{name}}/p/{{key}}"),
        ("/q/jobs/word x", f"key '/q/jobs/word' {NO_KEY} one of p, i, c or an index after the"),
        ("/q//p/x x", f"key '/q//p/x' has no valid queue name after '/q/': {NAME}"),
        ("/q/jobs/0000000000000001/a x", "a delivery key is written by the server; to produce, "),
        ("/q/nobody x", f"{WRITTEN}; to produce put to /q/{{name}}/p/{{key}}, to consume watch"),
        ("/q/jobs/c/nobody x", f"{WRITTEN}; to produce put to /q/{{name}}/p/{{key}}, to consume"),
        ("/q/jobs/p/a x --lease=1f", NO_OPTIONS),
        ("--ignore-value /q/jobs/p/a", NO_OPTIONS),
    ],
)
def test_refused_puts(ctl: Etcdctl, words: str, said: str) -> None:
    """A key of no form, or an option without meaning, is refused and the right form is named."""
    code, stdout, error = ctl.run("put", *words.split())

    assert (code, stdout) == (1, "")
    assert error.startswith(f"Error: rpc error: code = InvalidArgument desc = etcdq: {said}")


def test_too_large(ctl: Etcdctl) -> None:
    """A body over the limit is refused in etcd's own words."""
    code, _, error = ctl.run("put", "/q/jobs/p/large", stdin="x" * 1_600_000)

    assert (code, error) == (1, "Error: etcdserver: request is too large")


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("txn", "etcdserverpb.KV/Txn"),
        ("compaction 1", "etcdserverpb.KV/Compact"),
        ("lease grant 60", "etcdserverpb.Lease/LeaseGrant"),
        ("lease list", "etcdserverpb.Lease/LeaseLeases"),
        ("lock name", "etcdserverpb.Lease/LeaseGrant"),
        ("member add other --peer-urls=http://localhost:1", "etcdserverpb.Cluster/MemberAdd"),
        ("alarm list", "etcdserverpb.Maintenance/Alarm"),
        ("endpoint hashkv", "etcdserverpb.Maintenance/HashKV"),
        ("snapshot save {file}", "etcdserverpb.Maintenance/Snapshot"),
        ("user list", "etcdserverpb.Auth/UserList"),
        ("auth enable", "etcdserverpb.Auth/AuthEnable"),
    ],
)
def test_not_built_yet(
    ctl: Etcdctl, tmp_path_factory: pytest.TempPathFactory, words: str, path: str
) -> None:
    """What is not built says so, by its name."""
    words = words.format(file=tmp_path_factory.mktemp("snapshot") / "file")
    code, _, error = ctl.run(*words.split(), stdin='mod("a") > "0"\n\nput a b\n\n\n\n')

    assert code != 0
    assert f"code = Unimplemented desc = etcdq: /{path} is not built yet" in error


# ordinary keys, beside the real etcd ------------------------------------------------------------

SAME = """
put k/b value-0
put k/a value-1
put k/d value-2
put k/c value-3
put k/a newer
put solo ''
get k/a
get k/a --print-value-only
get k/a --hex
get solo
get nothing
get --prefix k/
get --prefix k/ --limit=2
get --prefix k/ --keys-only
get --prefix k/ --order=DESCEND
get --prefix k/ --sort-by=CREATE
get --prefix k/ --sort-by=MODIFY --order=DESCEND
get --prefix k/ --sort-by=VALUE --limit=1
get --prefix k/ --sort-by=VERSION --order=DESCEND --limit=1
get --prefix k/ --rev=3
get --prefix k/ --rev=1000
get --prefix k/ --rev=-1
get --prefix '' --keys-only
get --from-key k/c
get --from-key k/c --limit=1
get k/b k/d
get k/d k/b
get k/a -w json
get --prefix k/ --limit=1 -w json
get --prefix k/ -w fields
get --prefix k/ --consistency=s
get '' ''
get k/a --sort-by=NOTHING
put k/a again
put k/a again --prev-kv
put k/new --prev-kv value
put new 1 -w json
put k/a --ignore-value
put k/nothing --ignore-value
put k/a x --ignore-lease
put k/nothing x --ignore-lease
put k/a x --ignore-value
put k/a x --lease=77
put '' x
get --prefix '' -w json
del k/a
del k/a
del k/b --prev-kv
del k/c k/d
del --from-key k/d --prev-kv
del --prefix '' -w json
get --prefix '' -w json
"""


def masked(answer: tuple[int, str, str]) -> tuple[int, str, str]:
    """Return an answer without the ids of the cluster and its member."""
    code, stdout, error = answer
    return code, re.sub(r'((?:cluster|member)_?id"? ?:) ?\d+', r"\1", stdout, flags=re.I), error


def test_ordinary_keys_side_by_side(both: tuple[Etcdctl, Etcdctl]) -> None:
    """The same commands, one after the other: the same output, exit codes and error texts."""
    mine, theirs = both
    for line in SAME.strip().splitlines():
        words = shlex.split(line)
        assert (line, masked(mine.run(*words))) == (line, masked(theirs.run(*words)))


@pytest.mark.parametrize(
    "words",
    ["watch --prefix w/", "watch w/a w/c", "watch --prefix w/ --prev-kv", "watch w/a -w json"],
)
def test_watch_side_by_side(both: tuple[Etcdctl, Etcdctl], words: str) -> None:
    """The same events: of one key, a range, a prefix, with what was there before."""
    mine, theirs = (watched(one, words) for one in both)

    for ours, reference in zip_longest(mine, theirs):
        assert without_numbers(ours) == without_numbers(reference)


def watched(ctl: Etcdctl, words: str) -> list[str]:
    """Return what a watch prints of some changes; `begin` is put until the watch is there."""
    ctl("del", "--prefix", "w/")
    with ctl.start(*words.split()) as watch:
        ctl("put", "w/a", "begin")
        while watch.says_within(LOOK_S) is None:
            ctl("put", "w/a", "begin")
        ctl("put", "w/a", "1")
        ctl("put", "w/b", "2")
        ctl("put", "w/a", "3")
        ctl("del", "--prefix", "w/")
        ctl("put", "w/a", "end")
        printed = up_to_end(watch)
    begun = max(number for number, line in enumerate(printed) if line_value(line) == "begin")
    return printed[begun + 1 :]


def up_to_end(watch: Program) -> list[str]:
    """Return the lines up to the last change."""
    printed: list[str] = []
    while not printed or line_value(printed[-1]) != "end":
        printed.append(watch.line())
    return [*watch.printed[:1], *printed]


def line_value(line: str) -> str:
    """Return the value in a line of either format; the last one of several."""
    values = re.findall(r'"value":"([^"]*)"', line)
    known = {"YmVnaW4=": "begin", "ZW5k": "end"}
    return known.get(values[-1], "") if values else line


def without_numbers(line: str | None) -> str:
    """Return a line without ids and revisions, which `begin` may have moved."""
    assert line is not None
    return re.sub(r'("\w+"):-?\d+', r"\1", line, flags=re.I)


def test_watch_from_a_revision_side_by_side(both: tuple[Etcdctl, Etcdctl]) -> None:
    """watch --rev tells what happened since, and goes on."""
    printed = []
    for one in both:
        [answer] = one("put", "h/a", "1", "-w", "json")
        one("put", "h/b", "2")
        one("del", "h/a")
        revision = json.loads(answer)["header"]["revision"]
        with one.start("watch", "--prefix", "h/", "--prev-kv", f"--rev={revision}") as watch:
            history = watch.lines(11)
            one("put", "h/b", "3")
            printed.append(history + watch.lines(5))

    assert printed[0] == printed[1]


# the node ---------------------------------------------------------------------------------------


def test_endpoint_status(ctl: Etcdctl, ours: str) -> None:
    """One leader, with the same id as in the member list."""
    [status] = ctl("endpoint", "status")
    [member] = ctl("member", "list")
    endpoint, identity, version, _, leader, learner, *_ = status.split(", ")

    assert (endpoint, version, leader, learner) == (ours, "3.5.0", "true", "false")
    assert member == f"{identity}, started, default, , http://{ours}, false"


def test_endpoint_health(ctl: Etcdctl, ours: str) -> None:
    """It is healthy."""
    code, _, said = ctl.run("endpoint", "health")

    assert code == 0
    assert said.startswith(f"{ours} is healthy: successfully committed proposal: took = ")


@pytest.mark.parametrize("words", ["endpoint status", "endpoint health", "member list"])
@pytest.mark.parametrize("output", ["json", "fields", "table"])
def test_other_outputs(both: tuple[Etcdctl, Etcdctl], words: str, output: str) -> None:
    """What people and programs read has the same fields as the real one's."""
    mine, theirs = (fields(one.run(*words.split(), "-w", output)[1], output) for one in both)

    # A node without peers has no peer URL; ours has no raft log of its own.
    assert mine <= theirs
    assert theirs - mine <= {"peerURLs", "PeerURL"}


def fields(printed: str, output: str) -> set[str]:
    """Return the names of the fields in an answer."""
    if output == "table":
        return {name.strip() for name in printed.splitlines()[1].split("|")} if printed else set()
    return set(re.findall(r'"(\w+)" ?:' if output == "json" else r'(?m)^"(\w+)" :', printed))
