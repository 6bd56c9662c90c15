"""A run of the kernel becomes a workload of the simulator (docs/simulation.md): the same computing, and the same end, nearly."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import build, paths
from lab.trace import records

LONG = True
CORES = 4
SLEEPS, COMPUTES = ("balance", "6", "rounds", "20", "sleep", "4000"), ("mandelbrot", "4", "--mode", "array")
WAITS = ("sh", "-c", "for i in 1 2 3 4 5; do echo a | cat | cat; done")
# By which part the simulator's end may differ from the kernel's. There it takes no time that a core hears of a wake-up. With a seed it
# takes up to a quarter of a millisecond, as cores take turns in the emulator: each of balance's threads sleeps twenty times in a row, of 60 ms.
BOUNDS = {COMPUTES: 0.01, WAITS: 0.03, SLEEPS: 0.1}


def corral(*words: str) -> str:
    ended = subprocess.run([str(paths.ROOT / "corral"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise AssertionError(f"{words}: {ended.stdout}{ended.stderr}")
    return ended.stdout


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        build.build(build.SIMULATOR, verbose=False)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="corral-workload-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def recorded(self, program: tuple[str, ...], **policies: str) -> Path:
        append = " ".join(f"sched.{kind}={name}" for kind, name in policies.items())
        corral("trace", "--yes", "--cores", str(CORES), "--seed", "1", "--append", append, "--output", str(self.folder / "run"), "--", *program)
        return self.folder / "run.records"

    def simulated(self, file: Path, *words: str) -> dict[str, object]:
        to = self.folder / "report.json"
        corral("simulate", "--yes", str(file), "--json", str(to), *words)
        return dict(json.loads(to.read_text(encoding="utf-8"))[0])

    @staticmethod
    def measured(file: Path) -> tuple[int, int]:
        """In ns: what threads computed that began in the records, and from when the first one began to when the last one ran."""
        since: dict[int, int] = {}
        running: dict[int, tuple[int, int]] = {}  # by core: who, and when its last record was
        ours: set[int] = set()
        computed, begin, end = 0, None, 0
        for record in records.read(file):
            if isinstance(record, records.Loss):
                raise AssertionError("records were lost")
            if isinstance(record, records.Placement) and record.reason == "created":
                ours.add(record.thread)
                begin = record.time if begin is None else begin
            if isinstance(record, records.Switch):
                if record.previous.number in ours:
                    computed += record.time - since[record.core]
                    end = record.time
                since[record.core] = record.time
                running[record.core] = record.next.number, record.time
            elif record.core in running:
                running[record.core] = running[record.core][0], record.time
        for core, (thread, last) in running.items():  # of whom the trace does not tell that it left
            if thread in ours:
                computed += last - since[core]
                end = max(end, last)
        assert begin is not None
        return computed, end - begin

    def test_the_same_machine_does_the_same(self) -> None:
        for program, bound in BOUNDS.items():
            with self.subTest(program=program):
                file = self.recorded(program, algorithm="eevdf", placement="affinity")
                computed, elapsed = self.measured(file)
                report = self.simulated(file, "--algorithm", "eevdf", "--placement", "affinity", "--cores", str(CORES))
                self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
                self.assertEqual(sum(task["run_ns"] for task in report["tasks"]), computed)  # type: ignore[attr-defined]
                self.assertAlmostEqual(int(str(report["elapsed_ns"])) / elapsed, 1, delta=bound)

    def test_another_machine_and_another_policy(self) -> None:
        """One core has to do all of it: it is never idle while anybody is awake, whatever the policy."""
        file = self.recorded(COMPUTES)
        computed, elapsed = self.measured(file)
        one = self.simulated(file, "--algorithm", "rr", "--cores", "1")
        self.assertGreaterEqual(int(str(one["elapsed_ns"])), computed)
        self.assertGreater(int(str(one["elapsed_ns"])), 2 * elapsed)
        many = self.simulated(file, "--algorithm", "rr", "--cores", "8")
        self.assertEqual((many["cores"], many["algorithm"]), (8, "rr"))
        self.assertLessEqual(int(str(many["elapsed_ns"])), elapsed * (1 + BOUNDS[COMPUTES]))

    def test_the_workload_is_kept_and_read_again(self) -> None:
        file = self.recorded(SLEEPS)
        kept = self.folder / "kept.json"
        made = self.simulated(file, "--workload-to", str(kept))
        again = self.simulated(kept)
        del made["host_seconds"], again["host_seconds"]
        self.assertEqual(made, again)


if __name__ == "__main__":
    unittest.main()
