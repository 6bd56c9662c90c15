"""What goes into the guest: its command line's program, and files of the host.

A program named by a path of the host is copied to /host in the guest; a bare
name is one of the guest's own programs. The copy is an archive of its own,
joined to the finished initramfs, which therefore never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from lab import cpio, elf, paths


def resolve(program: Sequence[str], *, dynamic: bool = False) -> tuple[list[str], dict[str, bytes]]:
    """The guest's argument vector, and the host files that it needs in /host.

    An absolute path that the host lacks is taken for a path in the guest; so is every absolute path when the guest has
    shared libraries (`dynamic`), for it has most of the host's programs then.
    """
    if not program:
        return [], {}
    name = program[0]
    path = Path(name)
    if "/" not in name or (path.is_absolute() and (dynamic or not path.exists())):
        return list(program), {}
    return [f"/host/{path.name}", *program[1:]], {path.name: elf.check(path, dynamic=dynamic)}


def host_archive(files: dict[str, bytes]) -> bytes:
    """`files` by their names below /host, which may have folders in them."""
    folders = {parent for name in files for parent in PurePosixPath("host", name).parents} - {PurePosixPath(".")}
    entries = [cpio.directory(str(folder)) for folder in sorted(folders)]  # parents come first
    entries += [cpio.file(f"host/{name}", data, executable=True) for name, data in sorted(files.items())]
    return cpio.archive(entries)


def initramfs(files: dict[str, bytes], directory: Path, base: Path = paths.INITRAMFS) -> Path:
    """The initramfs to boot: `base` itself when nothing is added, else a joined one in `directory`."""
    if not files:
        return base
    directory.mkdir(parents=True, exist_ok=True)
    joined = directory / "initramfs.cpio"
    head = base.read_bytes()
    head += bytes(-len(head) % cpio.BLOCK)
    joined.write_bytes(head + host_archive(files))
    return joined
