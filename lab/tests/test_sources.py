"""Rules that hold for all sources, and that no compiler checks."""

import re
import unittest
from collections.abc import Iterator
from pathlib import Path

from lab import paths

# A head with brackets to a depth of three, and a body without blocks in it; the end of `do { … } while` is none.
LOOP = re.compile(r"(?<!\} )\b(?:while|for) \(((?:[^(){}]|\((?:[^(){}]|\([^(){}]*\))*\))*)\) ?(\{\}|;|\{[^{}]*\}|[^{};]*;)")
LOOKS = re.compile(r"\.load\(Order::|\.exchange\(|try_take\(|\.try_lock\(")
# What makes a loop's rounds few, or each of them worth something to others.
PROGRESS = re.compile(r"pause\(|compare_exchange|halt\(")


def spinning(text: str) -> list[str]:
    """Loops that look at an atomic again and again, and neither pause nor exchange anything."""
    return [" ".join(match[0].split()) for match in LOOP.finditer(text)
            if LOOKS.search(match[1]) and not PROGRESS.search(match[0])]


def sources(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        for suffix in ("h", "cpp"):
            yield from sorted((paths.ROOT / room).glob(f"**/*.{suffix}"))


class Builds(unittest.TestCase):
    def test_nothing_is_built_for_the_building_machine_s_own_processor(self) -> None:
        files = [paths.ROOT / "kernel/CMakeLists.txt", paths.ROOT / "user/CMakeLists.txt",
                 paths.ROOT / "tests/host/CMakeLists.txt", *sorted((paths.ROOT / "lab").glob("*.py"))]
        for file in files:
            with self.subTest(file=str(file)):
                self.assertNotRegex(file.read_text(encoding="utf-8"), r"-m(arch|cpu|tune)=native")
        kernel = (paths.ROOT / "kernel/CMakeLists.txt").read_text(encoding="utf-8")
        for flag in ("-march=x86-64", "-mno-sse", "-mno-avx", "-msoft-float", "-mno-red-zone"):
            self.assertIn(flag, kernel)


class Loops(unittest.TestCase):
    def test_a_loop_that_spins_is_found(self) -> None:
        self.assertEqual(len(spinning("while (word.load(Order::relaxed) != 0) {}")), 1)
        self.assertEqual(len(spinning("while (held_.exchange(1, Order::acquire) != 0);")), 1)

    def test_a_loop_that_pauses_or_gets_on_is_none(self) -> None:
        self.assertEqual(spinning("while (word.load(Order::relaxed) != 0) pause();"), [])
        self.assertEqual(spinning("while (word.load(Order::relaxed) != 0) {\n  arch::pause();\n}"), [])
        self.assertEqual(spinning("for (u32 i = 0; i < 4; ++i) sum += words[i].load(Order::relaxed);"), [])

    def test_every_loop_that_spins_pauses(self) -> None:
        for file in sources("kernel", "lib"):
            with self.subTest(file=str(file)):
                self.assertEqual(spinning(file.read_text(encoding="utf-8")), [])
