"""ext2: what the host's mkfs.ext2 makes can be used, e2fsck finds nothing wrong afterwards, and damaged disks harm nobody."""

from __future__ import annotations

import os
import random
import re
import struct
import subprocess
import tempfile
import unittest
import zlib
from collections.abc import Iterator
from pathlib import Path

from lab import command_line, guest, paths
from lab.machine import Boot, Machine

MIB = 1 << 20
TOOLS = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"}


def host(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], env=TOOLS, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


# What is done with a file system that is mounted on /mnt.
USE = (
    "find /mnt | head -n 1000 | wc; ls -lR /mnt | head -n 1000 | wc; head -c 100000 /mnt/* | wc; cp /bin/busybox /mnt/d; "
    "echo more >> /mnt/one; truncate -s 10000 /mnt/three; mv /mnt/d /mnt/moved; ln /mnt/one /mnt/moved; rm -r /mnt/two /mnt/moved; sync"
)


def record(disk: bytearray, number: int, kind: int, first: int, count: int) -> None:
    struct.pack_into("<4xB3xII", disk, 446 + 16 * number, kind, first, count)
    disk[510:512] = b"\x55\xaa"


def mbr(disk: bytearray, partitions: list[tuple[int, int]]) -> None:
    for number, (first, count) in enumerate(partitions):
        record(disk, number, 0x83, first, count)


def gpt(disk: bytearray, partitions: list[tuple[int, int]]) -> None:
    last = len(disk) // 512 - 1
    record(disk, 0, 0xEE, 1, last)
    entries = bytearray(128 * 128)
    for number, (first, count) in enumerate(partitions):
        struct.pack_into("<16s16sQQ", entries, 128 * number, b"kind" * 4, b"name" * 4, first, first + count - 1)
    for own, other, table in ((1, last, 2), (last, 1, last - 32)):
        header = bytearray(struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, own, other, 34, last - 33,
                                       bytes(16), table, 128, 128, zlib.crc32(entries)))  # fmt: skip
        struct.pack_into("<I", header, 16, zlib.crc32(header))
        disk[own * 512 : own * 512 + 92] = header
        disk[table * 512 : table * 512 + len(entries)] = entries


class Ext2(unittest.TestCase):
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

    def run_seeded(self, seed: int, image: Path, script: str) -> int:
        """The script's status, on four cores in one of many interleavings."""
        options = command_line.compose([command_line.with_seed("quiet", seed)], ["sh", "-c", script])
        with guest.Guest(Machine(seed=seed, disks=(image,)), Boot(paths.KERNEL_ELF, paths.INITRAMFS, options)) as machine:
            return machine.ended().status

    def image(self, size: int, *options: str) -> Path:
        file = tempfile.NamedTemporaryFile(prefix="corral-ext2-")  # noqa: SIM115
        self.addCleanup(file.close)
        os.truncate(file.name, size)
        host("mkfs.ext2", "-q", "-F", *options, file.name)
        return Path(file.name)

    def copied(self, image: Path, name: str) -> bytes:
        with tempfile.NamedTemporaryFile() as to:
            host("debugfs", "-R", f"dump {name} {to.name}", image)
            return Path(to.name).read_bytes()

    def test_host_and_guest_read_the_same(self) -> None:
        data = random.Random(5).randbytes(3_000_001)
        images = [self.image(12 * MIB), self.image(16 * MIB, "-b", "4096")]
        with tempfile.NamedTemporaryFile() as source:
            Path(source.name).write_bytes(data)
            for image in images:
                host("debugfs", "-w", "-R", f"write {source.name} given", image)
        machine = self.boot(disks=tuple(images))
        for place, disk in (("/a", "vda"), ("/b", "vdb")):
            self.check(machine, f"mkdir {place}; mount -t ext2 /dev/{disk} {place}")
            self.check(machine, f"cd {place}; mkdir d; cp given d/copy; cmp given d/copy; echo short > d/s; cd /")
            self.assertNotEqual(machine.run(f"cd {place}; umount {place}").status, 0)
            self.check(machine, f"cd /; umount {place}")
            # What a file had behind its end is not seen again, although no page of it was in memory.
            self.check(machine, f"mount -t ext2 /dev/{disk} {place}; cd {place}; cp d/copy d/cut; cd /; umount {place}")
            self.check(machine, f"mount -t ext2 /dev/{disk} {place}; cd {place}; truncate -s 50501 d/cut; truncate -s 60000 d/cut")
            self.check(machine, f"cd /; umount {place}")
        for disk, program in (("vdb", "watchtest"), ("vda", "busytest"), ("vda", "mounttest"), ("vdb", "mounttest")):
            self.assertIn("checks ok", self.check(machine, f"DISK=/dev/{disk} /tests/{program}"))
        for image in images:
            host("e2fsck", "-fn", image)
            self.assertEqual(self.copied(image, "d/cut"), data[:50501] + bytes(9499))
            self.assertEqual(self.copied(image, "d/copy"), data)
            self.assertEqual(self.copied(image, "d/s"), b"short\n")

    def test_who_has_ended_does_not_keep_it_from_being_unmounted(self) -> None:
        """What the kernel itself still does with a file, on another core, is no use of it."""
        once = "mount -t ext2 /dev/vda /mnt && cp /bin/busybox /mnt/copy && umount /mnt"
        script = f"set -e; mkdir -p /mnt; for i in $(seq 20); do {once}; done"
        for seed in range(1, 7):
            with self.subTest(seed=seed):
                self.assertEqual(self.run_seeded(seed, self.image(4 * MIB), script), 0)

    def test_many_processes_leave_it_in_order(self) -> None:
        images = [self.image(12 * MIB), self.image(16 * MIB, "-b", "4096")]
        machine = self.boot(cores=4, disks=tuple(images))
        for place, disk in (("/a", "vda"), ("/b", "vdb")):
            self.check(machine, f"mkdir {place}; mount -t ext2 /dev/{disk} {place}")
            for program in ("ext2test", "losttest", "shrinktest", "writerstest"):
                self.assertIn("checks ok", self.check(machine, f"DIRECTORY={place} /tests/{program}"))
        self.check(machine, "umount /a")
        machine.send("poweroff -f\n")  # the other one is left in order as well
        machine.ended()
        for image in images:
            host("e2fsck", "-fn", image)
            own = re.search(r"ext2test-\d+", host("debugfs", "-R", "ls", image))[0]  # type: ignore[index]
            self.assertEqual(self.copied(image, f"{own}/grown"), bytes(50) + b"a" + bytes(2949) + b"b" + bytes(999))

    def test_attributes(self) -> None:
        images = [self.image(4 * MIB, "-b", "2048", "-I", "512"), self.image(4 * MIB, "-b", "1024"), self.image(4 * MIB, "-b", "4096")]
        for image in images:
            for command in ("write /dev/null given", "ea_set given user.tool host", "ea_set given user.long " + "l" * 200):
                host("debugfs", "-w", "-R", command, image)
            for command in ("write /dev/null fixed", "set_inode_field fixed flags 0x10"):  # immutable
                host("debugfs", "-w", "-R", command, image)
        machine = self.boot(cores=4, disks=tuple(images))
        for disk in "abc":
            self.check(machine, f"mkdir /{disk}; mount -t ext2 /dev/vd{disk} /{disk}")
            self.assertIn("checks ok", self.check(machine, f"DIRECTORY=/{disk} /tests/attributetest"))
            self.assertIn("checks ok", self.check(machine, f"GIVEN=/{disk}/given /tests/attributetest"))
            self.assertIn("checks ok", self.check(machine, f"DIRECTORY=/{disk} /tests/flagtest"))
            self.check(machine, f"LEFT=/{disk}/grows /tests/flagtest")  # the next user of the disk finds it append-only
            self.check(machine, f"umount /{disk}; mount -t ext2 /dev/vd{disk} /{disk}; echo more >> /{disk}/grows")
            self.assertNotEqual(machine.run(f"echo > /{disk}/grows").status, 0)
            self.assertNotEqual(machine.run(f"rm -f /{disk}/fixed").status, 0)
            self.check(machine, f"umount /{disk}")
        for image in images:
            host("e2fsck", "-fn", image)
            self.assertIn("Flags: 0x20", host("debugfs", "-R", "stat grows", image))
            listed = host("debugfs", "-R", "ea_list given", image)
            self.assertIn("user.guest (5) = \"guest\"", listed)
            self.assertIn("user.tool (7) = \"changed\"", listed)
            self.assertNotIn("user.long", listed)

    def assert_in_order(self, image: Path) -> None:
        self.assertRegex(host("dumpe2fs", "-h", image), r"Filesystem state: +clean\n")
        host("e2fsck", "-fn", image)

    def test_detached_while_in_use(self) -> None:
        images = [self.image(4 * MIB), self.image(4 * MIB, "-b", "4096")]
        machine = self.boot(cores=4, disks=tuple(images))
        self.check(machine, "mkdir /a /b; mount -t ext2 /dev/vda /a; exec 3>> /a/file; echo one >&3")
        self.check(machine, "umount -l /a; ls /a | wc -l | grep -qx 0; echo two >&3")
        self.assertNotEqual(machine.run("mount -t ext2 -o ro /dev/vda /a").status, 0)
        # The same file system, at another place.
        self.check(machine, "mount -t ext2 /dev/vda /b; echo three >&3; echo four >> /b/file; echo five >&3; mkdir /b/made")
        self.assertEqual(self.check(machine, "cat /b/file").split(), ["one", "two", "three", "four", "five"])
        self.assertNotEqual(machine.run("mount -t ext2 /dev/vda /a").status, 0)  # it is mounted
        self.assertNotEqual(machine.run("umount /b").status, 0)  # and in use
        # The last user removes a file that has no other name, and goes; then the disk is free, and in order.
        self.check(machine, "exec 4> /b/removed; rm /b/removed; head -c 300000 /bin/busybox >&4; cd /b/made; umount -l /b")
        self.check(machine, "exec 3>&- 4>&-; cd /; sync")
        read = "for i in $(seq 20); do mount -t ext2 -o ro /dev/vda /a && break; sleep 0.5; done; ls /a/made /a/file"  # another one
        self.assertNotIn("removed", self.check(machine, read))
        self.assert_in_order(images[0])
        self.check(machine, "umount /a")
        for _ in range(20):  # also while it is being ended
            self.check(machine, "mount -t ext2 /dev/vda /a; exec 3> /a/file; umount -l /a; exec 3>&-")
        # One that is only read, of which nothing but the root is in use.
        self.check(machine, "mount -t ext2 -o ro /dev/vda /a; cd /a; umount -l /a")
        self.assertNotEqual(machine.run("mount -t ext2 /dev/vda /a").status, 0)
        self.check(machine, "test $(ls | wc -l) -gt 1")
        self.check(machine, "cd /; for i in $(seq 20); do mount -t ext2 /dev/vda /a && break; sleep 0.5; done; umount /a")
        # What is in use, detached, when the machine is switched off is put in order as well.
        self.check(machine, "mount -t ext2 /dev/vdb /b; exec 3> /b/file; rm /b/file; head -c 300000 /bin/busybox >&3; umount -l /b")
        machine.send("poweroff -f\n")
        machine.ended()
        for image in images:
            self.assert_in_order(image)

    def test_partitions(self) -> None:
        parts = [(self.image(4 * MIB), 2048), (self.image(6 * MIB, "-b", "4096"), 20480)]
        disks = []
        for table in (mbr, gpt):
            disk = bytearray(20 * MIB)
            for image, first in parts:
                disk[first * 512 : first * 512 + image.stat().st_size] = image.read_bytes()
            table(disk, [(first, image.stat().st_size // 512) for image, first in parts])
            file = self.image(MIB)
            file.write_bytes(disk)
            disks.append(file)
        machine = self.boot(disks=(*disks, self.image(MIB)))
        listed = re.findall(r"254 +(\d+) +(\d+) (\w+)", self.check(machine, "cat /proc/partitions"))
        sizes = {"": 20480, "1": 4096, "2": 6144}
        wanted = [(str(n * 16 + p), str(size), f"vd{disk}{end}")
                  for n, disk in enumerate("ab") for p, (end, size) in enumerate(sizes.items())]  # fmt: skip
        self.assertEqual(listed, [*wanted, ("32", "1024", "vdc")])
        self.assertEqual(self.check(machine, "cd /sys/block; cat vdb/vdb2/start vda/size vda/vda1/dev; ls -d *; cd /").split(),
                         ["20480", "40960", "254:1", "vda", "vdb", "vdc"])  # fmt: skip
        self.assertIn("partition", self.check(machine, "cat /sys/dev/block/254:18/uevent"))
        for disk in "ab":
            self.check(machine, f"mkdir /1 /2; mount -t ext2 /dev/vd{disk}1 /1; mount -t ext2 /dev/vd{disk}2 /2; df /1 | grep vd{disk}1")
            self.assertNotEqual(machine.run(f"mount -t ext2 /dev/vd{disk} /mnt").status, 0)
            self.assertIn("checks ok", self.check(machine, "DIRECTORY=/2 /tests/ext2test"))
            self.check(machine, f"cp /bin/busybox /1/{disk}; cmp /bin/busybox /1/{disk}; umount /1; umount /2; rmdir /1 /2")
        self.check(machine, "sync")
        for disk, file in zip("ab", disks, strict=True):
            data = file.read_bytes()
            for number, (image, first) in enumerate(parts):
                image.write_bytes(data[first * 512 : first * 512 + image.stat().st_size])
                host("e2fsck", "-fn", image)
                if number == 0:
                    self.assertIn(disk, host("debugfs", "-R", "ls", image))

    def test_e2fsck_mends_what_a_crash_leaves(self) -> None:
        image = self.image(12 * MIB)
        machine = self.boot(cores=4, disks=(image,))
        self.check(machine, "mkdir /a; mount -t ext2 /dev/vda /a; mkdir /a/kept; echo kept > /a/kept/file; sync")
        machine.send("export DIRECTORY=/a; (while /tests/ext2test; do :; done) > /dev/null & while sleep 1; do sync; echo sy''nced; done\n")
        for _ in range(3):
            machine.expect("synced")
        machine.kill()  # as if the power went
        mended = subprocess.run(["e2fsck", "-fy", image], env=TOOLS, capture_output=True, text=True, check=False)
        self.assertIn(mended.returncode, (0, 1, 2, 3), mended.stdout)
        self.assertNotIn("was not cleanly unmounted", host("e2fsck", "-fn", image))
        self.assertEqual(self.copied(image, "kept/file"), b"kept\n")
        machine = self.boot(disks=(image,))
        self.check(machine, "mkdir /a; mount -t ext2 /dev/vda /a; cat /a/kept/file; ls -R /a | wc; rm -r /a/ext2test*; umount /a")
        host("e2fsck", "-fn", image)

    def test_others_go_on_while_the_machine_is_switched_off(self) -> None:
        for boot in range(3):
            image = self.image(12 * MIB)
            machine = self.boot(cores=4, disks=(image,))
            self.check(machine, "mkdir /a; mount -t ext2 /dev/vda /a")
            machine.send("LAST=/a/last /tests/losttest\n")
            machine.ended()
            with self.subTest(boot=boot):
                self.assertNotIn("not everything could be written", machine.text)
                host("e2fsck", "-fn", image)
                self.assertEqual(self.copied(image, "last"), b"m" * MIB)

    def test_who_was_making_files_shorter_when_the_machine_was_switched_off(self) -> None:
        """It has to read many blocks for that, and waits for one of them at that moment."""
        files = ("first", "second", "third")
        with tempfile.NamedTemporaryFile() as source:
            Path(source.name).write_bytes(random.Random(7).randbytes(12 * MIB))
            for seed in range(1, 4):
                image = self.image(48 * MIB, "-b", "1024")
                for name in files:
                    host("debugfs", "-w", "-R", f"write {source.name} {name}", image)
                cuts = " ".join(f"truncate -s 5000 {name} &" for name in files)
                use = f"mkdir -p /mnt && mount -t ext2 /dev/vda /mnt && cd /mnt; {cuts} usleep {1500 * seed}; poweroff -f; sleep 9"
                with self.subTest(seed=seed):
                    self.run_seeded(seed, image, use)
                    host("e2fsck", "-fn", image)

    def test_what_was_written_is_there_when_it_becomes_read_only(self) -> None:
        image = self.image(12 * MIB)
        machine = self.boot(disks=(image,))
        self.check(machine, "mkdir /a; mount -t ext2 /dev/vda /a; head -c 3000000 /dev/zero > /a/file; mount -o remount,ro /dev/vda /a")
        machine.kill()
        self.assertEqual(self.copied(image, "file"), bytes(3_000_000))

    def test_damaged_disks_harm_nobody(self) -> None:
        images = list(self.damaged(9, 12))
        machine = self.boot(disks=tuple(images))
        for number in range(len(images)):
            machine.run(f"mount -t ext2 /dev/vd{chr(97 + number)} /mnt && {{ {USE}; umount /mnt; }} > /dev/null 2>&1")
        self.assertIn("alive", self.check(machine, "echo alive"))

    def damaged(self, seed: int, count: int) -> Iterator[Path]:
        """File systems with files, in which some bytes have other values."""
        seeds = random.Random(seed)
        kinds = (("-b", "1024"), ("-b", "4096"), ("-b", "1024", "-t", "ext4"))
        good = []
        with tempfile.TemporaryDirectory() as tree:
            for name in ("one", "two", "three", "d/four", "d/e/five"):
                (Path(tree) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(tree) / name).write_bytes(seeds.randbytes(100_000))
            (Path(tree) / "link").symlink_to("x" * 100)
            for kind in kinds:
                good.append(self.image(2 * MIB, *kind, "-O", "^has_journal", "-d", tree).read_bytes())
        for number in range(count):
            data = bytearray(good[number % len(kinds)])
            # Files' data is random, the file system's own blocks are mostly zeros.
            own = [at for at in range(1024, len(data), 1024) if data.count(0, at, at + 1024) > 100]
            for _ in range(seeds.choice((3, 30, 300))):
                data[seeds.choice(own) + seeds.randrange(1024)] = seeds.randrange(256)
            image = self.image(2 * MIB)
            image.write_bytes(data)
            yield image


if __name__ == "__main__":
    unittest.main()
