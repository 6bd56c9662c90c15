"""Looks at a host program and says whether a guest can run it.

Both guests of an experiment run programs without shared libraries; the usual
mistake is a dynamically linked one, so the answer names the compiler flag.
Layouts: System V ABI, "ELF-64 Object File Format", chapters 3 and 8.
"""

from __future__ import annotations

import struct
from pathlib import Path

from lab.problem import Problem

ET_EXEC, ET_DYN = 2, 3
EM_X86_64 = 62
PT_INTERP = 3
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")


def check_static(path: Path) -> bytes:
    """The program's bytes, if it is a static x86-64 executable; otherwise a Problem."""
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
    if PT_INTERP in kinds:
        raise Problem(
            f"{path} is dynamically linked, and the guest has no shared libraries",
            "link it statically: gcc -static …, g++ -static …, or musl-gcc -static …",
        )
    return data
