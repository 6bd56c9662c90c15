"""What may be carried into a guest: static x86-64 programs, with advice for all else."""

import struct
import tempfile
import unittest
from pathlib import Path

from lab import cpio, elf, payload
from lab.problem import Problem


def program(kind: int = elf.ET_EXEC, machine: int = elf.EM_X86_64, segments: tuple[int, ...] = (1,)) -> bytes:
    """An ELF header with program headers of these types."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = elf.HEADER.pack(ident, kind, machine, 1, 0x401000, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    return head + b"".join(elf.PROGRAM_HEADER.pack(segment, 5, 0, 0, 0, 0, 0, 0) for segment in segments)


class Static(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.file = Path(self.directory.name) / "prog"

    def refusal(self, data: bytes) -> str:
        self.file.write_bytes(data)
        with self.assertRaises(Problem) as caught:
            elf.check(self.file)
        return str(caught.exception)

    def test_static_programs_pass(self) -> None:
        for kind in (elf.ET_EXEC, elf.ET_DYN):
            self.file.write_bytes(program(kind))
            self.assertEqual(elf.check(self.file), program(kind))

    def test_refusals_name_the_mend(self) -> None:
        self.assertIn("-static", self.refusal(program(segments=(elf.PT_INTERP, 1))))
        self.assertIn("another processor", self.refusal(program(machine=183)))
        self.assertIn("script", self.refusal(b"#!/bin/sh\n"))
        self.assertIn("not a program", self.refusal(b"text"))
        self.assertIn("not a program", self.refusal(b""))
        self.assertIn("object file", self.refusal(program(kind=1)))
        self.assertIn("damaged", self.refusal(program(segments=(1,) * 3)[:-20]))
        self.assertIn("64-bit", self.refusal(program()[:4] + b"\x01" + program()[5:]))

    def test_a_missing_file_is_said(self) -> None:
        with self.assertRaises(Problem) as caught:
            elf.check(self.file)
        self.assertIn("no such file", caught.exception.what)

    def test_host_paths_become_guest_paths(self) -> None:
        self.file.write_bytes(program())
        argv, files = payload.resolve([str(self.file), "a", "b"])
        self.assertEqual(argv, ["/host/prog", "a", "b"])
        self.assertEqual(files, {"prog": program()})

    def test_names_and_guest_paths_stay(self) -> None:
        self.assertEqual(payload.resolve(["ls", "/"]), (["ls", "/"], {}))
        self.assertEqual(payload.resolve(["/no/such/on/the/host"]), (["/no/such/on/the/host"], {}))
        self.assertEqual(payload.resolve([]), ([], {}))

    def test_files_are_joined_to_a_finished_initramfs(self) -> None:
        base = Path(self.directory.name) / "base.cpio"
        base.write_bytes(cpio.archive([cpio.file("init", b"i", executable=True)]))
        joined = payload.initramfs({"p": b"123"}, Path(self.directory.name) / "w", base)
        self.assertEqual([entry.name for entry in cpio.read(joined.read_bytes())], ["init", "host", "host/p"])
        joined = payload.initramfs({"b": b"2", "d/e/f": b"1"}, Path(self.directory.name) / "w", base)
        self.assertEqual([entry.name for entry in cpio.read(joined.read_bytes())],
                         ["init", "host", "host/d", "host/d/e", "host/b", "host/d/e/f"])
        self.assertEqual(payload.initramfs({}, Path(self.directory.name), base), base)

    def test_the_entry_of_a_pvh_kernel_is_found(self) -> None:
        note = struct.pack("<III", 4, 8, elf.PHYS32_ENTRY) + b"Xen\0" + (0x101000).to_bytes(8, "little")
        data = bytearray(program(segments=(elf.PT_NOTE,)))
        elf.PROGRAM_HEADER.pack_into(data, 64, elf.PT_NOTE, 4, len(data), 0, 0, len(note), len(note), 4)
        self.file.write_bytes(bytes(data) + note)
        self.assertEqual(elf.pvh_entry(self.file), 0x101000)
