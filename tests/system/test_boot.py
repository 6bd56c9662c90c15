"""Boots, on every number of cores, by both ways in, and with what is missing or broken."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

from lab import cpio, guest, iso, paths
from lab.command_line import compose
from lab.problem import GUEST_BROKE
from lab.testing.selection import slow


def cores_reported(machine: guest.Guest) -> tuple[int, int]:
    """As /proc/cpuinfo and as sched_getaffinity (nproc) tell it."""
    listed = int(machine.run("grep -c ^processor /proc/cpuinfo").output)
    return listed, int(machine.run("nproc").output)


class Cores(unittest.TestCase):
    def boots_with(self, cores: int) -> None:
        with guest.corral(cores) as machine:
            machine.prompt()
            self.assertEqual(cores_reported(machine), (cores, cores))
            machine.send("exit\n")
            self.assertEqual(machine.ended().status, 0)

    def test_1(self) -> None:
        self.boots_with(1)

    def test_2(self) -> None:
        self.boots_with(2)

    def test_3(self) -> None:
        self.boots_with(3)

    def test_4(self) -> None:
        self.boots_with(4)

    def test_8(self) -> None:
        self.boots_with(8)

    @slow
    def test_16(self) -> None:
        self.boots_with(16)

    @slow
    def test_64(self) -> None:
        self.boots_with(64)

    @slow
    def test_255(self) -> None:
        self.boots_with(255)

    def test_64_mib_are_enough(self) -> None:
        with guest.corral(4, memory_mib=64) as machine:
            machine.prompt()
            self.assertEqual(machine.run("echo fine").output, "fine\n")


class Image(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="corral-test-"))
        self.addCleanup(shutil.rmtree, self.work)

    def make(self, name: str, line: str = "", initramfs: Path | None = paths.INITRAMFS) -> Path:
        return iso.make(iso.Entry("multiboot2", paths.KERNEL_ELF, initramfs, line), self.work / name)

    def test_boots_from_disc_by_the_bios(self) -> None:
        with guest.corral(4, image=self.make("a.iso")) as machine:
            machine.prompt()
            self.assertEqual(cores_reported(machine), (4, 4))

    def test_arguments_survive_the_boot_loader(self) -> None:
        arguments = ["sh", "-c", 'echo "a  b" \'c\' "\\\\"; exit 9']
        with guest.corral(1, image=self.make("b.iso", compose(["quiet"], arguments))) as machine:
            self.assertEqual(machine.ended().status, 9, machine.said())
            self.assertIn("a  b c \\", machine.text)

    def test_is_reproducible(self) -> None:
        self.assertEqual(self.make("c.iso").read_bytes(), self.make("d.iso").read_bytes())


class Trouble(unittest.TestCase):
    """A message that says what is wrong, and a halt or a status: never a triple fault."""

    def says(self, pattern: str, **settings: object) -> None:
        with guest.corral(2, **settings) as machine:  # type: ignore[arg-type]
            machine.expect(re.compile(pattern, re.IGNORECASE))

    def with_archive(self, data: bytes) -> Path:
        file = Path(tempfile.mkdtemp(prefix="corral-test-")) / "initramfs.cpio"
        self.addCleanup(shutil.rmtree, file.parent)
        file.write_bytes(data)
        return file

    def test_no_initramfs(self) -> None:
        self.says(r"(no|missing) initramfs|initramfs.*(missing|not given|no )", initramfs=None)

    def test_corrupt_initramfs(self) -> None:
        self.says(r"initramfs.*(corrupt|damaged|bad|invalid|not )", initramfs=self.with_archive(b"\x55" * 4096))

    def test_truncated_initramfs(self) -> None:
        data = paths.INITRAMFS.read_bytes()
        self.says(r"initramfs.*(corrupt|damaged|bad|invalid|cut|truncated|short)",
                  initramfs=self.with_archive(data[: len(data) // 2 + 1]))

    def test_no_init(self) -> None:
        archive = cpio.archive([cpio.directory("etc"), cpio.file("etc/hostname", b"x\n")])
        self.says(r"/init", initramfs=self.with_archive(archive))

    def test_init_that_is_no_program(self) -> None:
        archive = cpio.archive([cpio.file("init", b"\x7fELF nonsense", executable=True)])
        self.says(r"/init", initramfs=self.with_archive(archive))

    def test_init_elsewhere_that_is_missing(self) -> None:
        self.says(r"/no/such/init", options="init=/no/such/init")

    def test_unknown_option_is_named_and_the_shell_comes(self) -> None:
        with guest.corral(1, options="no.such.option=1") as machine:
            machine.expect(r"no\.such\.option")
            machine.prompt()

    def test_malformed_value_is_named_and_the_shell_comes(self) -> None:
        with guest.corral(1, options="timer.hz=often") as machine:
            machine.expect(r"timer\.hz")
            machine.prompt()

    def test_an_end_without_a_status_is_no_success(self) -> None:
        with guest.corral(1) as machine:
            machine.prompt()
            machine.qmp.command("system_reset")
            self.assertEqual(machine.ended().status, GUEST_BROKE)
