"""Files are whole or not there, whatever fails and whenever the writer is killed."""

import errno
import hashlib
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time

import pytest

from sublimate import files
from sublimate.errors import InputRefused, ResourceError
from sublimate.files import (
    check_outputs,
    check_writable,
    make_folder,
    read_bytes,
    remove_stale,
    rewrite,
    sha256,
    write_whole,
)


def failing(code):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return fail


def test_a_file_is_made_and_replaced(tmp_path):
    path = tmp_path / "weights.bin"
    write_whole(path, b"old")
    write_whole(str(path), b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert os.listdir(tmp_path) == ["weights.bin"]


def test_everything_is_on_the_disk_before_the_name_changes_and_after(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def record_fsync(descriptor):
        calls.append("sync folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "sync file")
        fsync(descriptor)

    def record_replace(source, target):
        calls.append(f"rename, {os.path.getsize(source)} bytes")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    write_whole(tmp_path / "a", b"12345")
    assert calls == ["sync file", "rename, 5 bytes", "sync folder"]


@pytest.mark.parametrize(
    ("function", "code", "words"),
    [
        ("fsync", errno.ENOSPC, "The disk is full"),
        ("fsync", errno.EDQUOT, "The disk is full"),
        ("fsync", errno.EIO, "Input/output error"),
        ("open", errno.EACCES, "No permission to write in"),
        ("open", errno.EROFS, "No permission to write in"),
        ("replace", errno.EPERM, "No permission to write in"),
    ],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, function, code, words):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with monkeypatch.context() as patched:
        patched.setattr(os, function, failing(code))
        with pytest.raises(ResourceError, match=words):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


FULL_DISK = """
import resource, sys
from sublimate.errors import ResourceError
from sublimate.files import write_whole
path, hard = sys.argv[1], resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for limit in range(0, 200_000, 5_003):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        write_whole(path, b"n" * 200_000)
        print("written at", limit)
    except ResourceError:
        if open(path, "rb").read() != b"o" * 1000:
            print("damaged at", limit)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
"""


def test_a_disk_that_fills_at_any_byte_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"o" * 1000)
    child = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert os.listdir(tmp_path) == ["a"]


WRITER = """
import sys
from sublimate.files import write_whole
write_whole(sys.argv[1], bytes(500_000))
print("ready", flush=True)
for i in range(10**9):
    write_whole(sys.argv[1], bytes([i % 255]) * 500_000)
"""


def test_a_killed_writer_leaves_a_whole_file_and_its_rest_is_removed(tmp_path):
    path, rng = tmp_path / "state", random.Random(0)
    for _ in range(20):
        path.write_bytes(b"\xff" * 500_000)
        child = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child.stdout:
            child.stdout.readline()
        time.sleep(rng.uniform(0, 0.02))
        child.kill()
        child.wait()
        data = path.read_bytes()
        assert len(data) == 500_000 and len(set(data)) == 1 and data[0] != 0xFF
        remove_stale(path)
        assert os.listdir(tmp_path) == ["state"]


def test_only_the_leftovers_of_dead_writers_of_this_path_are_removed(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    host = files._host()
    dead = f".a.{host}.{child.pid}.0123abcd.partial"
    kept = {
        "a",
        f".a.{host}.{os.getpid()}.0123abcd.partial",  # a living writer
        f".a.{host}.1.0123abcd.partial",  # somebody else's
        f".b.{host}.{child.pid}.0123abcd.partial",  # of another path
        f".a.elsewhere.{child.pid}.0123abcd.partial",  # of another host
        f".a.{host}.{child.pid}.partial",  # not our pattern
    }
    for name in [dead, *kept]:
        (tmp_path / name).touch()
    remove_stale(tmp_path / "a")
    assert set(os.listdir(tmp_path)) == kept
    remove_stale(tmp_path / "missing" / "a")


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "a"
    path.touch(mode=0o600)
    write_whole(path, b"secret")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("check", [check_writable, lambda path: write_whole(path, b"")])
def test_a_missing_folder_is_named(tmp_path, check):
    with pytest.raises(ResourceError, match=r"There is no folder .*missing\. Create it"):
        check(tmp_path / "missing" / "a")
    (tmp_path / "file").touch()
    with pytest.raises(ResourceError, match=r"There is no folder .*file\."):
        check(tmp_path / "file" / "a")


def test_a_target_is_checked_by_trying_and_without_a_trace(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    check_writable(tmp_path / "a")
    check_writable(tmp_path / "b")
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"
    with pytest.raises(ResourceError, match="is a folder"):
        check_writable(tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", failing(errno.EROFS))
    with pytest.raises(ResourceError, match="No permission"):
        check_writable(tmp_path / "a")


def test_make_folder(tmp_path):
    make_folder(tmp_path / "x" / "y")
    make_folder(tmp_path / "x" / "y")
    assert (tmp_path / "x" / "y").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(ResourceError):
        make_folder(tmp_path / "file" / "y")


def test_reading_tells_apart_what_is_missing_and_what_is_forbidden(tmp_path, monkeypatch):
    with pytest.raises(InputRefused, match="There is no file"):
        read_bytes(tmp_path / "missing")
    with pytest.raises(InputRefused, match="is a folder"):
        read_bytes(tmp_path)
    (tmp_path / "a").write_bytes(b"abc")
    assert read_bytes(tmp_path / "a") == b"abc"
    for code, words in [(errno.EACCES, "No permission to read"), (errno.EIO, "cannot be read")]:
        monkeypatch.setattr(files.Path, "read_bytes", failing(code))
        with pytest.raises(ResourceError, match=words):
            read_bytes(tmp_path / "a")


def test_sha256_of_bytes_and_files(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    expected = hashlib.sha256(b"abc").hexdigest()
    assert sha256(b"abc") == sha256(tmp_path / "a") == sha256(str(tmp_path / "a")) == expected


def test_rewritten_in_a_folder_that_is_made_and_without_what_killed_writers_left(tmp_path):
    target = tmp_path / "new" / "a"
    rewrite(target, b"one")
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    host = re.sub(r"[^\w-]", "-", platform.node())
    target.with_name(f".a.{host}.{int(gone.stdout)}.00000000.partial").touch()
    rewrite(target, b"two")
    assert [path.name for path in target.parent.iterdir()] == ["a"] and target.read_bytes() == b"two"


def test_outputs_that_are_inputs_or_alike_are_refused(tmp_path):
    model, link, hard = tmp_path / "model", tmp_path / "link", tmp_path / "hard"
    model.write_bytes(b"weights")
    link.symlink_to(model)
    os.link(model, hard)
    for out in (model, link, hard, tmp_path / "folder" / ".." / "model"):
        with pytest.raises(InputRefused, match="read by this very command"):
            check_outputs([out], [None, model])
    with pytest.raises(InputRefused, match="two outputs"):
        check_outputs([tmp_path / "new", None, tmp_path / "." / "new"])
    (tmp_path / "train").mkdir()
    with pytest.raises(InputRefused, match="read by this very command"):
        check_outputs([tmp_path / "train" / "cat.png"], [tmp_path / "train"])
    check_outputs([tmp_path / "new", tmp_path / "newer"], [model, tmp_path / "missing"])
    assert model.read_bytes() == b"weights"


def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (check_writable, lambda path: write_whole(path, b"new")):
        for path in (pipe, "/dev/null"):
            with pytest.raises(ResourceError, match="a device or a pipe"):
                write(path)
    assert pipe.is_fifo()


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("a" * 255)
    write_whole(path, b"new")
    remove_stale(path)
    assert os.listdir(tmp_path) == ["a" * 255]
