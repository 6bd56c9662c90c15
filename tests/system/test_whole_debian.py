"""Programs that bring hundreds of megabytes, from a whole Debian in a folder of the host that is the guest's root."""

import re
import unittest

from lab import command_line, guest, paths, whole_debian
from lab.machine import Boot, Folder, Machine
from lab.testing.selection import exhaustive
from lab.testing.shared_guest import SharedGuest
from lab.trial import Trial

PATIENCE_SECONDS = 1200.0  # a compiler in a guest on a busy host


@exhaustive
class Programs(SharedGuest, unittest.TestCase):
    @classmethod
    def boot(cls) -> guest.Guest:
        machine = Machine(cls.CORES, memory_mib=whole_debian.MEMORY_MIB, folders=(Folder("corral-root", whole_debian.tree()),))
        line = command_line.compose(["quiet root=9p:corral-root"], ["/bin/bash", "--norc"])
        return guest.Guest(machine, Boot(paths.KERNEL_ELF, paths.INITRAMFS, line), patience=PATIENCE_SECONDS)

    def attempt(self, trial: Trial) -> None:
        answer = self.machine.run(whole_debian.script(trial))
        self.assertRegex(answer.output, re.compile(f"\\A{trial.shows}\\Z"), trial.command)


def _declare(trial: Trial) -> None:
    def test(self: Programs) -> None:
        self.attempt(trial)

    setattr(Programs, "test_" + re.sub(r"\W+", "_", trial.name).strip("_"), test)


for _trial in whole_debian.TRIALS:
    _declare(_trial)


if __name__ == "__main__":
    unittest.main()
