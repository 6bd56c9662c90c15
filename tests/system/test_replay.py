"""What the policies decide in the kernel, they decide in the simulator (docs/replay.md): every timeline, every placement."""

import re
import struct
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from lab import build, guest, paths, simulate
from lab.problem import Problem
from lab.testing.selection import slow
from lab.trace import records

ROUNDS = 10
WANTED = 10_000  # decisions of each policy, of several runs
PIPELINES = "for j in $(seq {rounds}); do for i in 1 2 3 4 5 6; do (echo a | cat | cat | cat | cat) & done; wait; done > /dev/null"
POLICY_MADE, POLICY_VALUE, CALLED, CORE_SEEN, ASKED, ANSWERED = records.DECISIONS
PICK = 2
CALL = 0xF


def record(to: Path, algorithm: str, placement: str, rounds: int = ROUNDS) -> Path:
    """Records a run in a guest of 4 cores."""
    subprocess.run([str(paths.ROOT / "corral"), "trace", "--yes", "--cores", "4", "--memory", "1G", "--events", "decide", "--output",
                    str(to), "--append", f"sched.algorithm={algorithm} sched.placement={placement}", "--", "sh", "-c",
                    PIPELINES.format(rounds=rounds)],
                   stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return to.with_name(to.name + simulate.RECORDINGS)


def names(kind: str) -> list[str]:
    with guest.corral(1, program=["cat", "/proc/sched"], options="quiet") as machine:
        machine.ended()
        found = re.search(rf"^{kind} [\w-]+:(.*)$", machine.said(), re.MULTILINE)
    return found[1].split() if found else []


def pairs() -> list[tuple[str, str]]:
    """So that each timeline and each placement is there."""
    algorithms, placements = names("algorithm"), names("placement")
    most = max(len(algorithms), len(placements))
    return [(algorithms[i % len(algorithms)], placements[i % len(placements)]) for i in range(most)]


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.SIMULATOR, verbose=False)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="corral-replay-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def decided(self, algorithm: str, placement: str, rounds: int = ROUNDS) -> Counter[str]:
        """How many decisions of each policy were the same; all have to be."""
        found: Counter[str] = Counter()
        for policy in simulate.replay(record(self.folder / "run", algorithm, placement, rounds)):
            self.assertEqual((policy["different"], policy["first_difference"]), (0, ""))
            found[str(policy["name"])] += int(str(policy["decisions"]))
        return found

    def test_every_policy_decides_the_same(self) -> None:
        everything = pairs()
        self.assertGreaterEqual(len(everything), 6)
        for algorithm, placement in everything:
            with self.subTest(algorithm=algorithm, placement=placement):
                found = self.decided(algorithm, placement)
                self.assertGreater(found[algorithm], 50 * ROUNDS)
                self.assertGreater(found[placement], 20 * ROUNDS)

    @slow
    def test_ten_thousand_decisions_of_each(self) -> None:
        for algorithm, placement in pairs():
            found: Counter[str] = Counter()
            while min(found[algorithm], found[placement]) < WANTED:
                found += self.decided(algorithm, placement, 80)


class Damaged(unittest.TestCase):
    """One recording, and what may have happened to it."""

    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.SIMULATOR, verbose=False)
        folder = tempfile.TemporaryDirectory(prefix="corral-replay-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        data = record(cls.folder / "whole", "rr", "round-robin", 1).read_bytes()
        cls.parts = [data[at : at + records.SIZE] for at in range(0, len(data), records.SIZE)]

    def with_parts(self, parts: list[bytes], more: bytes = b"") -> Path:
        file = self.folder / "damaged.records"
        file.write_bytes(b"".join(parts) + more)
        return file

    def first(self, event: int, detail: int | None = None) -> int:
        return next(at for at, part in enumerate(self.parts)
                    if part[8] == event and (detail is None or part[9] & CALL == detail)
                    and (event != CALLED or struct.unpack_from("<i", part, 12)[0] != 0))

    def refused(self, file: Path, why: str) -> None:
        with self.assertRaisesRegex(Problem, why):
            simulate.replay(file)

    def changed(self, at: int, place: int, value: bytes) -> list[bytes]:
        part = self.parts[at]
        return [*self.parts[:at], part[:place] + value + part[place + len(value) :], *self.parts[at + 1 :]]

    def test_another_answer_is_a_difference(self) -> None:
        at = self.first(CALLED, PICK)
        until = struct.unpack_from("<q", self.parts[at], 24)[0]
        found = simulate.replay(self.with_parts(self.changed(at, 24, struct.pack("<q", until - 1))))
        wrong = [policy for policy in found if policy["different"]]
        self.assertEqual([(policy["name"], policy["different"]) for policy in wrong], [("rr", 1)])
        self.assertIn("pick on core", str(wrong[0]["first_difference"]))

    def test_another_core_is_a_difference(self) -> None:
        at = self.first(ANSWERED)
        place = 16 + 24 + 8 + 2
        chosen = struct.unpack_from("<H", self.parts[at], place)[0]
        found = simulate.replay(self.with_parts(self.changed(at, place, struct.pack("<H", 3 - chosen))))
        self.assertEqual([(policy["name"], policy["different"]) for policy in found if policy["different"]], [("round-robin", 1)])

    def test_another_thread_ends_the_comparison(self) -> None:
        at = self.first(CALLED, PICK)
        self.refused(self.with_parts(self.changed(at, 12, struct.pack("<i", 12345))), "what follows cannot be compared")

    def test_what_is_missing_is_refused(self) -> None:
        at = self.first(CORE_SEEN)
        self.refused(self.with_parts(self.parts[:at] + self.parts[at + 1 :]), "not all there")
        answers = [at for at, part in enumerate(self.parts) if part[8] == ANSWERED]
        self.refused(self.with_parts([part for at, part in enumerate(self.parts) if at != answers[1]]), "missing|not all there")
        lost = struct.pack("<QBBHiQ", 0, 13, 0, 0, 0, 7).ljust(records.SIZE, b"\0")
        self.refused(self.with_parts([lost, *self.parts]), "7 records of core 0 were lost")
        self.refused(self.with_parts(self.parts, b"more"), "not whole records")

    def test_an_unknown_policy_is_named(self) -> None:
        at = self.first(POLICY_MADE)
        self.refused(self.with_parts(self.changed(at, 16, b"unheard-of\0")), "unheard-of")

    def test_nothing_recorded_is_said(self) -> None:
        with self.assertRaises(Problem):
            simulate.show_replay(simulate.replay(self.with_parts([self.parts[0][:8] + b"\6" + self.parts[0][9:]])))


if __name__ == "__main__":
    unittest.main()
