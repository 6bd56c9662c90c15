"""Folders of the host in the guest, over 9P: both sides see what the other does, and what was written is there afterwards."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import tempfile
import time
import unittest
from pathlib import Path

from lab import command_line, guest, paths
from lab.machine import Boot, Folder, Machine

BUSYBOX = Path("/usr/bin/busybox")


def digest(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class Folders(unittest.TestCase):
    """One guest with one folder, mounted at /mnt."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory(prefix="corral-folder-")
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def boot(self, cores: int = 4, memory_mib: int = 512) -> guest.Guest:
        machine = Machine(cores=cores, memory_mib=memory_mib, folders=(Folder("work", self.folder),))
        booted = guest.Guest(machine, Boot(paths.KERNEL_ELF, paths.INITRAMFS, "quiet"))
        self.addCleanup(booted.__exit__, None, None, None)
        booted.prompt()
        self.check(booted, "mkdir -p /mnt; mount -t 9p work /mnt")
        return booted

    def check(self, machine: guest.Guest, command: str) -> str:
        answer = machine.run(command)
        self.assertEqual(answer.status, 0, f"{command}\n{answer.output}")
        return answer.output

    def test_contents_come_and_go(self) -> None:
        data = random.Random(1).randbytes(3_000_001)
        (self.folder / "big").write_bytes(data)
        machine = self.boot()
        self.assertIn(digest(data), self.check(machine, "md5sum /mnt/big"))
        self.check(machine, "cp /mnt/big /mnt/copy; echo more >> /mnt/copy; sync")
        self.assertEqual(digest((self.folder / "copy").read_bytes()), digest(data + b"more\n"))

    def test_what_is_kept_for_the_privileged_is_not_available(self) -> None:
        machine = self.boot()
        size, free, available = map(int, self.check(machine, "stat -f -c '%S %f %a' /mnt").split())
        host = os.statvfs(self.folder)
        kept = (host.f_bfree - host.f_bavail) * host.f_frsize
        self.assertAlmostEqual((free - available) * size, kept, delta=64 << 20)  # the host writes meanwhile

    def test_names_are_the_hosts(self) -> None:
        (self.folder / "there").write_text("hello\n", encoding="ascii")
        os.symlink("there", self.folder / "link")
        machine = self.boot()
        self.assertEqual(self.check(machine, "cat /mnt/link"), "hello\n")
        self.check(machine, "mkdir /mnt/d; mv /mnt/there /mnt/d/moved; ln -s d/moved /mnt/new; ln /mnt/d/moved /mnt/hard")
        self.check(machine, "echo 1 > /mnt/gone; rm /mnt/gone; chmod 711 /mnt/d; touch -d @1000000000 /mnt/hard")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["d", "hard", "link", "new"])
        self.assertEqual(os.readlink(self.folder / "new"), "d/moved")
        self.assertEqual((self.folder / "d").stat().st_mode & 0o777, 0o711)
        self.assertEqual((self.folder / "hard").stat().st_mtime, 1_000_000_000)
        self.assertEqual(machine.run("mkdir /mnt/d").status, 1)
        self.assertEqual(machine.run("rmdir /mnt/d").status, 1)
        for i in range(300):
            (self.folder / "d" / f"name{i}").touch()
        listed = self.check(machine, "ls /mnt/d").split()
        self.assertEqual(len(listed), 301)

    def test_changes_of_the_host_are_seen(self) -> None:
        file = self.folder / "file"
        file.write_text("first\n", encoding="ascii")
        machine = self.boot()
        self.assertEqual(self.check(machine, "cat /mnt/file"), "first\n")
        file.write_text("second time\n", encoding="ascii")
        (self.folder / "new").write_text("new\n", encoding="ascii")
        time.sleep(2.5)
        self.assertEqual(self.check(machine, "cat /mnt/file /mnt/new"), "second time\nnew\n")
        file.unlink()
        time.sleep(2.5)
        self.assertEqual(machine.run("cat /mnt/file").status, 1)

    def test_nothing_is_lost_when_the_machine_is_switched_off(self) -> None:
        machine = self.boot()
        machine.send("seq 1 200000 > /mnt/numbers; poweroff -f\n")
        machine.ended()
        lines = (self.folder / "numbers").read_text(encoding="ascii").split()
        self.assertEqual((len(lines), lines[-1]), (200_000, "200000"))

    def test_a_file_that_is_still_being_written_is_waited_for_when_the_machine_is_switched_off(self) -> None:
        size = 4 << 20
        for boot in range(3):
            machine = self.boot()
            self.check(machine, "sync; rm -f /mnt/*")
            machine.send(f"echo first > /mnt/small; head -c {size} /dev/zero > /mnt/large; poweroff -n -f\n")
            machine.ended()
            with self.subTest(boot=boot):
                self.assertEqual({file.name: file.stat().st_size for file in self.folder.iterdir()}, {"small": 6, "large": size})

    def test_others_write_and_cut_and_rename_while_the_machine_is_switched_off(self) -> None:
        machine = self.boot()
        machine.send("LAST=/mnt/last /tests/losttest\n")
        machine.ended()
        self.assertNotIn("not everything could be written", machine.text)
        self.assertEqual((self.folder / "last").read_bytes(), b"m" * (1 << 20))

    def test_what_was_written_is_there_when_the_folder_is_unmounted(self) -> None:
        machine = self.boot()
        self.check(machine, "head -c 8000000 /dev/zero > /mnt/large; umount /mnt")
        self.assertEqual((self.folder / "large").stat().st_size, 8_000_000)

    def test_what_the_host_refuses_is_told_to_each_who_has_the_file_open(self) -> None:
        with (self.folder / "host").open("wb") as file:
            try:
                os.pwrite(file.fileno(), b"x", 1 << 45)
                self.skipTest("files of any size can be kept here")
            except OSError as error:
                self.assertEqual(error.errno, errno.EFBIG)
        machine = self.boot()
        self.assertIn("checks ok", self.check(machine, "REFUSED=/mnt/refused /tests/losttest"))
        self.assertIn("checks ok", self.check(machine, "DIRECTORY=/mnt /tests/losttest"))

    def test_file_programs(self) -> None:
        for cores in (1, 4):
            machine = self.boot(cores)
            for program in ("filetest", "cachedfiles"):
                with self.subTest(program=program, cores=cores):
                    self.assertIn("checks ok", self.check(machine, f"TEST_WITHOUT_FIFO=1 TEST_DIRECTORY=/mnt /tests/{program}"))

    def test_programs_in_a_directory(self) -> None:
        machine = self.boot(4)
        for program in ("shrinktest", "writerstest"):
            with self.subTest(program=program):
                self.assertIn("checks ok", self.check(machine, f"DIRECTORY=/mnt /tests/{program}"))

    def test_what_is_to_be_kept_at_once_is_there(self) -> None:
        self.assertIn("checks ok", self.check(self.boot(), "KEPT=/mnt/kept /tests/writerstest"))
        self.assertEqual((self.folder / "kept").read_bytes(), b"x" * 69930)

    def test_more_data_than_memory(self) -> None:
        data = random.Random(2).randbytes(1 << 20)
        with (self.folder / "large").open("wb") as file:
            for _ in range(150):
                file.write(data)
        machine = self.boot(2, memory_mib=96)
        expected = digest(data * 150)
        self.assertIn(expected, self.check(machine, "md5sum /mnt/large"))
        self.check(machine, "cp /mnt/large /mnt/again; sync")
        self.assertEqual(digest((self.folder / "again").read_bytes()), expected)

    def test_mounted_twice_both_go_on(self) -> None:
        data = random.Random(4).randbytes(1_000_001)
        (self.folder / "big").write_bytes(data)
        machine = self.boot()
        # A file that is open, and read in part only, when the folder is mounted once more.
        self.check(machine, "exec 5< /mnt/big; head -c 10000 <&5 > /begin; mkdir -p /mnt2; mount -t 9p work /mnt2")
        self.check(machine, "cat <&5 > /rest; exec 5<&-")
        self.assertIn(digest(data), self.check(machine, "cat /begin /rest | md5sum"))
        self.assertIn(digest(data), self.check(machine, "md5sum /mnt2/big"))
        self.check(machine, "cp /mnt/big /mnt/copy; umount /mnt2; echo more >> /mnt/copy; sync")
        self.assertEqual(digest((self.folder / "copy").read_bytes()), digest(data + b"more\n"))

    @unittest.skipUnless(BUSYBOX.exists(), "no busybox on this machine")
    def test_a_program_leaves_a_core_file(self) -> None:
        """Its pages that it has not needed are fetched for that, and what is written goes to the host."""
        shutil.copy(BUSYBOX, self.folder / "busybox")
        machine = self.boot()
        self.check(machine, "cd /mnt; ulimit -c unlimited")
        self.assertEqual(machine.run("./busybox sh -c 'kill -SEGV $$'").status, 128 + 11)
        self.check(machine, "sync")
        core = self.folder / "core"
        self.assertEqual(core.read_bytes()[:4], b"\x7fELF")
        self.assertEqual(core.stat().st_mode & 0o777, 0o600)

    def test_a_wrong_tag_is_refused(self) -> None:
        machine = self.boot()
        self.assertNotEqual(machine.run("mkdir /x; mount -t 9p nothing /x").status, 0)


class Root(unittest.TestCase):
    """A folder of the host as the root."""

    @unittest.skipUnless(BUSYBOX.exists(), "no busybox on this machine")
    def test_a_folder_is_the_root(self) -> None:
        with tempfile.TemporaryDirectory(prefix="corral-root-") as name:
            root = Path(name)
            (root / "bin").mkdir()
            shutil.copy(BUSYBOX, root / "bin/busybox")
            os.symlink("busybox", root / "bin/sh")
            for name in ("ls", "mkfifo"):
                os.symlink("busybox", root / "bin" / name)
            machine = Machine(folders=(Folder("corral-root", root),))
            (root / "run").mkdir()
            (root / "run/left").touch()
            script = "ls /; echo $PATH > /out; ls /proc/self/exe /dev/null; ls /run; cd /run; >there; mkfifo /run/pipe && ls -dl /run /tmp; exit 7"
            line = command_line.compose(["quiet root=9p:corral-root"], ["sh", "-c", script])
            booted = guest.Guest(machine, Boot(paths.KERNEL_ELF, paths.INITRAMFS, line))
            self.addCleanup(booted.__exit__, None, None, None)
            verdict = booted.ended()
            self.assertRegex(booted.text, r"bin\s+dev\s+proc\s+run\s+sys\s+tmp", booted.said())
            self.assertRegex(booted.text, r"drwxr-xr-x .* /run\s+drwxrwxrwt .* /tmp", booted.said())
            self.assertNotIn("left", booted.text)
            self.assertEqual([file.name for file in (root / "run").iterdir()], ["left"])
            self.assertIn("/dev/null", booted.text)
            self.assertEqual(verdict.status, 7, booted.said())
            self.assertIn("/usr/bin", (root / "out").read_text(encoding="ascii"))


if __name__ == "__main__":
    unittest.main()
