"""The archive writer against its own reader, against busybox, and byte for byte."""

import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import cpio, linux


class Archive(unittest.TestCase):
    ENTRIES = [
        cpio.directory("bin"),
        cpio.file("bin/a", b"hello", executable=True),
        cpio.file("bin/empty", b""),
        cpio.link("bin/b", "a"),
    ]

    def test_reads_back_what_was_written(self) -> None:
        self.assertEqual(list(cpio.read(cpio.archive(self.ENTRIES))), self.ENTRIES)

    def test_every_length_of_name_and_data_is_padded_right(self) -> None:
        entries = [cpio.file("n" * length, b"d" * size) for length in range(1, 9) for size in range(9)]
        self.assertEqual(list(cpio.read(cpio.archive(entries))), entries)

    def test_joined_archives_read_as_one(self) -> None:
        joined = cpio.archive(self.ENTRIES[:2]) + cpio.archive(self.ENTRIES[2:])
        self.assertEqual(list(cpio.read(joined)), self.ENTRIES)

    def test_is_deterministic_and_in_whole_blocks(self) -> None:
        data = cpio.archive(self.ENTRIES)
        self.assertEqual(data, cpio.archive(self.ENTRIES))
        self.assertEqual(len(data) % cpio.BLOCK, 0)

    def test_header_is_newc_with_time_zero_and_root(self) -> None:
        data = cpio.archive([cpio.file("x", b"abc")])
        fields = [int(data[6 + i : 14 + i], 16) for i in range(0, 104, 8)]
        self.assertEqual(data[:6], b"070701")
        self.assertEqual(fields, [1, stat.S_IFREG | 0o644, 0, 0, 1, 0, 3, 0, 0, 0, 0, 2, 0])

    def test_absolute_names_are_refused(self) -> None:
        with self.assertRaises(ValueError):
            cpio.archive([cpio.file("/x", b"")])

    def test_a_cut_off_archive_is_refused(self) -> None:
        data = cpio.archive([cpio.file("x", b"a" * 1000)])
        with self.assertRaises(ValueError):
            list(cpio.read(data[:600]))

    def test_another_implementation_unpacks_it(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            subprocess.run([str(linux.BUSYBOX), "cpio", "-id"], input=cpio.archive(self.ENTRIES), cwd=name,
                           check=True, capture_output=True)
            self.assertEqual((Path(name) / "bin" / "a").read_bytes(), b"hello")
            self.assertEqual((Path(name) / "bin" / "b").readlink(), Path("a"))
            self.assertEqual(stat.S_IMODE((Path(name) / "bin" / "a").stat().st_mode), 0o755)
