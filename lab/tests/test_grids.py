"""Grid files: which points they mean, and what is wrong in them is said before anything is measured."""

import unittest

from lab import paths
from lab.problem import WRONG_USE, Problem
from lab.sweep import grid
from lab.sweep.main import first_of_each
from lab.sweep.points import Point

OPERATIONS = '[[workloads]]\nbench = "operations"\ninstruments = ["instructions"]\n'
PROGRAM = "[[workloads]]\nname = 'p'\nprogram = 'mandelbrot 4'\nmetrics = { ms = 'total_ms=([0-9.]+)' }\n"
SIMULATION = '[[workloads]]\nname = "mixed"\nsimulate = "sim/workloads/mixed.json"\n'


def points(text: str) -> list[Point]:
    return grid.Grid(text, "grid.toml").points


class Points(unittest.TestCase):
    def test_every_combination(self) -> None:
        head = "cores = [2, 4]\nseeds = [1, 2, 3]\n[options]\nsched.algorithm = ['cfs', 'rr:quantum=50']\n'timer.hz' = 250\nquiet = [true, false]\n"
        found = points(head + PROGRAM + "instruments = ['seeded', 'bochs', 'wall']\nrepeats = 1\n")
        self.assertEqual(len(found), 2 * 3 * 4 + 2 * 3 * 4 + 2 * 4)  # wall time has no seeds
        self.assertIn("sched.algorithm=rr:quantum=50 timer.hz=250 quiet", {point.options for point in found})
        self.assertEqual(len({point.key for point in found}), len(found))

    def test_each_of_several_tables_has_its_combinations(self) -> None:
        tables = "[[options]]\n[[options]]\nsched.algorithm = ['cfs', 'rr']\n[[options]]\nsched.algorithm = 'rr'\nquiet = [true, false]\n"
        self.assertEqual([point.options for point in points(tables + OPERATIONS)],
                         ["", "sched.algorithm=cfs", "sched.algorithm=rr", "sched.algorithm=rr quiet"])

    def test_a_key_is_the_same_in_another_grid(self) -> None:
        alone = points(f"[options]\nsched.algorithm = 'rr'\n{OPERATIONS}")
        among = points(f"{OPERATIONS}[workloads.options]\nsched.algorithm = ['cfs', 'rr']\n{PROGRAM}instruments = 'bochs'\n")
        self.assertIn(alone[0].key, {point.key for point in among})

    def test_another_content_of_a_workload_is_another_key(self) -> None:
        self.assertNotEqual(points(OPERATIONS)[0].key, points(OPERATIONS + 'only = ["fork"]\n')[0].key)

    def test_a_workload_may_say_otherwise(self) -> None:
        found = points(f"cores = [1, 2]\nseeds = [1, 2]\n{OPERATIONS}cores = 1\n{SIMULATION}seeds = 7\n")
        self.assertEqual([(point.workload, point.cores, point.seed) for point in found],
                         [("operations", 1, 0), ("mixed", 1, 7), ("mixed", 2, 7)])

    def test_virtual_time_has_seeds_only_when_they_are_named(self) -> None:
        bochs = f"{PROGRAM}instruments = 'bochs'\n"
        self.assertEqual([point.seed for point in points(bochs)], [0])
        self.assertEqual([point.seed for point in points(f"seeds = [1, 2]\n{bochs}")], [1, 2])
        self.assertEqual([point.seed for point in points(f"{bochs}seeds = 3\n")], [3])

    def test_linux_has_no_options_of_ours(self) -> None:
        found = points(f"systems = ['corral', 'linux']\n[options]\nsched.algorithm = ['cfs', 'rr']\n{OPERATIONS}")
        self.assertEqual([(point.system, point.options) for point in found],
                         [("corral", "sched.algorithm=cfs"), ("corral", "sched.algorithm=rr"), ("linux", "")])

    def test_only_what_varies_is_repeated_and_the_points_take_turns(self) -> None:
        found = points(f"repeats = 3\n{PROGRAM}instruments = ['wall', 'bochs']\ncores = [1, 2]\n")
        self.assertEqual([(point.instrument, point.cores, point.repeat) for point in found if point.noisy],
                         [("qemu", cores, repeat) for repeat in (1, 2, 3) for cores in (1, 2)])
        self.assertEqual(sum(not point.noisy for point in found), 2)

    def test_quick_takes_one_of_each(self) -> None:
        found = first_of_each(points(f"cores = [1, 2]\n{OPERATIONS}cores = 1\n{SIMULATION}"))
        self.assertEqual([point.workload for point in found], ["mixed", "operations"])

    def test_the_grids_that_come_along(self) -> None:
        files = sorted((paths.ROOT / "lab" / "grids").glob("*.toml"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            with self.subTest(file=file.name):
                self.assertGreater(len(grid.read(file).points), 10)


class Refusals(unittest.TestCase):
    def test_what_is_wrong_is_named_with_its_mend(self) -> None:
        for text, *said in (
            ("", "no workloads"),
            ("cores = ", "TOML is wanted"),
            ("workloads = 7", "no workloads"),
            (f"core = 1\n{OPERATIONS}", "`core`", "did you mean `cores`"),
            (f"cores = 0\n{OPERATIONS}", "numbers from 1 on"),
            (f"cores = ['two']\n{OPERATIONS}", "numbers from 1 on"),
            (f"cores = [true]\n{OPERATIONS}", "numbers from 1 on"),
            (f"repeats = [1, 2]\n{OPERATIONS}", "a number from 1 on"),
            ("[[workloads]]\nbench = 'operation'\n", "did you mean `operations`"),
            ("[[workloads]]\ncores = 1\n", "a workload is one of bench, program, simulate"),
            (OPERATIONS + OPERATIONS, "two workloads are called operations"),
            (f"{OPERATIONS}only = ['getpit']\n", "did you mean `getpid`"),
            (f"{OPERATIONS}metrics = {{}}\n", "no entry `metrics`"),
            (f"{OPERATIONS}threads = [2]\n", "for bench mandelbrot"),
            (f"{OPERATIONS}cores = 4\n", "count of instructions is for one core"),
            (f"{OPERATIONS}systems = ['windows']\n", "no system `windows`"),
            ("[[workloads]]\nbench = 'mandelbrot'\ninstruments = ['instructions']\n", "no instrument `instructions`", "wall, bochs"),
            (f"[options]\nsched.algorithm = 'csf'\n{OPERATIONS}", "no sched.algorithm `csf`", "did you mean `cfs`"),
            (f"[options]\nsched.algoritm = 'cfs'\n{OPERATIONS}", "did you mean `sched.algorithm`"),
            (f"[options]\nsched.algorithm = 'cfs -- sh'\n{OPERATIONS}", "a blank would end it"),
            (f"[options]\nsched.algorithm = []\n{OPERATIONS}", "give it a value"),
            (f"[options]\ntimer.hz = 100\n{SIMULATION}", "the simulator has no option timer.hz"),
            ("[[workloads]]\nsimulate = 'sim/workloads/none.json'\n", "no such workload"),
            (f"{SIMULATION}cores = 5000\n", "at most 4096"),
            ("[[workloads]]\nprogram = 'ls'\n", "without metrics"),
            ("[[workloads]]\nprogram = 'ls'\nmetrics = { a = '(' }\n", "regular expression"),
            ("[[workloads]]\nprogram = 'ls'\nmetrics = { a = 'x' }\n", "one pair of parentheses"),
            (f"{PROGRAM}better = {{ ms = 'more' }}\n", "no direction `more`"),
            (f"{PROGRAM}better = {{ m = 'lower' }}\n", "no metric `m`"),
            (f"{PROGRAM}seeds = []\n", "seeds = []"),
            (f"seeds = []\n{PROGRAM}", "seeds = []"),
            (f"seeds = [4294967296]\n{PROGRAM}", "numbers from 1 on"),
            (f"instruments = ['wal']\n{SIMULATION}", "did you mean `wall`"),
            (f"{PROGRAM}instruments = ['wall']\nrepeats = 1000000000\n", "more than 100000 points"),
            (f"{OPERATIONS}only = []\n", "only = []"),
            ("[[workloads]]\nprogram = ' '\nname = 'x'\nmetrics = { a = '(x)' }\n", "program is empty"),
            ("[[workloads]]\nprogram = 'ls'\nmetrics = { a = 5 }\n", "regular expression"),
            (f"{PROGRAM}instruments = ['bochs']\ncores = 16\n", "1 to 15"),
            (f"{PROGRAM}instruments = ['seeded']\nsystems = ['linux']\n", "does not repeat"),
        ):
            with self.subTest(text=text):
                with self.assertRaises(Problem) as raised:
                    points(text)
                for part in ("grid.toml: ", "Mend: ", "docs/sweeps.md", *said):
                    self.assertIn(part, str(raised.exception))
                self.assertEqual(raised.exception.status, WRONG_USE)

    def test_what_is_said_twice_is_measured_once(self) -> None:
        self.assertEqual(points(f"seeds = [1, 1]\ncores = [2, 2]\n{SIMULATION}"), points(f"seeds = 1\ncores = 2\n{SIMULATION}"))

    def test_no_file(self) -> None:
        with self.assertRaisesRegex(Problem, "No such file"):
            grid.read(paths.ROOT / "none.toml")


if __name__ == "__main__":
    unittest.main()
