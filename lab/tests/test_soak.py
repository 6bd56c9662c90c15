"""What soaks draw, tell the guest to do, judge and keep."""

import random
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab import boot_options
from lab.options import Parser
from lab.problem import Problem
from lab.soak import accounts, drive, go_load, main, plan, records, script
from lab.soak.loads import LOADS, Load
from lab.soak.records import Record

WITHOUT_GO = [load for load in LOADS.values() if not load.go]


class Plans(unittest.TestCase):
    def drawn(self, cores: int = 4, seed: int = 1, count: int = 400) -> list[plan.Round]:
        return plan.mixed(WITHOUT_GO, cores, seed, count, 5)

    def test_a_seed_is_a_plan_and_another_one_another(self) -> None:
        self.assertEqual(self.drawn(), self.drawn())
        self.assertNotEqual(self.drawn(), self.drawn(seed=2))
        self.assertNotEqual(plan.single(LOADS["hackbench"], 1, 9, 5), plan.single(LOADS["hackbench"], 2, 9, 5))

    def test_a_longer_plan_begins_like_a_shorter_one(self) -> None:
        self.assertEqual(self.drawn(count=400)[:30], self.drawn(count=30))

    def test_everything_comes(self) -> None:
        rounds = self.drawn()
        self.assertEqual({task.load.name for one in rounds for task in one.tasks}, {load.name for load in WITHOUT_GO})
        self.assertEqual({len(one.tasks) for one in rounds[1:]}, set(range(1, plan.MOST_LOADS + 1)))
        self.assertEqual({len(one.changes) for one in rounds}, set(range(plan.MOST_CHANGES + 1)))
        chosen = {tuple(choice.split(":")[0].split()[:2]) for one in rounds for choice in one.policies}
        policies = {(kind, name) for kind in plan.KINDS if kind not in plan.ARRANGEMENTS
                    for name in boot_options.policies()[f"sched.{kind}"]}
        arrangements = {(kind, name) for kind in plan.ARRANGEMENTS for name in boot_options.kinds()[f"sched.{kind}"].split("|")}
        self.assertEqual(chosen, (policies | arrangements) - {("algorithm", "fifo")})

    def test_the_first_round_has_one_of_each(self) -> None:
        self.assertEqual([task.load for task in self.drawn()[0].tasks], WITHOUT_GO)

    def test_one_core_is_never_divided(self) -> None:
        choices = {choice for one in self.drawn(cores=1) for choice in one.policies if choice.startswith("groups")}
        self.assertEqual(choices, {"groups none"})

    def test_ratios_leave_both_classes_a_core(self) -> None:
        for cores, ratio, possible in ((2, "1:1", True), (2, "1:7", False), (4, "1:7", True), (4, "3:1", True), (1, "1:1", False)):
            with self.subTest(cores=cores, ratio=ratio):
                self.assertEqual(plan._possible(ratio, cores), possible)

    def test_go_s_tests_are_drawn_by_name(self) -> None:
        with mock.patch.object(go_load, "names", lambda package: [f"Test{package.title()}{i}" for i in range(30)]):
            commands = [go_load.draw(random.Random(seed), 5) for seed in range(100)]
        for package in go_load.PACKAGES:
            self.assertTrue(any(f"/src/{package} " in command for command in commands), package)
        self.assertRegex(commands[0], r"-test.run '\^\((Test\w+[/\w]*\|)+Test\w+[/\w]*\)\$'$")


class Scripts(unittest.TestCase):
    SAID = ("@account 1.00\nMemFree: 7 kB\n@over 0 1.10\n@round 1 1.20\n@beat 11.50\n@refused groups none\n"
            "@said 1.1 0\nall\n@beat 3\n\n@end 1.1\n@said 1.2 127\nsh: none\n\n@end 1.2\n@account 14.00\nMemFree: 9 kB\n@over 1 14.25\n@round 2 14.30\n")

    def test_what_was_said_is_understood(self) -> None:
        none, rest = script.complete(self.SAID)
        assert none is not None
        self.assertEqual((none.number, none.tasks, none.account), (0, {}, "MemFree: 7 kB\n@over 0 1.10\n"))
        one, rest = script.complete(rest)
        assert one is not None
        self.assertEqual((one.number, one.begin, one.end), (1, 1.2, 14.25))
        self.assertEqual(one.tasks, {1: (0, "all\n@beat 3\n\n"), 2: (127, "sh: none\n\n")})
        self.assertEqual(one.refused, ("groups none",))
        self.assertEqual(script.complete(rest), (None, "@round 2 14.30\n"))
        self.assertEqual(script.latest(rest), 14.3)

    def test_half_a_line_is_no_mark(self) -> None:
        self.assertEqual(script.latest("@beat 11.50\n@beat 2"), 11.5)
        self.assertEqual(script.complete("@round 1 1.0\n@over 1 14.2")[0], None)

    def test_every_task_and_change_stands_there(self) -> None:
        rounds = plan.mixed(WITHOUT_GO, 4, 1, 20, 5)
        text = script.of(rounds)
        for number, one in enumerate(rounds, start=1):
            self.assertIn(f"\nfinish {len(one.tasks)}\nsaid {number}.1\n", text)
        own = sum(len(re.findall(rf"sleep {seconds}\n", text)) for seconds in ("1", "0.2"))
        self.assertEqual(text.count("sleep ") - own, sum(len(one.changes) for one in rounds))


class Accounts(unittest.TestCase):
    BEFORE = {"MemFree": 1000, "Cached": 100, "Slab": 40, "VmRSS": 80, "VmPTE": 16, "objects": 7, "threads": 3, "processes": 3}

    def difference(self, violations: int = 0, **after: int) -> str:
        return accounts.differences(accounts.Account(self.BEFORE, 0), accounts.Account(self.BEFORE | after, violations))

    def test_what_is_as_before_is_right(self) -> None:
        self.assertEqual(self.difference(), "")

    def test_pages_that_the_heap_keeps_are_not_lost(self) -> None:
        self.assertEqual(self.difference(MemFree=960, Slab=80), "")

    def test_pages_of_the_shell_are_not_lost(self) -> None:
        self.assertEqual(self.difference(MemFree=992, VmRSS=88), "")

    def test_a_lost_page_is_found(self) -> None:
        self.assertEqual(self.difference(MemFree=996), "1 pages more are in use")

    def test_a_lost_object_thread_or_process_is_found(self) -> None:
        self.assertEqual(self.difference(objects=9), "2 objects more are in the heap")
        self.assertEqual(self.difference(threads=4, processes=4), "1 threads more are there; 1 processes more are there")

    def test_what_has_gone_is_no_fault(self) -> None:
        self.assertEqual(self.difference(MemFree=1004, objects=6, threads=2, processes=2), "")

    def test_a_corrected_decision_is_found(self) -> None:
        self.assertIn("1 scheduling decisions", self.difference(violations=1))

    def test_corrected_decisions_are_counted(self) -> None:
        text = ("placement violations 1\nmigration violations 4\ngroups violations 2\ncore algorithm runnable coming   weight   switches\n"
                "   0       cfs        0      0        0         10           0          0          0               5          2\n"
                "   1       cfs        0      0        0         10           0          0          0               5          0\n"
                "migrations of core 0: pushed 9 asked 9 given 9 refused 9 offered 9\nfailures 3 seed 0\n")
        self.assertEqual(accounts.violations(text), 12)

    def test_they_are_read_from_what_the_guest_shows(self) -> None:
        text = ("processes 3\nMemFree:  1000 kB\nCached: 100 kB\nSlab: 40 kB\nobjects 7\nVmRSS:\t 80 kB\nVmPTE:\t16 kB\nThreads:\t1\n"
                "0.10 0.00 0.00 1/3 77\ninvariants violated 0\nfailures 0 seed 1\n")
        self.assertEqual(accounts.read(text), accounts.Account(self.BEFORE, 0))
        with self.assertRaises(Problem):
            accounts.read(text.replace("VmPTE", "Vmpte"))


class FakeGuest:
    """Says a little more at each look; its emulator computes meanwhile, or does not."""

    def __init__(self, *said: str, computes: float, console: str = "") -> None:
        self.text, self._said, self._computes, self._console = "", list(said), computes, console
        self._computed = 0.0
        self.qmp = mock.Mock()

    def run_for(self, _: float) -> None:
        self.text += self._said.pop(0) if len(self._said) > 1 else self._said[0]
        self._computed += self._computes

    def processor_seconds(self) -> float:
        return self._computed

    def debug_console(self) -> str:
        return self._console

    def alive(self) -> bool:
        return True


class Watching(unittest.TestCase):
    def failure(self, *said: str, computes: float = 0.0, console: str = "") -> str:
        with self.assertRaises(drive.Failure) as caught:
            drive.Watch(FakeGuest(*said, computes=computes, console=console)).round()  # type: ignore[arg-type]
        return str(caught.exception)

    def test_a_guest_that_goes_on_is_waited_for_however_long_its_host_lets_it_wait(self) -> None:
        beats = [text for second in range(10, 900, 10) for text in (f"@beat {second}.00\r\n", "")]
        over = "@over 1 900.00\r\n"
        for computes in (0.2, drive.SILENT_SECONDS / 3):
            one = drive.Watch(FakeGuest("@round 1 1.00\r\n", *beats, over, computes=computes)).round()  # type: ignore[arg-type]
            assert one is not None
            self.assertEqual(one.end, 900.0)

    def test_silence_while_the_emulator_computes_is_a_hang(self) -> None:
        self.assertIn("it hangs: no mark since 7 s of its clock", self.failure("@round 1 7.00\r\n", "", computes=20.0))

    def test_silence_of_an_emulator_that_gets_no_time_is_none_until_long(self) -> None:
        with mock.patch.object(drive, "ASLEEP_SECONDS", 0.2):
            self.assertIn("it hangs", self.failure("@round 1 7.00\r\n", ""))

    def test_a_task_that_does_not_end_is_found_by_the_guest_s_clock(self) -> None:
        beats = [f"@beat {second}.00\r\n" for second in range(10, 5000, 10)]
        self.assertIn("a task does not end", self.failure("@round 1 7.00\r\n", *beats, computes=10.0))

    def test_tasks_that_wait_for_ever_are_found_though_the_marks_go_on(self) -> None:
        beats = [f"@beat {second}.00\r\n" for second in range(10, 5000, 10)]
        self.assertIn("a task does not go on: the emulator hardly computes", self.failure("@round 1 7.00\r\n", *beats, computes=0.05))

    def test_panics_and_violations_are_told(self) -> None:
        with mock.patch.object(drive, "LAST_WORDS_SECONDS", 0.0):
            self.assertIn("the kernel panicked: why", self.failure("@round 1 7.00\r\n", console="corral: panic: why\n"))
        self.assertIn("invariant violated: two", self.failure("sched: invariant violated: two\r\n"))


class Judging(unittest.TestCase):
    TASK = plan.Task(Load("planted", "", lambda chance, seconds: "do it", "(?m)^done$"), "do it")
    ACCOUNT = ("processes 3\nMemFree: 1000 kB\nCached: 100 kB\nSlab: 40 kB\nobjects 7\nVmRSS: 80 kB\nVmPTE: 16 kB\n"
               "0.10 0.00 0.00 1/3 77\n")

    def judged(self, status: int = 0, output: str = "done\n", refused: tuple[str, ...] = (), account: str = ACCOUNT) -> str:
        said = script.Said(3, 1.0, 2.0, {1: (status, output)}, refused, account)
        try:
            drive._judge(said, plan.Round((self.TASK,)), accounts.read(self.ACCOUNT))
        except drive.Failure as failure:
            return str(failure)
        return ""

    def test_what_went_well_is_right(self) -> None:
        self.assertEqual(self.judged(), "")

    def test_a_status_counts_and_so_does_what_is_shown(self) -> None:
        self.assertIn("planted: status 3: do it", self.judged(status=3))
        self.assertIn("lacks `(?m)^done$`: do it\nnot done\n", self.judged(output="not done\n"))

    def test_whose_time_was_over_before_it_began_is_no_failure(self) -> None:
        load = Load("planted", "", lambda chance, seconds: "do it", "(?m)^done$", late="no time")
        for status, output, well in ((3, "no time\n", True), (0, "no time\n", True), (3, "no room\n", False), (0, "done\n", True)):
            with self.subTest(status=status, output=output):
                self.assertEqual(load.went_well(status, output), well)

    def test_stress_ng_may_be_late_but_not_fail(self) -> None:
        for status, word, well in ((3, "successful", True), (2, "unsuccessful", False)):
            output = f"stress-ng: info:  [9] sem: could not create any pthreads\nstress-ng: info:  [7] {word} run completed in 8.30s\n"
            with self.subTest(word):
                self.assertEqual(LOADS["stress-ng"].went_well(status, output), well)

    def test_a_task_of_which_nothing_was_said(self) -> None:
        with self.assertRaises(drive.Failure):
            drive._judge(script.Said(3, 1.0, 2.0, {}, (), self.ACCOUNT), plan.Round((self.TASK,)), None)

    def test_a_policy_that_is_refused(self) -> None:
        self.assertIn("`placement none` was refused", self.judged(refused=("placement none",)))

    def test_what_is_lost(self) -> None:
        self.assertEqual(self.judged(account=self.ACCOUNT.replace("1000 kB", "996 kB")), "1 pages more are in use")


class Kept(unittest.TestCase):
    RUNS = [Record("mixed", 4, 7, "deterministic", rounds=5, minutes=30.0, virtual_minutes=60.0, tasks={"go": 2}, counted={"pairs": 9}),
            Record("mixed", 8, 8, rounds=3, minutes=90.0, virtual_minutes=30.0, tasks={"go": 1}, again="./corral soak",
                   failure="round 4: why\nmore")]

    def test_records_are_added_up(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kept" / "soak.jsonl"
            records.append(file, self.RUNS[:1])
            records.append(file, self.RUNS[1:])
            kept = records.read(file)
        self.assertEqual(kept, self.RUNS)
        text = records.total(kept)
        self.assertRegex(text, r"deterministic +4 +1 +0 +5 +0.50 +1.00\n")
        self.assertRegex(text, r"all +2 +1 +8 +2.00 +1.50\nended as they should: 3 go\nthey did: 9 pairs\n")
        self.assertTrue(text.endswith("./corral soak: round 4: why"))

    def test_what_is_no_record_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "soak.jsonl"
            with self.assertRaises(Problem):
                records.read(file)
            for text in ("nothing\n", '{"load": "go"}\n'):
                file.write_text(text, encoding="utf-8")
                with self.assertRaises(Problem):
                    records.read(file)

    def test_the_table_shows_failures(self) -> None:
        self.assertEqual([line.split()[-1] for line in records.table(self.RUNS).splitlines()], ["result", "ok", "FAILED"])


class Commands(unittest.TestCase):
    def loads(self, *words: str) -> list[str]:
        parser = Parser()
        main.declare(parser)
        values = parser.parse_args(words)
        return [load.name for load in main.loads_of(values.load[0], values)]

    def test_a_mixture_is_of_all_or_of_those_named(self) -> None:
        self.assertEqual(self.loads("mixed"), list(LOADS))
        self.assertEqual(self.loads("mixed", "--of", "go,unmaps"), ["go", "unmaps"])
        self.assertEqual(self.loads("unmaps"), ["unmaps"])

    def test_what_there_is_not_is_refused(self) -> None:
        for words in (("hackbanch",), ("mixed", "--of", "go,unmap"), ("unmaps", "--of", "unmaps")):
            with self.subTest(words=words), self.assertRaises(Problem):
                self.loads(*words)


if __name__ == "__main__":
    unittest.main()
