"""What a disk has been given is kept for good before the next step relies on it, as a log of the disk's writes and flushes shows."""

from __future__ import annotations

import re
import struct
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from lab import guest, paths
from lab.machine import Boot, Machine
from tests.system.test_ext2 import host

MIB = 1 << 20
SUPER_BLOCK = 2  # the sector
FLUSH, ENDS = 1, 8  # flags of an entry; the second: where the log was begun


def entries(log: Path) -> Iterator[tuple[int, int]]:
    """The first sector of each write up to the last flush, or -1 for a flush, and how many. (QEMU's block/blklogwrites.c.)"""
    data = log.read_bytes()
    magic, version, count, sector_size = struct.unpack_from("<QQQI", data)
    assert (magic, version) == (0x6A736677736872, 1)
    place = sector_size
    for _ in range(count):
        sector, sectors, flags, _ = struct.unpack_from("<QQQQ", data, place)
        place += sector_size + sectors * sector_size
        if flags & ENDS:
            continue
        yield (-1, 0) if flags & FLUSH else (sector, sectors)


class SwitchedOff(unittest.TestCase):
    """The emulator stays when the guest is switched off, so that it closes nothing, and `poweroff -n` asks for no flush."""

    def setUp(self) -> None:
        self.disk = self.file("disk")
        self.disk.write_bytes(bytes(8 * MIB))
        host("mkfs.ext2", "-q", "-F", self.disk)

    def file(self, name: str) -> Path:
        return Path(self.enterContext(tempfile.NamedTemporaryFile(prefix=f"corral-{name}-")).name)

    def use(self, driver: str) -> guest.Guest:
        """A file is written on the disk, to which `driver` leads, and the machine switched off."""
        devices = ("-blockdev", f"{driver},node-name=disk", "-device", "virtio-blk-pci,drive=disk", "-no-shutdown")
        with guest.Guest(Machine(more=devices), Boot(paths.KERNEL_ELF, paths.INITRAMFS, "quiet")) as machine:
            machine.prompt()
            self.assertEqual(machine.run("mkdir -p /mnt && mount -t ext2 /dev/vda /mnt").status, 0)
            machine.send("yes corral | head -c 1500000 > /mnt/file; poweroff -n -f\n")
            deadline = time.monotonic() + 60
            while "exit status" not in machine.debug_console():
                self.assertLess(time.monotonic(), deadline, machine.said())
                machine.run_for(0.1)
            return machine

    def state(self) -> str:
        return re.search("Filesystem state: *(.*)", host("dumpe2fs", "-h", self.disk))[1]  # type: ignore[index]

    def test_the_mark_of_order_comes_after_all_else(self) -> None:
        log = self.file("log")
        self.use(f"driver=blklogwrites,file.driver=file,file.filename={self.disk},log.driver=file,log.filename={log}")
        done = list(entries(log))
        last = max(i for i, (sector, _) in enumerate(done) if sector >= 0)
        first, sectors = done[last]
        self.assertTrue(first <= SUPER_BLOCK < first + sectors, done[-8:])
        self.assertEqual([done[last - 1], *done[last + 1 :]], [(-1, 0)] * (len(done) - last), done[-8:])
        self.assertEqual(self.state(), "clean")

    def test_who_does_not_keep_it_is_told_of_and_gets_no_mark(self) -> None:
        fails = "inject-error.0.event=none,inject-error.0.iotype=flush,inject-error.0.errno=5"
        machine = self.use(f"driver=blkdebug,{fails},image.driver=file,image.filename={self.disk}")
        self.assertIn("vda: it may not keep what was written last", machine.text + machine.debug_console())
        self.assertEqual(self.state(), "not clean")


if __name__ == "__main__":
    unittest.main()
