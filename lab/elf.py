"""Looks at a host program and says whether a guest can run it.

Both guests of an experiment run programs without shared libraries; the usual
mistake is a dynamically linked one, so the answer names the compiler flag.
Layouts: System V ABI, "ELF-64 Object File Format", chapters 3 and 8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from lab.problem import Problem

ET_EXEC, ET_DYN = 2, 3
EM_X86_64 = 62
PT_LOAD = 1
PT_DYNAMIC = 2
PT_INTERP = 3
PT_NOTE = 4
DT_NEEDED = 1
DT_STRTAB = 5
PHYS32_ENTRY = 18  # Xen's public/elfnote.h
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
DYNAMIC = struct.Struct("<QQ")


def check(path: Path, *, dynamic: bool = False) -> bytes:
    """The program's bytes, if the guest can run it: an x86-64 executable, static unless `dynamic`; otherwise a Problem."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Problem(f"{path}: there is no such file", "check the path") from None
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}", "give a file that can be read") from None
    if data[:2] == b"#!":
        raise Problem(
            f"{path} is a script", "run it by the guest's shell: ./corral run -- sh -c '…', or compile it"
        )
    if len(data) < HEADER.size or data[:4] != b"\x7fELF":
        raise Problem(f"{path} is not a program (no ELF header)", "compile it: gcc -static …")
    if data[4] != 2 or data[5] != 1:
        raise Problem(f"{path} is not a 64-bit little-endian program", "compile it for x86-64: gcc -m64 -static …")
    fields = HEADER.unpack_from(data)
    kind, machine, table, entry_size, count = fields[1], fields[2], fields[5], fields[9], fields[10]
    if machine != EM_X86_64:
        raise Problem(f"{path} is for another processor (ELF machine {machine})", "compile it for x86-64")
    if kind not in (ET_EXEC, ET_DYN):
        raise Problem(f"{path} is an object file or a core dump, not a program", "link it: gcc -static …")
    if entry_size < PROGRAM_HEADER.size or table + count * entry_size > len(data):
        raise Problem(f"{path} is damaged: its program headers lie outside the file", "compile it again")
    kinds = {PROGRAM_HEADER.unpack_from(data, table + i * entry_size)[0] for i in range(count)}
    if PT_INTERP in kinds and not dynamic:
        raise Problem(
            f"{path} is dynamically linked, and the guest has no shared libraries",
            "link it statically (gcc -static …, g++ -static …, musl-gcc -static …), or run it among Debian's: --debian",
        )
    return data


def needed(data: bytes) -> list[str]:
    """The libraries that a dynamically linked program or library names."""
    fields = HEADER.unpack_from(data)
    table, entry_size, count = fields[5], fields[9], fields[10]
    headers = [PROGRAM_HEADER.unpack_from(data, table + i * entry_size) for i in range(count)]
    entries = [entry for kind, _, offset, _, _, size, _, _ in headers if kind == PT_DYNAMIC
               for entry in DYNAMIC.iter_unpack(data[offset : offset + size - size % DYNAMIC.size])]  # fmt: skip
    strings = next((_offset_of(value, headers) for tag, value in entries if tag == DT_STRTAB), 0)
    return [data[strings + value : data.index(b"\0", strings + value)].decode() for tag, value in entries if tag == DT_NEEDED]


def _offset_of(address: int, headers: list[tuple[int, ...]]) -> int:
    """Where in the file the byte is that will be at `address`."""
    for kind, _, offset, virtual, _, size, _, _ in headers:
        if kind == PT_LOAD and virtual <= address < virtual + size:
            return offset + address - virtual
    raise ValueError(f"no segment of the file has address {address:#x}")


def pvh_entry(path: Path) -> int:
    """The physical address where a PVH loader enters this kernel (note XEN_ELFNOTE_PHYS32_ENTRY)."""
    data = path.read_bytes()
    fields = HEADER.unpack_from(data)
    table, entry_size, count = fields[5], fields[9], fields[10]
    for i in range(count):
        kind, _, offset, _, _, size, _, _ = PROGRAM_HEADER.unpack_from(data, table + i * entry_size)
        if kind == PT_NOTE:
            for name, note, value in _notes(data[offset : offset + size]):
                if name == b"Xen\0" and note == PHYS32_ENTRY:
                    return int.from_bytes(value, "little")
    raise Problem(f"{path} has no PVH entry note", "build the kernel again")


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        name_size, value_size, kind = struct.unpack_from("<III", data, at)
        name_at = at + 12
        value_at = name_at + name_size + -name_size % 4
        yield data[name_at : name_at + name_size], kind, data[value_at : value_at + value_size]
        at = value_at + value_size + -value_size % 4
