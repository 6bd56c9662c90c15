"""Where there is no package manager of Debian's, what is missing is still said before anything is built."""

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab import packages
from lab.problem import Problem


class ElsewhereThanOnDebian(unittest.TestCase):
    def setUp(self) -> None:
        self.programs = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.dict(os.environ, {"PATH": str(self.programs)}))
        self.said = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def there_is(self, name: str) -> None:
        file = self.programs / name
        file.write_text("#!/bin/sh\n", encoding="ascii")
        file.chmod(0o755)

    def test_a_missing_emulator_is_named(self) -> None:
        self.there_is("ninja")
        for use, name in (("qemu", "qemu-system-x86_64"), ("bochs", "bochs")):
            with self.subTest(use=use), self.assertRaisesRegex(Problem, f"^{name} cannot be found"):
                packages.ensure(["build", use], yes=True)

    def test_what_is_there_is_not_missed(self) -> None:
        for name in ("ninja", "bochs"):
            self.there_is(name)
        self.assertFalse(packages.ensure(["build", "bochs", "plot"], yes=True))
        self.assertIn("python3-matplotlib", self.said.getvalue())


if __name__ == "__main__":
    unittest.main()
