"""Go's tests of its standard library, in one guest with 4 cores: threads, timers, signals, files and processes as Go's
runtime uses them. Its scheduler interrupts itself by signals and parks its threads at futexes all the time.
"""

import re
import unittest

from lab import go_tests, guest, paths
from lab.machine import Boot, Folder, Machine
from lab.testing.shared_guest import SharedGuest

LONG = True
PATIENCE = 700.0
SETTINGS = " ".join(f"{name}={value}" for name, value in go_tests.ENVIRONMENT.items())


class Packages(SharedGuest, unittest.TestCase):
    @classmethod
    def boot(cls) -> guest.Guest:
        go_tests.build()
        places = go_tests.folders()
        for package in go_tests.PACKAGES:
            one_of = "|".join(go_tests.names(package))
            go_tests.binary(package).with_suffix(".run").write_text(f"^({one_of})$", encoding="ascii")
        shared = tuple(Folder(f"go{i}", folder) for i, folder in enumerate(places.values()))
        machine = Machine(cls.CORES, memory_mib=2048, folders=shared)
        return guest.Guest(machine, Boot(paths.KERNEL_ELF, paths.INITRAMFS, "quiet"), patience=PATIENCE)

    def setUp(self) -> None:
        super().setUp()
        assert self.machine is not None
        for i, place in enumerate(go_tests.folders()):
            answer = self.machine.run(f"[ -d {place} ] || {{ mkdir -p {place} && mount -t 9p go{i} {place}; }}")
            self.assertEqual(answer.status, 0, answer.output)

    def attempt(self, package: str) -> None:
        """One test after the other: they have threads enough, and one that cannot be interrupted while it copies gigabytes holds up others."""
        assert self.machine is not None
        program = "/tests-of-go/" + go_tests.binary(package).name
        answer = self.machine.run(f"cd {go_tests.ROOT}/src/{package} && {SETTINGS} {program} -test.short -test.parallel 1 -test.timeout 10m "
                                  f"-test.run \"$(cat {program.removesuffix('.test')}.run)\" > /tmp/said 2>&1; "
                                  "echo \"ended $?\"; grep -c . /tmp/said; head -c 6000 /tmp/said; cd /")  # fmt: skip
        self.assertRegex(answer.output, r"^ended 0\n", answer.output[-6000:])
        self.assertRegex(answer.output, r"(?m)^PASS$", answer.output[-6000:])


def _declare(package: str) -> None:
    def test(self: Packages) -> None:
        self.attempt(package)

    setattr(Packages, "test_" + re.sub(r"\W", "_", package), test)


for _package in go_tests.PACKAGES:
    _declare(_package)


if __name__ == "__main__":
    unittest.main()
