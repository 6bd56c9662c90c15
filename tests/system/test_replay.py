"""What the policies decide in the kernel, they decide in the simulator (docs/replay.md): every timeline, placement and migration."""

import itertools
import struct
import subprocess
import tempfile
import unittest
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab import boot_options, build, paths, simulate
from lab.problem import Problem
from lab.testing.selection import exhaustive, slow
from lab.trace import records

LONG = True
ROUNDS = 10
WANTED = 10_000  # decisions of each policy, in one recording: the rings of sixteen cores have room for more
# Cores become idle, and others have more than they can run; between them threads compute, so that slices end.
LOAD = ("for j in $(seq {rounds}); do for i in 1 2 3 4 5 6; do (echo a | cat | cat | cat | cat) & done; "
        "for i in 1 2 3 4 5 6 7; do (for k in $(seq 300); do :; done) & done; wait; done > /dev/null")
# More threads than sixteen cores that do nothing but compute: each millisecond one gives way on each core.
COMPUTE = "for i in $(seq 48); do (k=0; while [ $k -lt {rounds} ]; do k=$((k + 1)); done) & done; wait"
POLICY_MADE, POLICY_VALUE, CALLED, CORE_SEEN, ASKED, ABOUT, ANSWERED = records.DECISIONS
PICK = 2
CALL = 0xF
PLACEMENTS, ASK, LEAVES_AT = (0, 1), 3, 4  # kernel/sched/recorded_calls.h: DecisionKind
AT, CHOSEN = 16, 16 + 26  # of DecisionAnswered
NOBODY = 0xFFFF


def record(to: Path, algorithm: str, placement: str, migration: str, rounds: int = ROUNDS, queues: str = "per-core", wakes: str = "home",
           cores: int = 4, load: str = LOAD, words: Sequence[str] = ()) -> Path:
    """Records a run in a guest, with slices of a millisecond."""
    subprocess.run([str(paths.ROOT / "corral"), "trace", "--yes", "--cores", str(cores), "--memory", "1G", "--events", "decide", "--output",
                    str(to), "--append",
                    f"timer.hz=1000 sched.algorithm={algorithm} sched.placement={placement} sched.migration={migration} "
                    f"sched.queues={queues} sched.wakes={wakes}", *words, "--", "sh", "-c", load.format(rounds=rounds)],
                   stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return to.with_name(to.name + simulate.RECORDINGS)


def sets() -> list[tuple[str, str, str]]:
    """So that each timeline, each placement and each migration that decides anything is there."""
    timelines, placements, migrations = (boot_options.policies()[f"sched.{kind}"] for kind in ("algorithm", "placement", "migration"))
    kinds = [timelines, placements, [name for name in migrations if name != "none"]]
    return [tuple(kind[i % len(kind)] for kind in kinds) for i in range(max(map(len, kinds)))]  # type: ignore[misc]


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.SIMULATOR, verbose=False)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="corral-replay-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def decided(self, chosen: tuple[str, str, str], rounds: int = ROUNDS, **more: Any) -> Counter[str]:
        """How many decisions of each policy were the same; all have to be. `more`: of record()."""
        found: Counter[str] = Counter()
        for policy in simulate.replay(record(self.folder / "run", *chosen, rounds, **more)):
            self.assertEqual((policy["different"], policy["first_difference"]), (0, ""))
            found[f"{policy['kind']} {policy['name']}"] += int(str(policy["decisions"]))
        return found

    def test_every_policy_decides_the_same(self) -> None:
        everything = sets()
        self.assertGreaterEqual(len(everything), 6)
        found: Counter[str] = Counter()
        for chosen, wakes in zip(everything, itertools.cycle(("home", "waker"))):
            with self.subTest(chosen=chosen, wakes=wakes):
                found += self.decided(chosen, wakes=wakes)
        for algorithm, placement, migration in everything:
            self.assertGreater(found[f"algorithm {algorithm}"], 50 * ROUNDS)
            self.assertGreater(found[f"placement {placement}"], 20 * ROUNDS)
            self.assertGreater(found[f"migration {migration}"], 5 * ROUNDS)

    def test_timelines_decide_the_same_beside_a_global_queue(self) -> None:
        """Who waits there has no home, and comes to any core as its guest."""
        found = simulate.replay(record(self.folder / "run", "cfs", "least-loaded", "pull", 2, "global"))
        self.assertEqual([(policy["different"], policy["first_difference"]) for policy in found], [(0, "")] * len(found))
        timeline = next(policy for policy in found if policy["kind"] == "algorithm")
        self.assertEqual(timeline["cores"], 4)
        self.assertGreater(int(str(timeline["decisions"])), 100)

    def enough(self, chosen: tuple[str, str, str], policy: str) -> Counter[str]:
        """A recording that is longer if the first one has too few decisions of the policy."""
        found: Counter[str] = Counter()
        for rounds in (40, 50, 60):
            found = self.decided(chosen, rounds, cores=16)
            if found[policy] >= WANTED:
                break
        return found

    def many(self, chosen: list[tuple[str, str, str]]) -> None:
        for algorithm, placement, _ in chosen:
            with self.subTest(algorithm=algorithm, placement=placement):
                found = self.decided((algorithm, placement, "none"), 100, cores=16)
                self.assertGreaterEqual(found[f"algorithm {algorithm}"], WANTED)
                self.assertGreaterEqual(found[f"placement {placement}"], WANTED)

    @slow
    def test_ten_thousand_decisions_of_some_timelines_and_placements(self) -> None:
        self.many(sets()[::4])

    @exhaustive
    def test_ten_thousand_decisions_of_each_timeline_and_placement(self) -> None:
        self.many(sets())

    @slow
    def test_ten_thousand_decisions_of_each_migration(self) -> None:
        for migration in sorted({migration for _, _, migration in sets()}):
            with self.subTest(migration=migration):
                if migration == "push":  # asked when a slice ends; with a seed, so that there are as many slices on every host
                    found = self.decided(("rr", "least-weight", migration), 370, cores=16, load=COMPUTE, words=("--seed", "1"))
                else:  # asked by cores that become idle, less often on a busy host
                    found = self.enough(("rr", "least-loaded", migration), f"migration {migration}")
                self.assertGreaterEqual(found[f"migration {migration}"], WANTED)


class Damaged(unittest.TestCase):
    """One recording, and what may have happened to it."""

    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.SIMULATOR, verbose=False)
        folder = tempfile.TemporaryDirectory(prefix="corral-replay-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        data = record(cls.folder / "whole", "rr", "round-robin", "pull", 1).read_bytes()
        cls.parts = [data[at : at + records.SIZE] for at in range(0, len(data), records.SIZE)]

    def with_parts(self, parts: list[bytes], more: bytes = b"") -> Path:
        file = self.folder / "damaged.records"
        file.write_bytes(b"".join(parts) + more)
        return file

    def first(self, event: int, *details: int) -> int:
        return next(at for at, part in enumerate(self.parts)
                    if part[8] == event and (not details or part[9] & CALL in details)
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

    def differs(self, kinds: tuple[int, ...], place: int, form: str, change: Callable[[int], int]) -> str:
        """The name of the policy that decided differently when a number of an answer is changed."""
        at = self.first(ANSWERED, *kinds)
        number = struct.unpack_from(form, self.parts[at], place)[0]
        found = simulate.replay(self.with_parts(self.changed(at, place, struct.pack(form, change(number)))))
        self.assertEqual(sum(int(str(policy["different"])) for policy in found), 1)
        return next(f"{policy['kind']} {policy['name']}" for policy in found if policy["different"])

    def test_another_answer_of_a_policy_of_the_machine_is_a_difference(self) -> None:
        self.assertEqual(self.differs(PLACEMENTS, CHOSEN, "<H", lambda core: 3 - core), "placement round-robin")
        self.assertEqual(self.differs((ASK,), CHOSEN, "<H", lambda core: 3 if core > 3 else NOBODY), "migration pull")
        self.assertEqual(self.differs((LEAVES_AT,), AT, "<q", lambda at: at - 1), "migration pull")

    def test_another_thread_ends_the_comparison(self) -> None:
        at = self.first(CALLED, PICK)
        self.refused(self.with_parts(self.changed(at, 12, struct.pack("<i", 12345))), "what follows cannot be compared")

    def test_what_is_missing_is_refused(self) -> None:
        at = self.first(CORE_SEEN)
        self.refused(self.with_parts(self.parts[:at] + self.parts[at + 1 :]), "not all there")
        at = self.first(ABOUT)
        self.refused(self.with_parts(self.parts[:at] + self.parts[at + 1 :]), "not all there")
        answers = [at for at, part in enumerate(self.parts) if part[8] == ANSWERED]
        self.refused(self.with_parts([part for at, part in enumerate(self.parts) if at != answers[1]]), "missing|not all there")
        lost = struct.pack("<QBBHiQ", 0, 13, 0, 0, 0, 7).ljust(records.SIZE, b"\0")
        self.refused(self.with_parts([lost, *self.parts]), "7 records of core 0 were lost")
        self.refused(self.with_parts(self.parts, b"more"), r"\A[^:]*damaged.records: these are not whole records")

    def test_an_unknown_policy_is_named(self) -> None:
        at = self.first(POLICY_MADE)
        self.refused(self.with_parts(self.changed(at, 16, b"unheard-of\0")), "unheard-of")

    def test_nothing_recorded_is_said(self) -> None:
        with self.assertRaises(Problem):
            simulate.show_replay(simulate.replay(self.with_parts([self.parts[0][:8] + b"\6" + self.parts[0][9:]])))


if __name__ == "__main__":
    unittest.main()
