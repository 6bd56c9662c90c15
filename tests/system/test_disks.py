"""Disks: what is written is on the disk, all of it, whatever is read is what is there; and waits for disks overlap."""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
import unittest
from pathlib import Path

from lab import guest, paths
from lab.machine import Boot, Machine

MIB = 1 << 20


def slow_disk(name: str) -> tuple[str, ...]:
    """A disk of zeros each of whose requests takes 5 ms, as many at a time as there are."""
    return ("-blockdev", f"null-co,node-name={name},size={32 * MIB},latency-ns=5000000,read-zeroes=on",
            "-device", f"virtio-blk-pci,drive={name}")  # fmt: skip


def digest(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class Disks(unittest.TestCase):
    def boot(self, **settings: object) -> guest.Guest:
        machine = Machine(**settings)  # type: ignore[arg-type]
        booted = guest.Guest(machine, Boot(paths.KERNEL_ELF, paths.INITRAMFS, "quiet"))
        self.addCleanup(booted.__exit__, None, None, None)
        booted.prompt()
        return booted

    def check(self, machine: guest.Guest, command: str) -> str:
        answer = machine.run(command)
        self.assertEqual(answer.status, 0, f"{command}\n{answer.output}")
        return answer.output

    def disk(self, data: bytes) -> Path:
        file = tempfile.NamedTemporaryFile(prefix="corral-disk-")  # noqa: SIM115
        self.addCleanup(file.close)
        Path(file.name).write_bytes(data)
        return Path(file.name)

    def test_contents_come_and_go(self) -> None:
        data = random.Random(3).randbytes(8 * MIB)
        for cores in (1, 4):
            with self.subTest(cores=cores):
                disk, empty = self.disk(data), self.disk(bytes(8 * MIB + 512))
                machine = self.boot(cores=cores, disks=(disk, empty))
                self.assertIn(digest(data), self.check(machine, "md5sum /dev/vda"))
                self.assertEqual(self.check(machine, "blockdev --getsize64 /dev/vdb").strip(), str(8 * MIB + 512))
                self.check(machine, "dd if=/dev/vda of=/dev/vdb bs=1M; printf end | dd of=/dev/vdb bs=1 seek=8388608")
                self.check(machine, "sync")
                self.assertEqual(empty.read_bytes()[: 8 * MIB + 3], data + b"end")

    def test_the_end_is_the_end(self) -> None:
        machine = self.boot(disks=(self.disk(bytes(MIB)),))
        answer = machine.run("dd if=/dev/zero of=/dev/vda bs=64k")
        self.assertEqual(answer.status, 1)
        self.assertIn("No space left", answer.output)
        self.assertEqual(self.check(machine, "dd if=/dev/vda bs=64k 2>/dev/null | wc -c").strip(), str(MIB))
        self.assertNotEqual(machine.run("cat /dev/vdb").status, 0)

    def test_nothing_is_lost_when_the_machine_is_switched_off(self) -> None:
        disk = self.disk(bytes(2 * MIB))
        machine = self.boot(disks=(disk,))
        machine.send("yes corral | head -c 1500000 > /dev/vda; poweroff -f\n")
        machine.ended()
        self.assertEqual(disk.read_bytes()[:1_500_000], (b"corral\n" * 220_000)[:1_500_000])

    def test_many_disks(self) -> None:
        # The firmware reserves memory for each, at the end, where QEMU lays the initramfs.
        machine = self.boot(disks=tuple(self.disk(bytes(MIB)) for _ in range(8)))
        self.assertEqual(self.check(machine, "cat /dev/vd? | wc -c").strip(), str(8 * MIB))

    def test_threads_on_one_core_overlap_their_waits(self) -> None:
        machine = self.boot(cores=1, more=slow_disk("one") + slow_disk("two"))
        seconds = []
        for threads, disk in ((1, "/dev/vda"), (16, "/dev/vdb")):  # neither is in memory yet
            output = self.check(machine, f"iobound {threads} {disk} 400")
            seconds.append(float(re.search(r"seconds ([\d.]+)", output)[1]))  # type: ignore[index]
        self.assertLess(seconds[1], seconds[0] / 3, seconds)


if __name__ == "__main__":
    unittest.main()
