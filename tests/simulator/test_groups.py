"""Core groups on modelled machines: each class keeps to its cores, also while the ratio follows the load."""

import itertools
import unittest

from lab.problem import Problem
from lab.testing.simulated import MS, cores, names, run, task


class Groups(unittest.TestCase):
    """Core groups (docs/groups.md): each class keeps to its cores, whatever the method."""

    TASKS = {"urgent": {"instance": 6, "policy": "SCHED_FIFO", "priority": 5, "loop": 40, "run": 300, "sleep": 200},
             "usual": {"instance": 6, "loop": 40, "run": 300, "sleep": 200},
             "masked": {"instance": 2, "loop": 20, "run": 300, "sleep": 100, "cpus": [1, 6]},
             "outside": {"loop": 20, "run": 300, "sleep": 100, "cpus": [0]}}

    def simulated(self, groups, **policies):
        report = run({"machine": {"cores": 8, "message_ns": 2000}, "tasks": self.TASKS}, groups=groups, **policies)
        self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
        return report

    def test_classes_keep_to_their_cores(self):
        methods = [method for method in names(groups="nothing") if method != "none"]
        self.assertGreaterEqual(len(methods), 3)
        layouts = (("grouped", {0, 1}), ("alternate", {0, 4}), ("double-alternate", {0, 1}))
        for method, placement, (layout, urgent) in itertools.product(methods, ("least-loaded", "random", "round-robin"), layouts):
            with self.subTest(method=method, placement=placement, layout=layout):
                report = self.simulated(f"{method}:layout={layout},ratio=1:3", placement=placement)
                self.assertEqual(cores(report["core_groups"]["real_time_cores"]), urgent)
                self.assertLessEqual(cores(task(report, "urgent")["cores"]), urgent)
                usual = set(range(8)) - urgent
                self.assertLessEqual(cores(task(report, "usual")["cores"]), usual)
                self.assertLessEqual(cores(task(report, "masked")["cores"]), {1, 6} & usual)
                self.assertLessEqual(cores(task(report, "outside")["cores"]), usual, "its mask has none of them")

    def test_methods_differ_in_where_they_refuse(self):
        blocked, away = {}, {}
        for method in ("affinity-mask", "blocked-migration", "run-queue-entry"):
            groups = self.simulated(method, placement="random")["core_groups"]
            blocked[method], away[method] = groups["blocked"] > 0, groups["turned_away"] > 0
        self.assertEqual(blocked, {"affinity-mask": False, "blocked-migration": True, "run-queue-entry": False})
        self.assertEqual(away, {"affinity-mask": False, "blocked-migration": False, "run-queue-entry": True})

    def test_without_groups_all_cores_are_used(self):
        report = self.simulated("none", placement="round-robin")
        self.assertEqual(cores(task(report, "usual")["cores"]), set(range(8)))
        self.assertNotIn("core_groups", report)

    def test_what_cannot_be_is_refused(self):
        for groups, why in (("nothing", "there is no nothing"), ("affinity-mask:ratio=1:100", "none of 8 cores"),
                            ("affinity-mask:layout=round", "write layout=")):
            with self.subTest(groups=groups), self.assertRaisesRegex(Problem, why):
                self.simulated(groups)


class DynamicRatio(unittest.TestCase):
    """The ratio follows the load, by the kernel's own Demand (docs/groups.md)."""

    BOUND = 1.25

    @staticmethod
    def always(count, real_time, delay=0, ms=1000):
        """So many threads that only compute."""
        which = {"policy": "SCHED_FIFO", "priority": 5} if real_time else {}
        return {"instance": count, "delay": delay * 1000, "loop": 1, "run": ms * 1000, **which}

    def simulated(self, tasks, number=8, groups="affinity-mask:ratio=1:1,dynamic=on,interval=10000", **policies):
        report = run({"machine": {"cores": number}, "tasks": tasks}, groups=groups, **policies)
        self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
        return report

    def test_cores_go_where_the_threads_are(self):
        """Two urgent threads and six others on 8 cores, 4 for each class. The demand is 2 to 6 from the first interval, so the urgent ones'
        share goes from 4 a quarter of the way to 2 at 20, 30, 40 … ms. It is nearer to 3 at 30 ms, and near enough to 2 at 70 ms: two of
        six wait until then, and one. With one queue, in turns of 4 ms, they share that: of the 25 turns one has five, the others four."""
        tasks = {"urgent": self.always(2, True), "usual": self.always(6, False)}
        for queues, last in (("per-core", 70 + 1000), ("global", 5 * 4 + 1000)):
            report = self.simulated(tasks, algorithm="fifo", queues=queues)
            self.assertEqual(task(report, "urgent")["last_end_ns"], 1000 * MS + 1)
            self.assertEqual(task(report, "usual")["last_end_ns"], last * MS + 1)
            self.assertEqual(task(report, "usual")["waited_ns"], (30 + 70) * MS)
            self.assertEqual(len(cores(task(report, "usual")["cores"])), 6)
        static = self.simulated(tasks, algorithm="fifo", groups="affinity-mask:ratio=1:1")
        self.assertEqual(task(static, "usual")["last_end_ns"], 2000 * MS + 1)

    def test_what_no_longer_belongs_to_a_core_leaves_it(self):
        """All cores compute for the normal group until urgent threads come, which need most of them."""
        tasks = {"usual": self.always(6, False), "urgent": self.always(24, True, delay=200, ms=100)}
        for method in ("affinity-mask", "blocked-migration", "run-queue-entry"):
            with self.subTest(method=method):
                report = self.simulated(tasks, groups=f"{method}:ratio=1:7,dynamic=on,interval=10000")
                self.assertGreater(report["core_groups"]["moved"], 0)
                self.assertGreater(report["core_groups"]["changes"], 2)
                self.assertGreater(len(cores(task(report, "urgent")["cores"])), 4)
                self.assertLess(task(report, "urgent")["last_end_ns"], (200 + 24 * 100 / 4) * MS, "more than four cores were theirs")

    def test_nobody_wants_anything(self):
        """Threads that sleep for most of the time: at least one core for each class, and no changes to and fro."""
        tasks = {"t": {"instance": 3, "loop": 5, "run": 10, "sleep": 100_000}}
        report = self.simulated(tasks, groups="affinity-mask:ratio=1:1,dynamic=on")
        self.assertLessEqual(report["core_groups"]["changes"], 2)

    def test_it_is_never_far_behind_the_best_fixed_ratio(self) -> None:
        """The bound of docs/groups.md, for loads that last a hundred intervals. The worst fixed ratio takes up to three times the best one's time."""
        worst = 0.0
        for number, share, threads in itertools.product((8, 32), (10, 25, 50, 75, 90), (4, 16)):
            urgent = number * threads * share // 100
            tasks = {"urgent": self.always(urgent, True, ms=50), "usual": self.always(number * threads - urgent, False, ms=50)}
            times = {ratio: max(task["last_end_ns"] for task in self.simulated(tasks, number, f"affinity-mask:{words}")["tasks"])
                     for ratio, words in (*((ratio, f"ratio={ratio}") for ratio in ("1:1", "2:1", "1:2", "3:1", "1:3")),
                                          ("dynamic", "ratio=1:1,dynamic=on,interval=2000"))}
            dynamic = times.pop("dynamic")
            with self.subTest(cores=number, share=share, threads=threads):
                self.assertLessEqual(dynamic, self.BOUND * min(times.values()))
            worst = max(worst, max(times.values()) / min(times.values()))
        self.assertGreater(worst, 2.5, "with such loads the ratio matters")

    def test_an_end_that_does_not_come_is_noticed(self):
        """A thread that nobody resumes: the ratio is not computed for ever."""
        report = run({"tasks": {"t": {"loop": 1, "suspend": "t", "run": 1000}}}, groups="affinity-mask:dynamic=on")
        self.assertEqual(report["unfinished"], 1)
        self.assertLessEqual(report["elapsed_ns"], 200 * MS)

    def test_every_combination_finishes(self):
        """Whatever the policies: nobody is lost, the classes keep apart, and the work is done."""
        tasks = {"urgent": {"instance": 5, "policy": "SCHED_FIFO", "priority": 5, "loop": 20, "run": 300, "sleep": 900},
                 "usual": {"instance": 9, "loop": 30, "run": 300, "sleep": 200},
                 "burst": {"instance": 6, "policy": "SCHED_RR", "priority": 1, "delay": 4000, "loop": 1, "run": 3000},
                 "bound": {"instance": 2, "loop": 20, "run": 200, "sleep": 100, "cpus": [1]}}
        methods = [method for method in names(groups="nothing") if method != "none"]
        kinds = (names(algorithm="?"), ("random", "least-loaded"), names(migration="?"), methods, ("per-core", "global"))
        for algorithm, placement, migration, method, queues in itertools.product(*kinds):
            with self.subTest(algorithm=algorithm, placement=placement, migration=migration, method=method, queues=queues):
                report = run({"machine": {"cores": 6, "message_ns": 2000, "idle_exit_ns": 3000}, "tasks": tasks}, algorithm=algorithm,
                             placement=placement, migration=migration, queues=queues,
                             groups=f"{method}:dynamic=on,interval=2000,hysteresis=40")
                self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
                for name, count, work in (("urgent", 5, 20 * 300), ("usual", 9, 30 * 300), ("burst", 6, 3000), ("bound", 2, 20 * 200)):
                    self.assertEqual(task(report, name)["run_ns"], count * work * 1000)
                self.assertGreater(report["core_groups"]["changes"], 1)
                for core in report["per_core"]:
                    self.assertEqual(core["busy_ns"] + core["idle_ns"], report["elapsed_ns"])
