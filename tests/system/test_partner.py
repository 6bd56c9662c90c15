"""The comparison is fair only if both systems run the same file and agree on its answer."""

import contextlib
import io
import unittest
from unittest import mock

from lab import guest, linux
from lab.bench import hangs, mandelbrot, systems
from lab.problem import Problem
from lab.testing.selection import slow

WORKLOAD = mandelbrot.Workload("80x25", 2000, "double")


def results(system: str, instrument: str, cores: int) -> list[mandelbrot.Sample]:
    job = systems.Job(mandelbrot.script([1, 4], 1, WORKLOAD), {"mandelbrot": systems.program("mandelbrot")})
    return mandelbrot.parse(systems.run(system, instrument, cores, job))


class SameAnswer(unittest.TestCase):
    def test_in_qemu(self) -> None:
        samples = results("corral", "qemu", 2) + results("linux", "qemu", 2)
        self.assertEqual([sample.threads for sample in samples], [1, 4, 1, 4])
        self.assertEqual(len({sample.checksum for sample in samples}), 1)

    @slow
    def test_in_bochs(self) -> None:
        samples = results("corral", "bochs", 2)
        self.assertEqual([sample.threads for sample in samples], [1, 4])
        self.assertEqual({sample.checksum for sample in samples},
                         {sample.checksum for sample in results("corral", "qemu", 1)})

    @slow
    def test_bochs_repeats_bit_for_bit(self) -> None:
        self.assertEqual(results("corral", "bochs", 4), results("corral", "bochs", 4))


class Hangs(unittest.TestCase):
    def test_who_has_not_begun_in_time_is_booted_again_if_it_is_linux(self) -> None:
        said = self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.enterContext(mock.patch.object(systems, "LINUX_BEGINS_SECONDS", 0.1))
        with self.assertRaisesRegex(Problem, linux.BEGIN):
            results("linux", "qemu", 2)
        self.assertEqual(said.getvalue().count("booted again"), hangs.BOOTS - 1)
        with self.assertRaisesRegex(Problem, "did not end"):
            systems.run("corral", "qemu", 2, systems.Job("sleep 1000", {}), patience=5)
        self.assertEqual(said.getvalue().count("booted again"), hangs.BOOTS - 1)


class Memory(unittest.TestCase):
    LIMIT_KIB = 24 * 1024

    def test_at_most_24_mib_are_in_use_at_the_prompt(self) -> None:
        with guest.corral(4) as machine:
            machine.prompt()
            free = int(machine.run("grep MemFree /proc/meminfo").output.split()[1])
            total = int(machine.run("grep MemTotal /proc/meminfo").output.split()[1])
        self.assertLessEqual(total - free, self.LIMIT_KIB)
