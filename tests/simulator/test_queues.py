"""One queue for all cores on modelled machines: the kernel's own, beside run queues of cores (docs/queues.md)."""

import itertools
import unittest

from lab.testing.simulated import MS, names, run, task


def one_queue(tasks, cores=1, machine=None, **policies):
    return run({"machine": {"cores": cores, **(machine or {})}, "tasks": tasks}, queues="global", **policies)


class KnownAnswers(unittest.TestCase):
    def ends(self, tasks, cores=1, machine=None, **policies):
        """When the threads of each task have ended, in ms."""
        report = one_queue(tasks, cores, machine, **policies)
        self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
        for core in report["per_core"]:
            self.assertEqual(core["busy_ns"] + core["idle_ns"], report["elapsed_ns"], core)
        return {found["task"]: (found["last_end_ns"] - 1) / MS for found in report["tasks"]}

    def test_each_has_a_turn_in_a_round(self):
        two = {name: {"loop": 1, "run": 8000} for name in ("a", "b")}
        self.assertEqual(self.ends(two), {"a": 12, "b": 16})
        self.assertEqual(self.ends(two, machine={"tick_ns": 1 * MS}), {"a": 15, "b": 16})
        self.assertEqual(self.ends(two, cores=2), {"a": 8, "b": 8})

    def test_the_algorithm_has_no_say(self):
        """It chooses among those who are bound to a core, and who is alone there."""
        threads = {"t": {"instance": 9, "loop": 3, "run": 5000, "sleep": 1000}}
        reports = [one_queue(threads, 4, algorithm=algorithm) for algorithm in names(algorithm="?")]
        self.assertEqual(len({report["elapsed_ns"] for report in reports}), 1)

    def test_turns_go_by_weight_and_higher_levels_first(self):
        """At nice 19 a turn is a quarter of a tick, at nice -20 25 ticks."""
        tasks = {"low": {"priority": 19, "loop": 1, "run": 3000}, "usual": {"loop": 1, "run": 8000},
                 "high": {"priority": -20, "loop": 1, "run": 90_000}}
        self.assertEqual(self.ends(tasks), {"high": 90, "usual": 90 + 4 + 1 + 4, "low": 90 + 4 + 1 + 4 + 2})

    def test_who_is_woken_waits_for_the_end_of_a_turn_at_its_own_level(self):
        woken = {"loop": 1, "sleep": 1000, "run": 1000}
        hog = {"loop": 1, "run": 20_000}
        self.assertEqual(self.ends({"woken": woken, "hog": hog}), {"woken": 5, "hog": 21})
        self.assertEqual(self.ends({"woken": woken | {"priority": -5}, "hog": hog}), {"woken": 2, "hog": 21})

    def test_who_is_bound_waits_at_its_core(self):
        """Two bound threads on core 0, two free ones: these have core 1 for themselves, and every third turn of core 0 as its guests."""
        tasks = {"bound": {"instance": 2, "loop": 1, "cpus": [0], "run": 20_000}, "free": {"instance": 2, "loop": 1, "run": 20_000}}
        report = one_queue(tasks, 2, algorithm="rr")
        self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
        self.assertLess(report["elapsed_ns"], 60 * MS)
        self.assertLess(task(report, "free")["last_end_ns"], 40 * MS)
        self.assertEqual(task(report, "bound")["cores"], "0")
        self.assertEqual(task(report, "free")["cores"], "0-1")

    def test_a_guest_that_waits_goes_to_a_core_that_has_nothing_to_run(self):
        """Three bound threads on core 0, which takes the free one as its guest while another one has core 1 now and then: 30 of 90 ms.
        Without that core the free thread's 40 ms would take as long as those of the bound ones."""
        tasks = {"bound": {"instance": 3, "loop": 1, "cpus": [0], "run": 40_000}, "short": {"loop": 20, "run": 1500, "sleep": 3000},
                 "free": {"loop": 1, "run": 40_000}}
        for algorithm in names(algorithm="?"):
            with self.subTest(algorithm=algorithm):
                report = one_queue(tasks, 2, algorithm=algorithm, migration="none")
                self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
                self.assertLess(task(report, "free")["last_end_ns"], 75 * MS)

    def test_messages_and_wake_ups_take_their_time(self):
        """Four threads are put in by core 0, which tells three others that sleep; a wake-up is the last core's own."""
        late = {"message_ns": 300_000, "idle_exit_ns": 200_000}
        self.assertEqual(self.ends({"t": {"instance": 4, "loop": 1, "run": 1000}}, 4, late), {"t": 1.5})
        self.assertEqual(self.ends({"t": {"loop": 2, "run": 1000, "sleep": 1000}}, 4, late), {"t": 4})

    def test_the_real_time_class_comes_first_and_leaves_some_time(self):
        urgent = {"policy": "SCHED_FIFO", "priority": 5, "loop": 1, "run": 2_000_000}
        ends = self.ends({"usual": {"loop": 1, "run": 100_000}, "urgent": urgent})
        self.assertGreater(ends["urgent"], 2050, "of each second a twentieth is the others'")
        self.assertEqual(max(ends.values()), 2100)

    def test_cores_wait_for_the_lock_of_a_level(self):
        """Each time it is held for 100 µs. Core 0 puts both in, until 0.2 ms; then both cores want it, and one gets it after the other."""
        report = one_queue({name: {"loop": 1, "run": 1000} for name in ("a", "b")}, 2, {"queue_lock_ns": 100_000})
        self.assertEqual([task(report, name)["last_end_ns"] - 1 for name in ("a", "b")], [1.3 * MS, 1.4 * MS])
        self.assertEqual(report["global_queue"]["locks"], [{"level": 20, "taken": 4, "found_taken": 1, "waited_ns": 100_000}])

    def test_more_cores_than_one_lock_can_serve(self):
        """64 cores in turns of 100 µs. Each is put in and taken out once, for 4 µs, with the lock of one round and of the next: more than
        25 cores wait for one of them, and 128 threads of 20 turns need no less than so many times 4 µs."""
        tasks = {"t": {"instance": 128, "loop": 1, "run": 2000}}
        machine = {"tick_ns": 100_000, "queue_lock_ns": 4000}
        crowded = one_queue(tasks, 64, machine)
        self.assertGreater(crowded["elapsed_ns"], 128 * 20 * 4000)
        apart = run({"machine": {"cores": 64, **machine}, "tasks": tasks})
        self.assertEqual(apart["elapsed_ns"], 4 * MS)


class AllPolicies(unittest.TestCase):
    TASKS = {"free": {"instance": 9, "loop": 20, "run": 700, "sleep": 200},
             "nice": {"instance": 3, "loop": 10, "priority": 10, "run": 900, "yield": "", "sleep": 100},
             "hog": {"instance": 3, "loop": 1, "run": 30_000},
             "bound": {"instance": 3, "loop": 10, "cpus": [2], "run": 500, "sleep": 300},
             "masked": {"instance": 3, "loop": 10, "cpus": [0, 3], "run": 500, "sleep": 300},
             "urgent": {"instance": 3, "policy": "SCHED_FIFO", "priority": 3, "loop": 20, "run": 400, "sleep": 800},
             "sharing": {"instance": 4, "loop": 10, "lock": "m", "run": 100, "unlock": "m", "barrier": "b"}}
    WORK = {"free": 9 * 20 * 700, "nice": 3 * 10 * 900, "hog": 3 * 30_000, "bound": 3 * 10 * 500, "masked": 3 * 10 * 500,
            "urgent": 3 * 20 * 400, "sharing": 4 * 10 * 100}

    def test_every_combination_finishes(self):
        """Nobody is lost and no work is, whatever goes on beside the queue."""
        kinds = (names(algorithm="?"), names(placement="?"), names(migration="?"))
        for algorithm, placement, migration in itertools.product(*kinds):
            with self.subTest(algorithm=algorithm, placement=placement, migration=migration):
                report = one_queue(self.TASKS, 5, {"message_ns": 2000, "idle_exit_ns": 3000}, algorithm=algorithm, placement=placement,
                                   migration=migration)
                self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
                self.assertEqual({found["task"]: found["run_ns"] for found in report["tasks"]},
                                 {name: work * 1000 for name, work in self.WORK.items()})
                for core in report["per_core"]:
                    self.assertEqual(core["busy_ns"] + core["idle_ns"], report["elapsed_ns"])

    def test_no_core_idles_while_somebody_waits_there(self):
        for cores in (2, 3, 8, 33):
            report = one_queue({"t": {"instance": 5 * cores, "loop": 20, "run": 1000, "sleep": 700}}, cores, placement="random")
            self.assertEqual((report["unfinished"], report["wasted_ns"]), (0, 0))

    def test_a_seed_is_one_run(self):
        first, second = (one_queue(self.TASKS, 5, placement="random") for _ in range(2))
        self.assertEqual(first | {"host_seconds": 0}, second | {"host_seconds": 0})

    def test_a_large_machine(self):
        report = one_queue({"t": {"instance": 6000, "loop": 3, "run": 1000, "sleep": 500}}, 1024)
        self.assertEqual((report["unfinished"], report["violations"]), (0, 0))
