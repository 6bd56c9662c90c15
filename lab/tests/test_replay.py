"""Dumps of runs that failed: written, read, refused, compared."""

import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from lab import paths
from lab.machine import Folder, Machine
from lab.problem import Problem
from lab.replay import Dump, compared, dump, keep, load, told
from lab.runner import Request

CONSOLE = ("booting\ncorral: account begins\nfailures 1 seed 7\nfailure at 5 core 1 algorithm test.null call pick: withheld who may run\n"
           "corral: account ends\ncorral: exit status 3\n")
VIOLATED = ("corral: account begins\nfailures 0 seed 7\nviolations 2\n  time: 2\nviolation at 5 core 1 thread 9 during tick decision 66: time\n"
            "corral: account ends\ncorral: exit status 0\n")


class Dumps(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "some" / "dump.json"
        kernel = Path(folder.name) / "kernel"
        kernel.write_bytes(b"a kernel")
        patch = mock.patch.object(paths, "KERNEL_ELF", kernel)
        patch.start()
        self.addCleanup(patch.stop)

    def made(self, console: str = CONSOLE) -> Dump:
        machine = Machine(cores=2, memory_mib=256, seed=7, folders=(Folder("work", Path("/w")),), disks=(Path("/d"),))
        return dump(Request(machine, "qemu", "timer.hz=100", ("echo", "a b"), 9.0, by_image=True), console)

    def test_what_was_said_is_found(self) -> None:
        made = self.made()
        self.assertEqual((made.status, made.message, len(made.account)), (3, "", 2))
        self.assertTrue(made.failed)
        self.assertFalse(self.made("corral: exit status 3\n").failed)
        self.assertIn("no stack", self.made("corral: panic: no stack\n").message)

    def test_what_is_kept_is_read_again(self) -> None:
        made = self.made()
        keep(made, self.file)
        self.assertEqual(load(self.file), made)
        request = load(self.file).request(5.0, print)
        self.assertEqual(dump(request, CONSOLE), made)

    def test_what_is_no_dump_is_refused(self) -> None:
        keep(self.made(), self.file)
        good = json.loads(self.file.read_text(encoding="utf-8"))
        wrong = ["", "{", "[]", "17", json.dumps({**good, "version": 99}), json.dumps({**good, "more": 1}),
                 json.dumps({name: value for name, value in good.items() if name != "cores"}), json.dumps({**good, "seed": None}),
                 json.dumps({**good, "folders": [["one"]]}), json.dumps({**good, "program": 5})]
        for text in wrong:
            with self.subTest(text=text[:40]):
                self.file.write_text(text, encoding="utf-8")
                self.assertRaises(Problem, load, self.file)
        self.assertRaises(Problem, load, self.file.with_name("absent"))
        self.file.write_bytes(b"\xff\xfe")
        self.assertRaises(Problem, load, self.file)

    def test_differences_are_told(self) -> None:
        made = self.made()
        self.assertEqual(compared(made, made), [])
        self.assertEqual(compared(made, replace(made, kernel="another")), [])
        other = compared(made, replace(made, status=0, account=(made.account[0], "failure at 6"), kernel="another"))
        self.assertIn("status 0 instead of status 3", other[0])
        self.assertIn("+failure at 6", other)
        self.assertIn("another kernel", other[-1])

    def test_a_violation_that_does_not_recur_is_a_difference(self) -> None:
        made = self.made(VIOLATED)
        self.assertTrue(made.failed)
        self.assertEqual(compared(made, self.made(VIOLATED)), [])
        fine = self.made("corral: exit status 0\n")
        self.assertFalse(fine.failed)
        self.assertIn("-violation at 5 core 1 thread 9 during tick decision 66: time", compared(made, fine))
        self.assertIn("-  time: 2", compared(made, self.made(VIOLATED.replace("time: 2", "time: 3"))))

    def test_the_user_is_told_the_command(self) -> None:
        self.assertIn("failures 1 of policies", told(self.made(), self.file))
        self.assertIn("corral: violations 2 of invariants; kept", told(self.made(VIOLATED), self.file))
        self.assertIn(f"./corral run --replay {self.file}", told(self.made(), self.file))
        self.assertNotIn("--replay", told(replace(self.made(), seed=None), self.file))


if __name__ == "__main__":
    unittest.main()
