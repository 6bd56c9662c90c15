"""Plants faults in the firmware's ACPI tables, before the kernel has read them.

The machine is stopped at the kernel's entry, the processor table (MADT) is
found in memory, changed and written back. ACPI Specification 6.4, 5.2.6 (table
headers) and 5.2.12 (MADT).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from lab.gdbstub import GdbStub

SIGNATURE = b"APIC"
HEADER_BYTES = 44  # common header of 36, local controller address, flags
CHECKSUM_AT = 9
LOCAL_CONTROLLER = 0
ENABLED = 1
ONLINE_CAPABLE = 2
SEARCHED_BYTES = 256 * 1024  # SeaBIOS puts its tables at the end of low memory


def mended(table: bytearray) -> bytearray:
    """The table with a right checksum: all bytes add up to 0."""
    table[CHECKSUM_AT] = 0
    table[CHECKSUM_AT] = -sum(table) % 256
    return table


def find_madt(memory: bytes) -> int:
    """Its offset in `memory`; only a table whose length and checksum are right counts."""
    at = memory.find(SIGNATURE)
    while at >= 0:
        length = int.from_bytes(memory[at + 4 : at + 8], "little")
        if HEADER_BYTES <= length <= len(memory) - at and sum(memory[at : at + length]) % 256 == 0:
            return at
        at = memory.find(SIGNATURE, at + 1)
    raise AssertionError("the firmware's MADT was not found in memory")


def entries(table: bytes) -> list[tuple[int, int]]:
    """(offset, type) of every interrupt controller structure."""
    found = []
    at = HEADER_BYTES
    while at + 2 <= len(table) and table[at + 1] >= 2:
        found.append((at, table[at]))
        at += table[at + 1]
    return found


def set_processors(table: bytearray, change: Callable[[int], int]) -> bytearray:
    """Every processor's flags, as `change` wants them."""
    for at, kind in entries(table):
        if kind == LOCAL_CONTROLLER:
            (flags,) = struct.unpack_from("<I", table, at + 4)
            struct.pack_into("<I", table, at + 4, change(flags))
    return mended(table)


def change_madt(stub: GdbStub, memory_mib: int, change: Callable[[bytearray], bytearray]) -> None:
    """Replaces the MADT in the stopped machine's memory; `change` must keep its size."""
    base = memory_mib * 1024 * 1024 - SEARCHED_BYTES
    memory = stub.read(base, SEARCHED_BYTES)
    at = find_madt(memory)
    length = int.from_bytes(memory[at + 4 : at + 8], "little")
    fresh = change(bytearray(memory[at : at + length]))
    if len(fresh) != length:
        raise ValueError("the changed table has another size")
    stub.write(base + at, bytes(fresh))
