"""The simulator: exact where the answer is known, the same in every run, and clear about wrong files."""

import itertools
import re
import unittest

from lab import paths, simulate
from lab.problem import Problem
from lab.simulate import Policies
from lab.testing.simulated import MS, names, run, task

MIXED, SLEEPERS = (paths.SIMULATOR_SOURCE / "workloads" / name for name in ("mixed.json", "sleepers.json"))


class KnownAnswers(unittest.TestCase):
    """What a thread of so much work needs on a machine like this can be said beforehand."""

    def elapsed_ms(self, tasks, cores=1, machine=None, **policies):
        report = run({"machine": {"cores": cores, **(machine or {})}, "tasks": tasks}, **policies)
        self.assertEqual(report["violations"], 0)
        self.assertEqual(report["unfinished"], 0)
        for core in report["per_core"]:
            self.assertEqual(core["busy_ns"] + core["idle_ns"], report["elapsed_ns"], core)
        return report["elapsed_ns"] / MS

    def test_work_takes_its_time(self):
        self.assertEqual(self.elapsed_ms({"t": {"loop": 10, "run": 1000}}), 10)
        self.assertEqual(self.elapsed_ms({"t": {"loop": 10, "run": 1000, "sleep": 500}}), 15)
        self.assertEqual(self.elapsed_ms({"t": {"instance": 8, "loop": 1, "run": 1000}}, cores=4), 2)

    def test_a_slow_core_takes_longer(self):
        slow = {"capacity": [512]}
        self.assertEqual(self.elapsed_ms({"t": {"loop": 1, "run": 1000}}, machine=slow), 2)
        self.assertEqual(self.elapsed_ms({"t": {"loop": 1, "runtime": 1000}}, machine=slow), 1)

    def test_costs_are_added(self):
        self.assertEqual(self.elapsed_ms({"t": {"loop": 2, "run": 1000, "sleep": 1000}}, machine={"switch_ns": 250_000}), 4.25)
        two = {"t": {"instance": 2, "loop": 1, "run": 1000}}
        self.assertEqual(self.elapsed_ms(two, cores=2, machine={"message_ns": 300_000, "idle_exit_ns": 200_000}), 1.5)

    def test_a_period_begins_when_it_should(self):
        timer = {"t": {"loop": 5, "run": 300, "timer": {"ref": "x", "period": 1000}}}
        self.assertEqual(self.elapsed_ms(timer), 5)

    def test_phases_and_delays(self):
        phases = {"t": {"loop": 2, "delay": 1000, "phases": {"a": {"loop": 3, "run": 100}, "b": {"sleep": 700}}}}
        self.assertEqual(self.elapsed_ms(phases), 1 + 2 * (0.3 + 0.7))

    def test_one_at_a_time_in_a_lock(self):
        holders = {"t": {"instance": 5, "loop": 4, "lock": "m", "run": 100, "unlock": "m"}}
        self.assertEqual(self.elapsed_ms(holders, cores=8), 2)

    def test_all_meet_at_a_barrier(self):
        tasks = {"quick": {"instance": 3, "loop": 4, "run": 100, "barrier": "b"}, "slow": {"loop": 4, "run": 900, "barrier": "b"}}
        self.assertEqual(self.elapsed_ms(tasks, cores=4), 3.6)

    def test_one_waits_for_another(self):
        tasks = {"waits": {"loop": 1, "suspend": "waits", "run": 100}, "wakes": {"loop": 1, "run": 500, "resume": "waits"}}
        self.assertEqual(self.elapsed_ms(tasks, cores=2), 0.6)

    def test_a_semaphore_remembers(self):
        """Who comes later than the `up` does not wait; who comes earlier does."""
        ups = {"t": {"loop": 1, "run0": 100, "up0": "s", "run1": 400, "up1": "s"}}
        self.assertEqual(self.elapsed_ms({**ups, "late": {"loop": 1, "run0": 300, "down0": "s", "run1": 50, "down1": "s", "run2": 100}}, 2), 0.6)
        self.assertEqual(self.elapsed_ms({**ups, "early": {"instance": 2, "loop": 1, "down": "s", "run": 250}}, 3), 0.75)

    def test_a_thread_is_forked_when_another_comes_to_it(self):
        tasks = {"makes": {"loop": 1, "run0": 100, "fork0": "made", "run1": 50, "fork1": "made"}, "made": {"instance": 0, "loop": 1, "run": 300}}
        self.assertEqual(self.elapsed_ms(tasks, 3), 0.45)
        report = run({"machine": {"cores": 3}, "tasks": tasks})
        self.assertEqual([(found["threads"], found["ended"]) for found in report["tasks"]], [(1, 1), (2, 2)])

    def test_times_are_exact_to_the_nanosecond(self):
        report = run({"tasks": {"t": {"loop": 1, "run": 12.345, "sleep": 0.655}}})
        self.assertEqual((report["elapsed_ns"], task(report, "t")["run_ns"]), (13_000, 12_345))

    def test_the_real_time_class_comes_first(self):
        tasks = {"usual": {"loop": 1, "run": 10_000},
                 "urgent": {"policy": "SCHED_FIFO", "priority": 5, "delay": 2000, "loop": 1, "run": 3000}}
        report = run({"machine": {"cores": 1}, "tasks": tasks})
        self.assertEqual(task(report, "urgent")["last_end_ns"], 5 * MS + 1)
        self.assertEqual(task(report, "usual")["last_end_ns"], 13 * MS + 1)

    def test_weights_share_a_core(self):
        """Nice 5 has a third of what nice 0 has: when that one ends, this one has had a third of its time, nearly."""
        tasks = {"usual": {"loop": 1, "run": 300_000}, "nice": {"priority": 5, "loop": 1, "run": 300_000}}
        report = run({"machine": {"cores": 1}, "tasks": tasks})
        self.assertAlmostEqual(task(report, "usual")["last_end_ns"] / MS, 300 * (1 + 335 / 1024), delta=15)

    def test_threads_stay_where_they_may_run(self):
        tasks = {"bound": {"instance": 4, "loop": 10, "cpus": [1], "run": 1000, "sleep": 100}}
        report = run({"machine": {"cores": 4}, "tasks": tasks})
        self.assertEqual([core["busy_ns"] for core in report["per_core"]], [0, 40 * MS, 0, 0])
        self.assertEqual(task(report, "bound")["moves"], 0)

    def test_an_idle_core_gets_what_waits(self):
        """Two short ones come to core 0, two long ones to core 1."""
        tasks = {name: {"loop": 1, "run": us} for name, us in (("a", 1000), ("b", 10_000), ("c", 1000), ("d", 10_000))}
        crowded = {"cores": 2, "algorithm": "fifo", "placement": "round-robin"}
        self.assertEqual(self.elapsed_ms(tasks, migration="none", **crowded), 20)
        self.assertEqual(self.elapsed_ms(tasks, migration="pull", **crowded), 12)
        late = {"message_ns": 100_000, "idle_exit_ns": 50_000}  # a request, and a thread to a core that sleeps
        self.assertEqual(self.elapsed_ms(tasks, migration="pull", machine=late, **crowded), 12.25)

    def test_a_preempted_thread_goes_to_an_emptier_core(self):
        """Four bound ones and a free one come to core 0, and nothing to core 1: the free one goes when its slice of 4 ms ends."""
        tasks = {"bound": {"instance": 4, "loop": 1, "cpus": [0], "run": 40_000},
                 "free": {"delay": 1, "loop": 1, "run": 40_000}}
        crowded = {"cores": 2, "algorithm": "rr", "placement": "round-robin"}
        self.assertEqual(self.elapsed_ms(tasks, migration="none", **crowded), 200)
        self.assertEqual(self.elapsed_ms(tasks, migration="push", **crowded), 164)

    def test_three_on_two_cores_take_turns_if_a_difference_of_one_is_enough(self):
        tasks = {name: {"loop": 1, "run": 600_000} for name in "abc"}
        for migration, first in (("pull", 600), ("push:emptier=1", 888), ("both:emptier=1", 888)):
            report = run({"machine": {"cores": 2}, "tasks": tasks}, migration=migration)
            ends = sorted(task(report, name)["last_end_ns"] // MS for name in tasks)
            self.assertEqual(ends, [first, 900, 900], migration)

    def test_a_limit_ends_what_does_not_end(self):
        report = run({"global": {"duration": 2}, "tasks": {"t": {"run": 1000, "sleep": 1000}}})
        self.assertEqual((report["unfinished"], report["elapsed_ns"]), (1, 2000 * MS))


class AllPolicies(unittest.TestCase):
    def test_every_combination_does_the_same_work(self):
        algorithms, placements, migrations = names(algorithm="?"), names(placement="?"), names(migration="?")
        self.assertIn("fifo", algorithms)
        self.assertIn("blend", placements)
        self.assertIn("pull", migrations)
        for policies in itertools.starmap(Policies, itertools.product(algorithms, placements, migrations)):
            with self.subTest(policies=policies):
                report = simulate.simulate(MIXED, 0, policies, 3)
                self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
                self.assertGreaterEqual(task(report, "worker")["run_ns"], 20 * 200 * MS)
                for core in report["per_core"]:
                    self.assertEqual(core["busy_ns"] + core["idle_ns"], report["elapsed_ns"])

    def test_a_seed_is_one_run(self):
        def without_host(seed):
            report = dict(simulate.simulate(MIXED, 0, Policies(placement="random"), seed))
            del report["host_seconds"]
            return report

        self.assertEqual(without_host(5), without_host(5))
        self.assertNotEqual(without_host(5), without_host(6))

    def test_values_of_policies(self):
        usual, short = (simulate.simulate(MIXED, 0, Policies(f"rr{values}"), 1) for values in ("", ":quantum=10"))
        self.assertLess(usual["decisions"], short["decisions"])

    def test_who_waits_is_not_passed_by(self):
        """Eight sleepers on a core that six would fill: all are to end together, so that the core is never idle before."""
        for algorithm in names(algorithm="?"):
            with self.subTest(algorithm=algorithm):
                report = simulate.simulate(SLEEPERS, 0, Policies(algorithm), 1)
                self.assertLess(report["elapsed_ns"], 1.02 * task(report, "sleeper")["run_ns"])

    def test_the_largest_machine(self):
        report = run({"tasks": {"t": {"instance": 20_000, "loop": 3, "run": 1000, "sleep": 500}}}, cores=4096)
        self.assertEqual((report["cores"], report["unfinished"], report["violations"]), (4096, 0, 0))


class Starvation(unittest.TestCase):
    """Fifteen light threads and a heavy one, which is to have nearly all of the core."""

    TASKS = {"light": {"instance": 15, "priority": 19, "loop": 1, "run": 6_000_000}, "heavy": {"priority": -20, "loop": 1, "run": 3_000_000}}

    def simulated(self, algorithm):
        report = run({"machine": {"cores": 1}, "tasks": self.TASKS}, algorithm=algorithm, migration="none")
        self.assertEqual(report["unfinished"], 0)
        return report

    def test_who_lets_somebody_starve_gives_way_to_the_engines_own(self):
        """Who runs is always at the beginning of its quantum, as boosts come before that ends: the other would wait for two minutes."""
        tasks = {"first": {"loop": 1, "run": 120_000_000}, "second": {"loop": 1, "run": 1_000_000}}
        machine = {"cores": 1, "tick_ns": 100_000_000}  # so that a quantum may have ten seconds
        report = run({"machine": machine, "tasks": tasks}, algorithm="mlfq:quantum=10000,boost=1000000", migration="none")
        self.assertEqual((report["unfinished"], report["violations"], report["per_core"][0]["algorithm"]), (0, 1, "safe"))

    def test_long_turns_whatever_the_weight_are_fair(self):
        report = self.simulated("rr:quantum=50000")
        self.assertEqual((report["violations"], report["per_core"][0]["algorithm"]), (0, "rr"))

    def test_a_policy_that_means_to_hold_back_does(self):
        for algorithm in ("fifo", "mlfq:boost=0"):
            with self.subTest(algorithm=algorithm):
                report = self.simulated(algorithm)
                self.assertEqual((report["violations"], report["per_core"][0]["algorithm"]), (0, algorithm.split(":")[0]))


class WrongInput(unittest.TestCase):
    def refused(self, workload, why, **policies):
        with self.subTest(why=why), self.assertRaisesRegex(Problem, re.escape(why)):
            run(workload, **policies)

    def test_files(self):
        good = {"run": 1000}
        for workload, why in (
            ("{", "this is not JSON"),
            ({}, "tasks: an object with one or more tasks"),
            ({"tasks": {}}, "tasks: an object with one or more tasks"),
            ({"tasks": {"a": good}, "task": {}}, "task: a workload has tasks, global, resources and machine"),
            ({"tasks": {"a": 5}}, "tasks.a: an object"),
            ({"tasks": {"a": {"loop": 3}}}, "tasks.a: it does nothing"),
            ({"tasks": {"a": {"run": "long"}}}, "tasks.a.run: a whole number"),
            ({"tasks": {"a": {"run": -5}}}, "tasks.a.run: it may be 0 to"),
            ({"tasks": {"a": {"run": -0.5}}}, "tasks.a.run: it may be 0 to"),
            ({"tasks": {"a": {"run": 0.0005}}}, "tasks.a.run: there is nothing shorter than a nanosecond"),
            ({"tasks": {"a": {"fork": "b", **good}}}, "tasks.a.fork: there is no task b"),
            ({"tasks": {"a": {"fork": "b", **good}, "b": {"barrier": "x", **good}}}, "tasks.b: a task that is forked has no barrier"),
            ({"tasks": {"a": {"dance": 5}}}, "tasks.a.dance: the simulator does not know this"),
            ({"tasks": {"a": {"instance": 0, **good}}}, "tasks.a.instance: it may be 1 to"),
            ({"tasks": {"a": {"timer": {"ref": "x"}}}}, "tasks.a.timer: an object with a period"),
            ({"tasks": {"a": {"resume": "b"}}}, "tasks.a.resume: there is no task b"),
            ({"tasks": {"a": {"policy": "SCHED_BEST", **good}}}, "SCHED_BEST is none of"),
            ({"tasks": {"a": {"priority": 40, **good}}}, "tasks.a.priority: it may be -20 to 19"),
            ({"tasks": {"a": {"cpus": [9], **good}}}, "tasks.a.cpus: it may be 0 to 3"),
            ({"tasks": {"a": {"cpus": [], **good}}}, "tasks.a.cpus: a list of cores"),
            ({"tasks": {"a": {"phases": {"p": good}, **good}}}, "a task with phases has no actions beside them"),
            ({"tasks": {"a": {"phases": {"p": {"cpus": [1], **good}}}}}, "tasks.a.phases.p.cpus: the simulator does not know"),
            ({"machine": {"cores": 5000}, "tasks": {"a": good}}, "machine.cores: it may be 1 to 4096"),
            ({"machine": {"wings": 2}, "tasks": {"a": good}}, "machine.wings: the machine has"),
            ({"machine": {"capacity": [0]}, "tasks": {"a": good}}, "machine.capacity: it may be 1 to 1024"),
            ({"machine": {"cores": 1, "capacity": [1, 2]}, "tasks": {"a": good}}, "of no more numbers than cores"),
        ):
            self.refused(workload, why)

    def test_programs_that_cannot_go_on(self):
        self.refused({"tasks": {"a": {"run": 0}}}, "it goes on without computing or sleeping")
        self.refused({"tasks": {"a": {"unlock": "m", "run": 1}}}, "it unlocks m, which it does not hold")
        self.refused({"tasks": {"a": {"lock": "m", "run": 1}}}, "it locks m, which it holds")
        self.refused({"tasks": {"a": {"phases": {"p": {"loop": 0, "run": 1}}}}}, "it repeats phases in which nothing is done")

    def test_policies(self):
        good = {"tasks": {"a": {"loop": 1, "run": 1000}}}
        self.refused(good, "there is no best; there are ", algorithm="best")
        self.refused(good, "there is no near; there are ", placement="near")
        self.refused(good, "there is no walk; there are ", migration="walk")
        self.refused(good, "queues: there is no shared; there are per-core and global", queues="shared")
        self.refused(good, "mlfq has no tunable depth; it has ", algorithm="mlfq:depth=3")


class Caches(unittest.TestCase):
    """Threads that say how much memory they use fetch it into the cache of the core where they run."""

    MACHINE = {"cores": 1, "cache_kib": 64, "refill_page_ns": 1000}

    def fetched(self, tasks, machine=None, **policies):
        report = run({"machine": self.MACHINE | (machine or {}), "tasks": tasks}, **policies)
        self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
        return report["elapsed_ns"], {found["task"]: found["fetched_pages"] for found in report["tasks"]}

    def test_what_is_there_is_not_fetched_again(self):
        elapsed, fetched = self.fetched({"t": {"loop": 10, "run": 1000, "sleep": 500, "memory_kib": 32}})
        self.assertEqual((elapsed, fetched["t"]), (15 * MS + 8 * 1000, 8))

    def test_who_fits_beside_others_stays(self):
        task = {"loop": 10, "run": 100, "sleep": 100}
        _, fetched = self.fetched({"a": task | {"memory_kib": 32}, "b": task | {"memory_kib": 32}})
        self.assertEqual(fetched, {"a": 8, "b": 8})
        _, fetched = self.fetched({"a": task | {"memory_kib": 64}, "b": task | {"memory_kib": 64}}, algorithm="fifo")
        self.assertEqual(fetched, {"a": 11 * 16, "b": 11 * 16}, "each drives the other out, also when it comes back to end")

    def test_what_does_not_fit_is_fetched_each_time(self):
        _, fetched = self.fetched({"t": {"loop": 10, "run": 1000, "sleep": 500, "memory_kib": 128}})
        self.assertEqual(fetched["t"], 32 + 10 * 16)

    def test_without_a_cache_nothing_is_fetched(self):
        _, fetched = self.fetched({"t": {"loop": 3, "run": 1000, "sleep": 500, "memory_kib": 128}}, {"cache_kib": 0})
        self.assertEqual(fetched["t"], 0)

    def test_the_cache_aware_placement_waits_for_a_full_cache(self):
        """Large threads find other cores idle now and then; to fetch all they use costs more than to wait."""
        tasks = {"large": {"instance": 6, "loop": 300, "run": 400, "sleep": 300, "memory_kib": 3072},
                 "small": {"instance": 6, "loop": 300, "run": 400, "sleep": 300, "memory_kib": 64}}
        elapsed, pages = {}, {}
        for placement in ("least-loaded", "cache-aware"):
            elapsed[placement], fetched = self.fetched(tasks, {"cores": 8, "cache_kib": 4096}, placement=placement, migration="none")
            pages[placement] = sum(fetched.values())
        self.assertLess(pages["cache-aware"] * 10, pages["least-loaded"])
        self.assertLess(elapsed["cache-aware"], elapsed["least-loaded"])

    def test_small_threads_go_back_where_they_are_cached(self):
        """Two threads fit beside each other into each cache, also when they begin by sleeping."""
        tasks = {"t": {"instance": 8, "loop": 200, "sleep": 400, "run": 80, "memory_kib": 12}}
        machine = {"cores": 4, "cache_kib": 48}
        for placement in ("affinity", "cache-aware"):
            _, fetched = self.fetched(tasks, machine, placement=placement, migration="none")
            self.assertEqual(fetched["t"], 8 * 3, placement)
        _, fetched = self.fetched(tasks, machine, placement="random", migration="none")
        self.assertGreater(fetched["t"], 20 * 8 * 3)


class Tables(unittest.TestCase):
    def test_the_same_columns_as_the_kernels(self):
        report = simulate.simulate(MIXED, 4, Policies(), 1)
        table = simulate.of_cores(report)
        self.assertEqual(table[0].split()[:5], ["core", "algorithm", "runnable", "coming", "weight"])
        self.assertEqual(len(table), 2 + 4)
        self.assertEqual(len(simulate.summary([report, report])), 2 + 2)
        self.assertIn("control", "\n".join(simulate.of_tasks(report)))
        self.assertEqual(simulate.of_groups(report) + simulate.of_global_queue(report), [])

    def test_groups_and_the_global_queue_as_the_kernel_shows_them(self):
        report = simulate.simulate(MIXED, 4, Policies(groups="affinity-mask:dynamic=on", queues="global"), 1)
        self.assertEqual(simulate.of_groups(report)[0], "groups real-time cores 0")
        self.assertRegex(simulate.of_groups(report)[1], r"^groups changes [2-9] moved \d+ blocked 0 turned away 0$")
        self.assertRegex(simulate.of_groups(report)[2], r"^groups demand, thousandths of a thread: real-time \d+ normal \d+$")
        queue = simulate.of_global_queue(report)
        self.assertRegex(queue[0], r"^global queue: waiting 0 rounds \d+$")
        self.assertRegex(queue[1], r"^lock of level 20: taken \d{4,} found taken 0 waited 0\.000 ms$")
