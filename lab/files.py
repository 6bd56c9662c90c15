"""Files that the user asked for by name, and folders in which one command at a time makes something."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.problem import Problem

FULL = (errno.ENOSPC, errno.EDQUOT)


def write(file: Path, text: str, option: str) -> None:
    """Makes its folders as well. `option`: by which another place can be given, as in --json."""
    write_bytes(file, text.encode(), option)


def write_bytes(file: Path, data: bytes, option: str) -> None:
    """Whole or not at all: what stood there stays when the disk is full, or the command is interrupted."""
    new = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink() or (file.exists() and not file.is_file()):  # such as /dev/stdout
            file.write_bytes(data)
            return
        try:
            new.write_bytes(data)
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        full = "make room on the disk, or " if error.errno in FULL else ""
        raise Problem(f"{file} cannot be written: {error.strerror}", f"{full}give {option} another place") from None


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Two `corral` commands at once would trip over each other's files: the second waits until the first has made them.

    Also as a decorator. Not within itself.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".corral-lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_once(target: Path, stamp: Path, digest: str, make: Callable[[], object]) -> None:
    """Makes `target`, unless it was made from what `digest` stands for, which the file `stamp` remembers."""
    if target.exists() and stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
        return
    stamp.unlink(missing_ok=True)
    make()
    stamp.write_text(digest, encoding="ascii")
