"""Files of tests: in which order they begin, and what becomes of one that cannot be loaded."""

import tempfile
import unittest
from pathlib import Path

from lab.testing import python_tests
from lab.testing.selection import Selection
from lab.testing.tally import Tally

SHORT = "import unittest\nclass A(unittest.TestCase):\n    def test_it(self): pass\n"
LONG = SHORT.replace("class", "LONG = True\nclass")


class Heard(Tally):
    """Remembers which tests passed and which did not, and says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.good: list[str] = []
        self.bad: list[str] = []

    def ok(self, suite: str, name: str) -> None:
        self.good.append(name)

    def fail(self, suite: str, name: str, reason: str) -> None:
        self.bad.append(name)


class Files(unittest.TestCase):
    def run_these(self, **texts: str) -> Heard:
        with tempfile.TemporaryDirectory(prefix="corral-files-") as held:
            for name, text in texts.items():
                (Path(held) / f"test_order_{name}.py").write_text(text, encoding="ascii")
            heard = Heard()
            python_tests.run("lab", Path(held), Selection(), heard)
        return heard

    def test_long_ones_begin_first(self) -> None:
        heard = self.run_these(a=SHORT, b=SHORT, c=LONG, d=LONG)
        self.assertEqual(heard.good, [f"test_order_{name}.A.test_it" for name in "cdab"])

    def test_one_that_cannot_be_loaded_is_a_failure(self) -> None:
        heard = self.run_these(a="import nothing_of_this_name\n", b=SHORT)
        self.assertEqual((heard.good, heard.bad), (["test_order_b.A.test_it"], ["test_order_a"]))
