"""`corral sweep` with guests: both systems and every instrument, points that fail, and what `corral compare` says of real runs."""

import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import paths
from lab.testing.selection import exhaustive, slow

DRAWING = "mandelbrot 2 --mode array --size 20x10 --iterations {}"
METRICS = "metrics = { total_ms = 'total_ms=([0-9.]+)' }"


def corral(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(paths.ROOT / "corral"), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


class Guests(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="corral-sweep-")))

    def sweep(self, text: str, name: str = "results", status: int = 0) -> "tuple[Path, str]":
        (self.folder / "grid.toml").write_text(text, encoding="utf-8")
        file = self.folder / f"{name}.sqlite"
        ended = corral("sweep", self.folder / "grid.toml", "--output", file)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        return file, ended.stdout

    def figures(self, file: Path, columns: str) -> "list[tuple[object, ...]]":
        database = sqlite3.connect(file)
        try:
            return database.execute(f"SELECT {columns} FROM measurements ORDER BY {columns}").fetchall()
        finally:
            database.close()

    def drawing(self, iterations: int = 200, more: str = "") -> str:
        return f"[[workloads]]\nname = 'drawing'\nprogram = '{DRAWING.format(iterations)}'\n{METRICS}\n{more}\n"


class Instruments(Guests):
    def test_what_repeats_is_the_same_again_and_a_change_is_seen(self) -> None:
        """Two per cent more iterations: the alarm is the planted regression's."""
        def asked(iterations: int) -> str:
            seeded = self.drawing(iterations, "instruments = 'seeded'\ncores = 2\nseeds = [3, 4]")
            return self.drawing(iterations, "instruments = 'instructions'") + seeded.replace("'drawing'", "'two cores'")

        files = [self.sweep(asked(iterations), name)[0] for iterations, name in ((5000, "a"), (5000, "b"), (5100, "c"))]
        self.assertEqual(self.figures(files[0], "workload, seed"), [("drawing", 0), ("two cores", 3), ("two cores", 4)])
        same = corral("compare", files[0], files[1])
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("3 compared: 3 same", same.stdout)
        worse = corral("compare", files[0], files[2])
        self.assertEqual(worse.returncode, 1, worse.stdout + worse.stderr)
        self.assertIn("3 compared: 3 worse", worse.stdout)

    def test_what_varies_is_repeated(self) -> None:
        partner = self.drawing(more="instruments = 'wall'\nrepeats = 1\nsystems = 'linux'").replace("'drawing'", "'partner'")
        file, _ = self.sweep(self.drawing(more="instruments = 'wall'\nrepeats = 2") + partner)
        self.assertEqual(self.figures(file, "system, instrument, repeat"), [("corral", "qemu", 1), ("corral", "qemu", 2), ("linux", "qemu", 1)])

    @slow
    def test_benches_in_bochs(self) -> None:
        file, _ = self.sweep("instruments = 'bochs'\n[options]\nsched.algorithm = ['rr']\n"
                             "[[workloads]]\nbench = 'mandelbrot'\nquick = true\ncores = 2\nthreads = [2]\n"
                             "[[workloads]]\nbench = 'operations'\nonly = ['getpid']\n")
        self.assertEqual(self.figures(file, "workload, options, metric"),
                         [("mandelbrot", "sched.algorithm=rr", "compute_ms"), ("mandelbrot", "sched.algorithm=rr", "total_ms"),
                          ("operations", "sched.algorithm=rr", "getpid")])

    @exhaustive
    def test_thirty_repeats_and_thirty_planted_changes(self) -> None:
        def measured(iterations: int, number: int) -> Path:
            return self.sweep(self.drawing(iterations, "instruments = 'instructions'"), f"{iterations}-{number}")[0]

        first = measured(5000, 0)
        for number in range(1, 31):
            with self.subTest(number=number):
                self.assertEqual(corral("compare", first, measured(5000, number)).returncode, 0)
                self.assertEqual(corral("compare", first, measured(5100, number)).returncode, 1)


class Failing(Guests):
    def test_a_point_that_fails_does_not_stop_the_others(self) -> None:
        grid = (self.drawing(more="instruments = 'seeded'")
                + f"[[workloads]]\nname = 'breaks'\nprogram = 'sh -c \"echo oh no; exit 3\"'\n{METRICS}\ninstruments = 'seeded'\n"
                + f"[[workloads]]\nname = 'mute'\nprogram = 'echo nothing'\n{METRICS}\ninstruments = 'seeded'\n")
        file, said = self.sweep(grid, status=1)
        self.assertIn("1 of 3 points have figures, 2 failed", said)
        self.assertEqual(self.figures(file, "workload"), [("drawing",)])
        database = sqlite3.connect(file)
        self.addCleanup(database.close)
        told = dict(database.execute("SELECT workload, failure FROM points WHERE failure != ''"))
        self.assertRegex(told["breaks"], "(?s)status 3.*oh no")
        self.assertRegex(told["mute"], "(?s)no total_ms.*nothing")


if __name__ == "__main__":
    unittest.main()
