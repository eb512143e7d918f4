"""Which files are watched for changes."""

import os
from pathlib import Path

from etcdq.worker.reload import snapshot


def test_python_files_of_the_application(tmp_path: Path) -> None:
    """Hidden folders, virtual environments and other files are left out; a change shows."""
    kept = [tmp_path / "a.py", tmp_path / "app/b.py"]
    left = [tmp_path / ".git/c.py", tmp_path / "venv/lib/d.py", tmp_path / "app/notes.txt"]
    for path in (*kept, *left, tmp_path / "venv/pyvenv.cfg"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    before = snapshot(tmp_path)
    os.utime(kept[1], ns=(1, 1))
    after = snapshot(tmp_path)

    assert sorted(before) == sorted(map(str, kept))
    assert after == {**before, str(kept[1]): 1}
