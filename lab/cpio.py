"""Writes and reads "newc" cpio archives, the form of an initramfs.

Deterministic by construction: times are 0, owners are root, inode numbers count
up, entries keep the order they were given. Archives may be joined end to end
(both Corral and Linux read on after a trailer), which is how a user's program
is added to a finished initramfs: hence the padding to whole blocks.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
HEADER_BYTES = 110  # magic and 13 fields of 8 hexadecimal digits
BLOCK = 512


@dataclass(frozen=True)
class Entry:
    """One file, directory or symbolic link; `data` is a link's target."""

    name: str
    mode: int
    data: bytes = b""


def directory(name: str) -> Entry:
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, data: bytes, *, executable: bool = False) -> Entry:
    return Entry(name, stat.S_IFREG | (0o755 if executable else 0o644), data)


def link(name: str, target: str) -> Entry:
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def _padding(length: int, unit: int) -> bytes:
    return bytes(-length % unit)


def _record(inode: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
    head = MAGIC + b"".join(b"%08X" % field for field in fields) + name
    return head + _padding(len(head), 4) + entry.data + _padding(len(entry.data), 4)


def archive(entries: Iterable[Entry]) -> bytes:
    """The archive of these entries; parents must come before what is in them."""
    out = bytearray()
    for inode, entry in enumerate(entries, start=1):
        if entry.name.startswith("/") or not entry.name:
            raise ValueError(f"names in an archive are relative: {entry.name!r}")
        out += _record(inode, entry)
    out += _record(0, Entry(TRAILER, 0))
    return bytes(out + _padding(len(out), BLOCK))


def read(data: bytes) -> Iterator[Entry]:
    """Every entry of one archive or of several joined ones."""
    at = 0
    while at < len(data):
        if data[at] == 0:  # padding between joined archives
            at += 1
            continue
        if data[at : at + 6] != MAGIC:
            raise ValueError(f"no newc header at offset {at}")
        raw = data[at + 6 : at + HEADER_BYTES]
        fields = [int(raw[i : i + 8], 16) for i in range(0, 104, 8)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name_at = at + HEADER_BYTES
        data_at = name_at + name_size + -(HEADER_BYTES + name_size) % 4
        end = data_at + size
        if end > len(data):
            raise ValueError(f"the entry at offset {at} is cut off")
        name = data[name_at : name_at + name_size - 1].decode()
        at = end + -size % 4
        if name != TRAILER:
            yield Entry(name, mode, data[data_at:end])
