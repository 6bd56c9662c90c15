"""`corral sweep` with modelled machines: it goes on after an interruption, and on a cluster that loses a worker."""

import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from lab import emulators, paths
from lab.sweep import grid, measure, origin, store

PATIENCE_SECONDS = 300
SEEDS = 24


def workload(rounds: int) -> str:
    return json.dumps({"machine": {"cores": 8}, "tasks": {"worker": {"instance": 24, "loop": rounds, "run": 1000, "sleep": 500}}})


class Sweeps(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="corral-sweep-")))
        self.results = self.folder / "results.sqlite"
        (self.folder / "busy.json").write_text(workload(1500), encoding="utf-8")  # a tenth of a second
        (self.folder / "long.json").write_text(workload(3_000_000), encoding="utf-8")  # most of a minute
        self.grid = self.folder / "grid.toml"
        self.grid.write_text(f"seeds = {list(range(1, SEEDS + 1))}\ncores = 8\n[options]\nsched.placement = 'random'\n"
                             f"[[workloads]]\nname = 'busy'\nsimulate = '{self.folder / 'busy.json'}'\n", encoding="utf-8")

    def with_a_long_one(self) -> str:
        """The grid with a last point that nobody waits for: a sweep that is to be disturbed is sure to be still at work."""
        short = self.grid.read_text(encoding="utf-8")
        self.grid.write_text(f"{short}[[workloads]]\nname = 'long'\nseeds = 1\nsimulate = '{self.folder / 'long.json'}'\n", encoding="utf-8")
        return short

    def sweep(self, *words: str) -> list[str]:
        return [str(paths.ROOT / "corral"), "sweep", str(self.grid), "--output", str(self.results), *words]

    def whole(self, *words: str) -> str:
        ended = subprocess.run(self.sweep(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    def ended(self) -> dict[str, str]:
        """By a point's key when it was measured."""
        database = sqlite3.connect(self.results, timeout=PATIENCE_SECONDS)
        try:
            return dict(database.execute("SELECT key, ended FROM points WHERE failure = ''"))
        except sqlite3.OperationalError:
            return {}  # its tables are not there yet
        finally:
            database.close()

    def some(self, child: subprocess.Popen[bytes], number: int) -> None:
        """Waits until so many points are kept."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.results.exists() or len(self.ended()) < number:
            self.assertIsNone(child.poll(), "the sweep has ended before")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def start(self, *command: str, **settings: object) -> "subprocess.Popen[bytes]":
        child = emulators.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **settings)
        self.addCleanup(emulators.stop, child)
        return child

    def check_complete(self) -> None:
        wanted = {point.key for point in grid.read(self.grid).points}
        self.assertEqual(self.ended().keys(), wanted)
        rows = [row for results in store.load(self.results) for row in results.rows]
        self.assertEqual(len(rows), len(wanted) * len(grid.SIMULATED))
        self.assertEqual({row.better for row in rows if row.metric == "decisions"}, {"neither"})


class Interrupted(Sweeps):
    def test_it_goes_on_where_it_was_left(self) -> None:
        short = self.with_a_long_one()
        child = self.start(*self.sweep("--jobs", "1"))
        self.some(child, 3)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(PATIENCE_SECONDS), 130)
        before = self.ended()
        self.assertLessEqual(len(before), SEEDS)
        self.grid.write_text(short, encoding="utf-8")
        self.assertIn(f"{len(before)} of {SEEDS} points were measured before", self.whole())
        self.check_complete()
        after = self.ended()
        self.assertEqual({key: after[key] for key in before}, before)

    def test_it_goes_on_after_the_worst_end(self) -> None:
        short = self.with_a_long_one()
        child = self.start(*self.sweep())
        self.some(child, 3)
        child.kill()
        child.wait()
        self.grid.write_text(short, encoding="utf-8")
        self.whole()
        self.check_complete()


class OnACluster(Sweeps):
    def test_one_of_two_workers_is_killed(self) -> None:
        address, workers = self.cluster()
        child = self.start(*self.sweep("--dask", address))
        self.some(child, 3)
        workers[0].kill()
        self.assertEqual(child.wait(PATIENCE_SECONDS), 0)
        self.check_complete()

        others = self.folder / "others.sqlite"
        cluster, self.results = self.results, others
        self.whole()
        compared = subprocess.run([str(paths.ROOT / "corral"), "compare", str(cluster), str(others)], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
        self.assertIn(f"{SEEDS * len(grid.SIMULATED)} compared: {SEEDS * len(grid.SIMULATED)} same", compared.stdout)

    def test_the_whole_cluster_is_lost(self) -> None:
        self.with_a_long_one()
        address, _ = self.cluster()
        with open(self.folder / "said", "wb") as said:
            child = emulators.start(self.sweep("--dask", address), stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.addCleanup(emulators.stop, child)
        self.some(child, 3)
        self.scheduler.kill()
        self.assertEqual(child.wait(PATIENCE_SECONDS), 1)
        text = (self.folder / "said").read_text(encoding="utf-8")
        self.assertRegex(text, r"the cluster at \S+ is gone\s+Mend: start it anew, and give the same command again")
        self.assertNotIn("Traceback", text)
        self.assertGreaterEqual(len(self.ended()), 3)

    def cluster(self) -> "tuple[str, list[subprocess.Popen[bytes]]]":
        """A scheduler and two workers of this machine; its address, and the workers."""
        from distributed import Client

        contact = self.folder / "scheduler.json"
        python = [sys.executable, "-m"]
        self.scheduler = self.start(*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                    "--scheduler-file", str(contact), cwd=paths.ROOT)
        workers = [self.start(*python, "distributed.cli.dask_worker", "--scheduler-file", str(contact), "--nthreads", "1", "--no-nanny",
                              "--no-dashboard", "--local-directory", str(self.folder / f"worker-{number}"), cwd=paths.ROOT)
                   for number in (1, 2)]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not contact.exists() or not contact.read_text(encoding="utf-8").endswith("}"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        address = json.loads(contact.read_text(encoding="utf-8"))["address"]
        with Client(address, timeout=PATIENCE_SECONDS) as client:
            client.wait_for_workers(2, timeout=PATIENCE_SECONDS)
        return address, workers

    def test_a_worker_with_another_build_measures_nothing(self) -> None:
        point = grid.read(self.grid).points[0]
        right = origin.digests([point])
        self.assertEqual(measure.outcome(point, wanted=right).failure, "")
        wrong = measure.outcome(point, wanted={**right, "build/sim/corral-sim": "0"})
        self.assertRegex(wrong.failure, r"has another build/sim/corral-sim than the sweep\s+Mend: check out and build the same commit")
        self.assertEqual(wrong.rows, ())

    def test_no_cluster_there(self) -> None:
        ended = subprocess.run(self.sweep("--dask", "here"), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("Mend: start it: dask-scheduler", ended.stderr)


if __name__ == "__main__":
    unittest.main()
