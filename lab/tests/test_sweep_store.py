"""The file of a sweep's results: what is kept stays, whatever comes after."""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from lab import paths
from lab.bench.results import Row
from lab.problem import Problem
from lab.sweep.measure import Outcome
from lab.sweep.points import Point
from lab.sweep.store import Store, is_store, load

# Keeps points in the file that it is given until there is no room, and says why it ended.
FILLS = """
import sys
from pathlib import Path
from lab.problem import Problem
from lab.tests.test_sweep_store import figures, point
from lab.sweep.store import Store
with Store(Path(sys.argv[1])) as store:
    for number in range(1, 100000):
        try:
            store.keep(point(number), figures(point(number), 1.0))
        except Problem as problem:
            sys.exit(str(problem))
"""


def point(number: int, instrument: str = "seeded") -> Point:
    return Point("drawing", '{"program": "x"}', "corral", instrument, 2, "sched.algorithm=rr", number, 1)


def figures(of: Point, value: float) -> Outcome:
    return Outcome(of.key, (Row("corral", of.instrument, 2, 4, "total_ms", value, of.options, of.seed),), "", 1.5)


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "deep" / "results.sqlite"

    def test_what_is_kept_is_read_again(self) -> None:
        with Store(self.file) as store:
            store.begin({"command": "./corral sweep x", "grid": "", "corral": "abc"}, {})
            store.keep(point(1), figures(point(1), 3.25))
            self.assertEqual(store.done(), {point(1).key})
        self.assertTrue(is_store(self.file))
        (results,) = load(self.file)
        self.assertEqual((results.bench, results.command, results.host["corral"]), ("drawing", "./corral sweep x", "abc"))
        self.assertEqual([(row.threads, row.metric, row.value, row.options, row.seed) for row in results.rows],
                         [(4, "total_ms", 3.25, "sched.algorithm=rr", 1)])

    def test_repeats_are_one_row(self) -> None:
        with Store(self.file) as store:
            for repeat, value in ((2, 5.0), (1, 9.0), (3, 7.0)):
                each = Point("w", "{}", "corral", "qemu", 1, "", 0, repeat)
                store.keep(each, figures(each, value))
        ((row,),) = [results.rows for results in load(self.file)]
        self.assertEqual((row.value, row.runs), (7.0, (9.0, 5.0, 7.0)))

    def test_what_failed_is_not_done_and_may_succeed_later(self) -> None:
        with Store(self.file) as store:
            store.keep(point(1), Outcome(point(1).key, (), "it broke", 1.0))
            self.assertEqual((store.done(), store.failures({point(1).key})), (set(), [(point(1).key, "it broke")]))
            self.assertEqual(store.failures(set()), [])
            store.keep(point(1), figures(point(1), 1.0))
            self.assertEqual((store.done(), store.failures({point(1).key})), ({point(1).key}, []))

    def test_anybody_can_ask_it(self) -> None:
        with Store(self.file) as store:
            for number in (1, 2, 3):
                store.keep(point(number), figures(point(number), float(number)))
        database = sqlite3.connect(self.file)
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT options, avg(value) FROM measurements WHERE metric = 'total_ms' GROUP BY options").fetchall(),
                         [("sched.algorithm=rr", 2.0)])

    def test_of_two_sweeps_one_writes(self) -> None:
        with Store(self.file), self.assertRaisesRegex(Problem, "another sweep is writing"):
            Store(self.file)
        Store(self.file).close()

    def test_results_of_another_kernel_are_not_mixed(self) -> None:
        with Store(self.file) as store:
            store.begin({}, {"kernel": "1"})
            store.begin({}, {"kernel": "1", "simulator": "7"})
            with self.assertRaisesRegex(Problem, r"of another kernel\s+Mend: give --output another file"):
                store.begin({}, {"kernel": "2"})

    def test_what_earlier_runs_were_is_kept(self) -> None:
        with Store(self.file) as store:
            for corral in ("abc", "abc", "def", "def", "abc"):
                store.begin({"corral": corral, "command": f"with {corral}"}, {"kernel": "1"})
            store.begin({"command": "again"}, {"kernel": "1"})  # of a run that had nothing to measure
            store.keep(point(1), figures(point(1), 1.0))
        (results,) = load(self.file)
        self.assertEqual((results.host, results.command), ({"corral": "abc, later def, later abc"}, "again"))

    def test_a_file_that_does_not_say_what_its_results_depend_on_is_read_but_not_continued(self) -> None:
        with Store(self.file) as store:
            store.begin({"corral": "abc"}, {})
            store.keep(point(1), Outcome(point(1).key, (), "it broke", 1.0))
        database = sqlite3.connect(self.file)
        database.executescript("""DELETE FROM facts WHERE name = 'origin'; INSERT INTO facts VALUES ('products', '{"kernel": "1"}')""")
        database.close()
        with Store(self.file) as store:
            store.begin({}, {"kernel": "2"})  # nothing is there that could be mixed
            store.keep(point(1), figures(point(1), 1.0))
        database = sqlite3.connect(self.file)
        database.executescript("DELETE FROM facts WHERE name = 'origin'")
        database.close()
        with Store(self.file) as store, self.assertRaisesRegex(Problem, r"an older Corral wrote it.*\s+Mend: give --output another file"):
            store.begin({}, {"kernel": "1"})
        (results,) = load(self.file)
        self.assertEqual((len(results.rows), results.host), (1, {"corral": "abc"}))


class Torn(unittest.TestCase):
    """What others, or an end by force, have left of a file."""

    def setUp(self) -> None:
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "results.sqlite"
        with Store(self.file) as store:
            store.begin({"command": "x"}, {"kernel": "1"})
            for number in range(1, 30):
                store.keep(point(number), figures(point(number), float(number)))

    def changed(self, script: str) -> None:
        database = sqlite3.connect(self.file)
        database.executescript(script)
        database.close()

    def test_half_a_transaction_is_taken_back_by_whoever_reads(self) -> None:
        script = ("import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None); d.execute('PRAGMA cache_size = 1');"
                  "d.execute('BEGIN'); d.execute(\"UPDATE points SET failure = hex(randomblob(5000))\"); os.kill(os.getpid(), 9)")
        subprocess.run([sys.executable, "-c", script, str(self.file)], check=False)
        self.assertTrue(Path(f"{self.file}-journal").exists())
        ((*rows,),) = [results.rows for results in load(self.file)]
        self.assertEqual(sorted(row.value for row in rows), [float(number) for number in range(1, 30)])

    def test_damage_is_named_and_left_alone(self) -> None:
        data = self.file.read_bytes()
        self.file.write_bytes(data[:4096] + b"Z" * (len(data) - 4096))
        before = self.file.read_bytes()
        with Store(self.file) as store:
            for use in (store.done, lambda: store.begin({}, {}), lambda: store.failures(set())):
                with self.assertRaisesRegex(Problem, r"is damaged.*\s+Mend: give --output another file"):
                    use()
        self.assertEqual(self.file.read_bytes(), before)
        with self.assertRaisesRegex(Problem, "cannot be read"):
            load(self.file)

    def test_what_we_would_not_have_written(self) -> None:
        self.changed("UPDATE facts SET value = '{' WHERE name = 'origin'; UPDATE points SET instrument = 'abacus'")
        with Store(self.file) as store, self.assertRaisesRegex(Problem, "is damaged"):
            store.begin({}, {})
        with self.assertRaisesRegex(Problem, "cannot be read"):
            load(self.file)
        self.changed("DROP VIEW measurements; DROP TABLE points")
        with Store(self.file) as store, self.assertRaisesRegex(Problem, "is damaged.*no such table"):
            store.done()


class Refused(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_another_version(self) -> None:
        for version in (0, 1, 3):
            file = self.folder / f"{version}.sqlite"
            database = sqlite3.connect(file)
            database.executescript(f"CREATE TABLE facts (name, value); PRAGMA user_version = {version};")
            database.close()
            before = file.read_bytes()
            for use in (Store, load):
                with self.subTest(version=version, use=use), self.assertRaisesRegex(Problem, f"version {version}, this is version 2"):
                    use(file)
            self.assertEqual(file.read_bytes(), before)

    def test_no_results(self) -> None:
        file = self.folder / "text"
        file.write_text("precious " * 1000, encoding="utf-8")
        with self.assertRaisesRegex(Problem, "no file of results"):
            Store(file)
        self.assertEqual(file.read_text(encoding="utf-8"), "precious " * 1000)
        with self.assertRaisesRegex(Problem, "cannot be written: Is a directory"):
            Store(self.folder)

    def test_a_full_disk(self) -> None:
        """What was kept before the disk was full is there, and with room again it goes on."""
        file = self.folder / "results.sqlite"
        limit = 100_000

        def small() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        ended = subprocess.run([sys.executable, "-c", FILLS, str(file)], cwd=paths.ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, preexec_fn=small, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertRegex(ended.stderr, r"cannot be written: .*; \d+ points of this run are kept there\s+Mend: make room")
        kept = int(ended.stderr.split("; ")[1].split()[0])
        self.assertGreater(kept, 10)
        with Store(file) as store:
            self.assertEqual(len(store.done()), kept)
            store.keep(point(kept + 1), figures(point(kept + 1), 1.0))
        ((*rows,),) = [results.rows for results in load(file)]
        self.assertEqual(len(rows), kept + 1)


if __name__ == "__main__":
    unittest.main()
