"""Bochs is started again when another has taken its display's port from it, and only then."""

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from lab import bochs, emulators
from lab.problem import Problem

LISTEN = "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); time.sleep(1000)"


class Starting(unittest.TestCase):
    """In place of Bochs stands a script, which counts how often it has been started."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="corral-bochs-")))
        self.count = self.folder / "count"
        search = f"{self.folder}:{os.environ['PATH']}"
        self.enterContext(mock.patch.dict(os.environ, {"PATH": search}))
        for firmware in ("BIOS", "VGA_BIOS"):
            self.enterContext(mock.patch.object(bochs, firmware, os.devnull))
        self.session = bochs.Session(self.folder / "session")

    def stands_in(self, script: str) -> None:
        program = self.folder / "bochs"
        program.write_text(f"#!/bin/sh\necho once >> {self.count}\n{script}\n", encoding="ascii")
        program.chmod(0o755)

    def starts(self) -> int:
        return len(self.count.read_text(encoding="ascii").splitlines())

    def test_who_has_lost_its_port_begins_again(self) -> None:
        self.stands_in(f"if [ $(wc -l < {self.count}) -lt 3 ]; then echo '{bochs.NO_DISPLAY} between 5900 and 5949'; exit 1; fi\n"
                       f'exec {sys.executable} -c "{LISTEN}"')
        begin = time.monotonic()
        child = bochs.start(self.session, self.folder / "image", 1, 64)
        self.addCleanup(emulators.stop, child)
        self.assertIsNone(child.poll())
        self.assertEqual(self.starts(), 3)
        self.assertLess(time.monotonic() - begin, 3 * bochs.DISPLAY_SECONDS, "its port was not seen")

    def test_who_finds_none_at_all_is_told(self) -> None:
        self.stands_in(f"echo '{bochs.NO_DISPLAY}'; exit 1")
        with mock.patch.object(bochs, "MOST_STARTS", 3), self.assertRaisesRegex(Problem, "none of the TCP ports 5900 to 5949"):
            bochs.start(self.session, self.folder / "image", 1, 64)
        self.assertEqual(self.starts(), 3)

    def test_who_ends_for_another_reason_is_not_started_again_and_the_reason_is_told(self) -> None:
        self.stands_in("echo 'no such disk'; exit 1")
        with self.assertRaisesRegex(Problem, "(?s)before the guest had said anything.*no such disk"):
            bochs.run(self.session, self.folder / "image", 1, 64, timeout=60)
        self.assertEqual(self.starts(), 1)


if __name__ == "__main__":
    unittest.main()
