"""The planting of faults: finds the right table, and keeps what it does not mean to change."""

import struct
import unittest

from lab import firmware


def madt(*flags: int) -> bytearray:
    body = b"".join(struct.pack("<BBBBI", 0, 8, index, index, value) for index, value in enumerate(flags))
    io = struct.pack("<BBBBII", 1, 12, 0, 0, 0xFEC00000, 0)
    length = firmware.HEADER_BYTES + len(body) + len(io)
    head = struct.pack("<4sIBB6s8sI4sI", b"APIC", length, 1, 0, b"BOCHS ", b"BXPC    ", 1, b"BXPC", 1)
    return firmware.mended(bytearray(head + struct.pack("<II", 0xFEE00000, 1) + body + io))


class Madt(unittest.TestCase):
    def test_is_found_behind_look_alikes(self) -> None:
        table = bytes(madt(1, 0))
        memory = b"xxAPIC" + bytes(100) + table + bytes(50)
        self.assertEqual(firmware.find_madt(memory), memory.index(table))

    def test_is_missed_loudly(self) -> None:
        with self.assertRaises(AssertionError):
            firmware.find_madt(bytes(1000))

    def test_flags_change_and_the_checksum_is_mended(self) -> None:
        self.assertEqual(firmware.set_processors(madt(1, 0), lambda flags: flags | 1), madt(1, 1))
        self.assertEqual(sum(madt(1, 0, 3)) % 256, 0)

    def test_entries(self) -> None:
        self.assertEqual([kind for _, kind in firmware.entries(madt(1, 1))], [0, 0, 1])
