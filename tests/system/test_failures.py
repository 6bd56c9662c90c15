"""Each allocation of each call fails once: an error or an ended process, and nothing is kept (user/probes/failures.cpp)."""

import os
import re
import subprocess
import tempfile
import unittest

from lab import guest, paths
from lab.machine import Boot, Machine

MIB = 1 << 20
TOOLS = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"}
FEWEST_ALLOCATIONS = 1000  # of all operations together: what is tried must not become less unseen


class Failures(unittest.TestCase):
    def test_each_allocation_fails_once(self) -> None:
        with tempfile.NamedTemporaryFile(prefix="corral-failures-") as disk:
            os.truncate(disk.name, 12 * MIB)
            subprocess.run(["mkfs.ext2", "-q", "-F", disk.name], env=TOOLS, check=True)
            # With one core they come in the same order each time, and pages are counted exactly.
            machine = guest.Guest(Machine(cores=1, disks=(disk.name,)),  # type: ignore[arg-type]
                                  Boot(paths.KERNEL_ELF, paths.INITRAMFS, "quiet provoke panic=off"))  # fmt: skip
            self.addCleanup(machine.__exit__, None, None, None)
            machine.prompt()
            answer = machine.run("mkdir -p /mnt; DISK=/dev/vda /probes/failures 2>&1")
            self.assertEqual(answer.status, 0, answer.output[-3000:])
            self.assertIn("checks ok", answer.output)
            tried = sum(int(count) for count in re.findall(r"(\d+) allocations", answer.output))
            self.assertGreater(tried, FEWEST_ALLOCATIONS)
            machine.send("poweroff -f\n")
            machine.ended()
            check = subprocess.run(["e2fsck", "-fn", disk.name], env=TOOLS, capture_output=True, text=True, check=False)
            self.assertEqual(check.returncode, 0, check.stdout)


if __name__ == "__main__":
    unittest.main()
