"""Wrong arguments are answered as Linux answers them.

`user/probes/errnotest.cpp` tries values of all sorts for each argument of each call, one line for each case. It runs on
Corral and on Debian's kernel; where the answers differ, `errno_differences.txt` must say why.
"""

import fnmatch
import unittest
from pathlib import Path

from lab import emulators, paths
from lab.bench import systems
from lab.testing.selection import slow

LONG = True
DIFFERENCES = Path(__file__).parent / "errno_differences.txt"
PROBE = paths.USER_BUILD / "probes" / "errnotest"


def answers(system: str) -> dict[tuple[str, int], str]:
    """What each case answered. Rows that look alike are told apart by their turn."""
    job = systems.Job("IN_A_GUEST=1 /host/errnotest singles", {"errnotest": PROBE.read_bytes()})
    text = systems.run(system, "qemu", 4, job)
    assert "errnotest: " in text and "checks ok" in text, text[-2000:]
    found: dict[tuple[str, int], str] = {}
    turns: dict[str, int] = {}
    for line in text.splitlines():
        case, separator, answer = line.rpartition(": ")
        if separator and case[:1].isalpha() and not case.startswith("errnotest"):
            turns[case] = turns.get(case, 0) + 1
            found[case, turns[case]] = answer
    return found


def wanted() -> list[str]:
    """The patterns of `errno_differences.txt`; lines that begin with # say why."""
    lines = DIFFERENCES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def unlike(corral: dict[tuple[str, int], str], linux: dict[tuple[str, int], str]) -> list[str]:
    return [f"{case} ({turn}): Linux {linux[case, turn]}, Corral {corral.get((case, turn), 'nothing')}"
            for case, turn in linux if corral.get((case, turn)) != linux[case, turn]]


class Errors(unittest.TestCase):
    @slow
    def test_they_are_those_of_linux(self) -> None:
        with emulators.lanes(2) as lanes:  # calls that wait for ever are ended after seconds, which cost nothing
            linux, corral = lanes.map(answers, ("linux", "corral"))
        self.assertGreater(len(linux), 9000)
        differences = unlike(corral, linux)
        patterns = wanted()
        surprises = [one for one in differences if not any(fnmatch.fnmatchcase(one, pattern) for pattern in patterns)]
        self.assertEqual(surprises, [], "\n".join(surprises))


if __name__ == "__main__":
    unittest.main()
