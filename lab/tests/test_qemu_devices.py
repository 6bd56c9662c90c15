"""Folders and disks of the host on QEMU's command line, and what is said when they cannot be had."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path
from unittest import mock

from lab import main, qemu
from lab.machine import Boot, Folder, Machine
from lab.problem import Problem


class Folders(unittest.TestCase):
    def test_devices_and_sources_belong_together(self) -> None:
        machine = Machine(folders=(Folder("one", Path("/a,b")), Folder("two", Path("/c"))), disks=(Path("/d.img"),))
        line = " ".join(qemu.command(machine, Boot(), qemu.Wiring()))
        self.assertIn("local,id=folder0,path=/a,,b,", line)
        self.assertIn("virtio-9p-pci,fsdev=folder0,mount_tag=one", line)
        self.assertIn("virtio-9p-pci,fsdev=folder1,mount_tag=two", line)
        self.assertIn("file=/d.img,if=none,id=disk0,format=raw", line)

    def test_a_qemu_without_9p_is_named(self) -> None:
        answer = subprocess.CompletedProcess([], 0, stdout='name "virtio-blk-pci", bus PCI\n')
        with mock.patch.object(subprocess, "run", return_value=answer):
            self.assertRaisesRegex(Problem, "virtio-9p", qemu.check_folders)

    def test_wrong_folders_are_said_before_anything_is_built(self) -> None:
        for words in (["--share", "work"], ["--share", "work=/no/such"], ["--root", "/no/such"], ["--disk", "/no/such"]):
            with self.subTest(words=words), self.assertRaises(Problem):
                main.dispatch(["run", *words])


if __name__ == "__main__":
    unittest.main()
