"""What guests, ctest, ninja and Bochs say, read as it is meant."""

import unittest
from pathlib import Path

from lab import bochs, build, guest, iso, machine, packages, qemu, terminal, verdict
from lab.problem import GUEST_BROKE, Problem
from lab.testing import host_tests, kernel_tests
from lab.testing.selection import Selection


class Verdicts(unittest.TestCase):
    def test_status(self) -> None:
        self.assertEqual(verdict.of("x\ncorral: exit status 7\n").status, 7)

    def test_panic_wins(self) -> None:
        said = verdict.of("corral: panic page fault at 0\ncorral: exit status 0\n")
        self.assertEqual(said.status, GUEST_BROKE)
        self.assertIn("page fault at 0", said.message)

    def test_silence_is_no_success(self) -> None:
        self.assertEqual(verdict.of("").status, GUEST_BROKE)


class Reports(unittest.TestCase):
    def test_kernel_tests(self) -> None:
        lines = kernel_tests.parse("boot\ntest: heap.reuse ok\r\ntest: clock FAILED drift of 3 %\ntest: x maybe\n")
        self.assertEqual(lines, [kernel_tests.Line("heap.reuse", True, ""),
                                 kernel_tests.Line("clock", False, "drift of 3 %")])

    def test_junit(self) -> None:
        cases = host_tests.parse(
            '<testsuite><testcase name="a" status="run"/>'
            '<testcase name="b" status="fail"><failure message="x"/><system-out>why</system-out></testcase>'
            '<testcase name="c" status="notrun"><skipped message="s"/></testcase>'
            '<testcase name="d" status="disabled"/></testsuite>')
        self.assertEqual([case.outcome for case in cases], ["passed", "failed", "skipped", "skipped"])
        self.assertEqual(cases[1].reason, "why")

    def test_a_filter_becomes_ctest_s_pattern(self) -> None:
        self.assertEqual(host_tests.name_pattern(Selection("Ab.c")), r"[aA][bB]\.[cC]")
        for text in ("", "host", "HOST: x", "kernel: y"):
            self.assertEqual(host_tests.name_pattern(Selection(text)), "", text)

    def test_a_build_failure_shows_what_failed(self) -> None:
        lines = ["[1/2] ok", "FAILED: x.o", "error: y", "ninja: stopped"]
        self.assertEqual(build.failure(lines), lines[1:])
        self.assertEqual(build.failure(["CMake Error"]), ["CMake Error"])

    def test_prompts(self) -> None:
        message = "[   76.270292] core 1: sched: placement test.huge\r\n"
        for text in ("# ", "x\r\ncorral:/tmp# ", "\nuser$ ", f"# {message}", f"{message}# {message}{message}"):
            self.assertTrue(guest.PROMPT.search(text), text)
        for text in ("# ls", "#", "price: 5 $ and more", message, f"# ls {message}", f"# {message}ls"):
            self.assertFalse(guest.PROMPT.search(text), text)


class Machines(unittest.TestCase):
    def test_memory(self) -> None:
        self.assertEqual(machine.memory_mib("512M"), 512)
        self.assertEqual(machine.memory_mib("2g"), 2048)
        for wrong in ("", "x", "0", "1M", "-5", "12K"):
            with self.subTest(wrong=wrong), self.assertRaises(Problem):
                machine.memory_mib(wrong)

    def test_cores(self) -> None:
        machine.check_cores(255, "qemu")
        machine.check_cores(15, "bochs")
        for cores, emulator in ((0, "qemu"), (256, "qemu"), (16, "bochs")):
            with self.subTest(cores=cores), self.assertRaises(Problem):
                machine.check_cores(cores, emulator)

    def test_a_seed_makes_one_thread_and_counted_time(self) -> None:
        line = " ".join(qemu.command(machine.Machine(seed=7), machine.Boot(), qemu.Wiring()))
        for part in ("tcg,thread=single", "-icount shift=3,sleep=off", "clock=vm", "-seed 7"):
            self.assertIn(part, line)
        self.assertIn("tcg,thread=multi", " ".join(qemu.command(machine.Machine(), machine.Boot(), qemu.Wiring())))

    def test_virtualisation_is_only_what_the_processor_says(self) -> None:
        self.assertTrue(qemu.has_virtualisation("flags\t\t: fpu vmx sse\n"))
        self.assertTrue(qemu.has_virtualisation("flags : svm\n"))
        self.assertFalse(qemu.has_virtualisation("flags\t: fpu vmxx\nmodel name : svm\n"))

    def test_bochs_repeats(self) -> None:
        text = bochs.configuration(bochs.Session(Path("/x")), Path("/i.iso"), 4, 512)
        for part in ("count=4:1:1", "sync=none", "corei7_sandy_bridge_2600k", "mode=file", "port_e9_hack"):
            self.assertIn(part, text)

    def test_grub_configuration(self) -> None:
        entry = iso.Entry("multiboot2", Path("k"), Path("i"), 'quiet -- sh -c "a b"')
        text = iso.grub_cfg(entry, quiet=False)
        self.assertIn("multiboot2 /boot/kernel 'quiet' '--' 'sh' '-c' 'a b'", text)
        self.assertIn("module2 /boot/initramfs.cpio", text)
        self.assertIn("serial", text)
        self.assertNotIn("serial", iso.grub_cfg(entry, quiet=True))


class Keys(unittest.TestCase):
    def test_control_a_x_leaves(self) -> None:
        self.assertEqual(terminal.scan(b"ls\n", False), (b"ls\n", False, False))
        self.assertEqual(terminal.scan(b"a\x01xb", False), (b"a", False, True))
        self.assertEqual(terminal.scan(b"\x01", False), (b"", True, False))
        self.assertEqual(terminal.scan(b"x", True), (b"", False, True))
        self.assertEqual(terminal.scan(b"\x01\x01", False), (b"\x01", False, False))


class LineEnds(unittest.TestCase):
    def test_where_pieces_end_makes_no_difference(self) -> None:
        """Where they end is a matter of the host's haste: two runs with one seed would differ in their output."""
        said = b"one\r\n\r\ntwo\r\r\n50%\r100%\r"
        for size in range(1, len(said) + 1):
            line_ends = terminal.LineEnds()
            pieces = [said[begin : begin + size] for begin in range(0, len(said), size)]
            self.assertEqual(b"".join(map(line_ends.text, [*pieces, b""])), b"one\n\ntwo\r\n50%\r100%\r", size)


class Packages(unittest.TestCase):
    def test_every_use_has_packages_and_no_name_stands_twice(self) -> None:
        names = [package.name for package in packages.TABLE]
        self.assertEqual(len(names), len(set(names)))
        for use in packages.USES:
            self.assertTrue(packages.needed([use]))

    def test_an_unknown_use_is_a_mistake(self) -> None:
        with self.assertRaises(ValueError):
            packages.needed(["spaceship"])

    def test_a_package_that_nobody_has_is_missing(self) -> None:
        self.assertEqual(packages.installed(["no-such-package-anywhere"]), set())
        self.assertIn("dpkg", packages.installed(["dpkg", "no-such-package-anywhere"]))
