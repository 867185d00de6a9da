import os
from pathlib import Path

import pytest

from tradeoff.atomic_write import atomic_write, check_writable, read_text
from tradeoff.errors import DomainError

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are POSIX")


@pytest.mark.parametrize("data", ["", "漢字 and 𝛼\r\n𝛽\rend\n", b"\x00\xff"])
def test_atomic_write_writes_exact_bytes(tmp_path, data):
    atomic_write(tmp_path / "file", data)
    assert (tmp_path / "file").read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_atomic_write_keeps_mode_and_link(tmp_path):
    (path := tmp_path / "file").write_text("old")
    path.chmod(0o640)
    (link := tmp_path / "link").symlink_to(path)
    atomic_write(link, "new")
    assert link.is_symlink()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_atomic_write_failing_leaves_the_old_file(tmp_path, monkeypatch):
    (path := tmp_path / "file").write_text("old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DomainError, match="file': cannot be written: No space left"):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def make_read_only(path):
    path.write_text("old")
    path.chmod(0o444)


TARGETS = [
    (Path.mkdir, "must be a regular file"),
    (make_read_only, "must not be read-only"),
    (lambda path: path.symlink_to(path), "must be a regular file"),
    pytest.param(getattr(os, "mkfifo", None), "must be a regular file", marks=posix),
]


@pytest.mark.parametrize("write", [check_writable, lambda path: atomic_write(path, "new")])
@pytest.mark.parametrize(("make", "message"), TARGETS)
def test_unsuitable_targets_are_refused_and_unchanged(tmp_path, write, make, message):
    make(path := tmp_path / "file")
    before = path.lstat()
    with pytest.raises(DomainError, match=message):
        write(path)
    assert path.lstat()[:2] == before[:2]


@pytest.mark.parametrize("name", ["no/file", "a" * 300, "half \ud800"])
@pytest.mark.parametrize("write", [check_writable, lambda path: atomic_write(path, "new")])
def test_impossible_paths_are_refused(tmp_path, write, name):
    with pytest.raises(DomainError, match="cannot be written"):
        write(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "é", "漢字\r\n𝛽\rend\n"])
def test_read_text_returns_line_ends_unchanged(tmp_path, text):
    (path := tmp_path / "file").write_text(text, encoding="utf-8", newline="")
    assert read_text(path, len(text)) == text
    if text:
        with pytest.raises(DomainError, match="must have at most"):
            read_text(path, len(text) - 1)


def test_read_text_of_unreadable_files_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing", tmp_path / ("a" * 300)):
        with pytest.raises(DomainError, match="cannot be read"):
            read_text(path, 10)
    (tmp_path / "latin").write_bytes(b'title = "\xe9"')
    with pytest.raises(DomainError, match="it is not UTF-8 text"):
        read_text(tmp_path / "latin", 100)


@posix
def test_read_text_of_a_named_pipe_is_refused(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(DomainError, match="it is a named pipe"):
        read_text(pipe, 10)


@posix
def test_read_text_of_devices_ends():
    with pytest.raises(DomainError, match="at most 10 characters"):
        read_text("/dev/zero", 10)
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    assert read_text(f"/dev/fd/{reader}", 10) == "abc"
    os.close(reader)
