"""The committed wire code is what scripts/generate_proto makes of proto/, and stands alone."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [Path("server/etcd/pb"), Path("etcdq/wire")]

SECOND_DEFINITION = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

def register():
    file = descriptor_pb2.FileDescriptorProto(name="rpc.proto", package="etcdserverpb")
    file.syntax = "proto3"
    field = file.message_type.add(name="PutRequest").field.add(name="other", number=1)
    field.type, field.label = field.TYPE_STRING, field.LABEL_OPTIONAL
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName("etcdserverpb.PutRequest")
    return message_factory.GetMessageClass(descriptor)
"""


def meaning(path: Path) -> str:
    """What a generated file says, whatever the generator's version and its formatter's taste."""
    text = re.sub(r"(PUBLIC,\n)( +\d+,\n){3}", r"\1", path.read_text())
    return ast.dump(ast.parse(text))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wire code generated now."""
    root = tmp_path_factory.mktemp("generated")
    command = [sys.executable, str(ROOT / "scripts" / "generate_proto"), str(root)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return root


def generated(root: Path) -> dict[Path, Path]:
    """Every generated file below root, by its place in the checkout."""
    hand_written = {Path("server/etcd/pb/__init__.py"), Path("server/etcd/pb/pool.py")}
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*.py*"))
    places = {path.relative_to(root): path for path in found if path.suffix != ".pyc"}
    return {place: path for place, path in places.items() if place not in hand_written}


def test_wire_code_is_fresh(fresh: Path) -> None:
    """Nothing is stale, missing or left over; scripts/generate_proto repairs it."""
    committed, made = generated(ROOT), generated(fresh)
    assert sorted(committed) == sorted(made)
    assert len(made) > 14
    stale = [str(place) for place in made if meaning(committed[place]) != meaning(made[place])]
    assert stale == []


@pytest.mark.parametrize("package", ["etcdq.server.etcd.pb", "etcdq.wire.upb"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_lives_beside_another_etcd_client(ours_first: bool, package: str) -> None:
    """Another definition of etcdserverpb.PutRequest in the default pool does no harm."""
    ours = f"from {package} import rpc_pb2"
    theirs = f"{SECOND_DEFINITION}\nTheirs = register()"
    steps = [ours, theirs] if ours_first else [theirs, ours]
    check = (
        "assert Theirs(other='x').SerializeToString() == b'\\n\\x01x'\n"
        "put = rpc_pb2.PutRequest.FromString(rpc_pb2.PutRequest(key=b'k', lease=7)"
        ".SerializeToString())\n"
        "assert (put.key, put.lease) == (b'k', 7)\n"
    )
    program = "\n".join([*steps, check])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_modules_outside_our_pool_would_collide() -> None:
    """The danger is real: two definitions in one pool are refused."""
    program = f"{SECOND_DEFINITION}\nregister()\n" + (
        "from google.protobuf import descriptor_pool\n"
        "from etcdq.server.etcd.pb import auth_pb2, kv_pb2, rpc_pb2\n"
        "for module in (auth_pb2, kv_pb2, rpc_pb2):\n"
        "    descriptor_pool.Default().AddSerializedFile(module.DESCRIPTOR.serialized_pb)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "duplicate" in done.stderr
    assert done.returncode == 1
