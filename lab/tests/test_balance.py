"""The bench of threads that are placed anew each time they wake: its script, what it reads, its table."""

import unittest
from dataclasses import replace

from lab import boot_options, cache_model, main
from lab.bench import balance, balance_plot, balance_run, timed
from lab.bench.balance_run import EVENTS, Found, Load, Runs
from lab.bench.results import Results, from_json, medians
from lab.problem import Problem

LINE = ("balance: runtime_us=67927 calculations=808 moves=224 wake_p50_ns=26647 wake_p99_ns=106106 wake_worst_ns=184111 "
        "checksum=40f5f97e22d9421a")
LOADS = balance.LOADS


def plan(**settings: object) -> balance.Plan:
    usual = {"systems": ("corral", "linux"), "cores": (4,), "seeds": (1, 2), "caches": "today",
             "choices": (balance.Choice("random", "pull"), balance.Choice("cache-aware", "pull"))}
    return balance.Plan(**{**usual, **settings})  # type: ignore[arg-type]


def counted(refills: int) -> cache_model.Report:
    events = dict.fromkeys(cache_model.EVENTS, 7) | {"refills": refills}
    return cache_model.Report("1", {}, {}, 4, [{"core": 0, "user": events, "kernel": events}], [])


def found(load: Load, seed: int, runtime: int, refills: int, checksum: str = "c0ffee") -> Found:
    said = timed.said(balance_run.PROGRAM, LINE)[0] | {"runtime_us": str(runtime)}
    return Found(load, seed, balance_run.metrics(said, counted(refills)) | {"wasted_us": 900.0}, checksum)


def results_of(asked: balance.Plan) -> Results:
    """Random placement takes 50 ms and 4,000 refills, anything else 40 ms and 1,000; the second seed 2 ms more."""
    rows = []
    for runs in asked.boots():
        runtime, refills = (50_000, 2000) if "random" in runs.options else (40_000, 500)
        for load, seed in runs.points:
            rows += balance.rows(runs, [found(load, seed, runtime + 2000 * (seed - 1), refills)])
    return Results(balance.NAME, medians(rows))


class OneBoot(unittest.TestCase):
    def test_both_systems_run_the_same_commands(self) -> None:
        corral = Runs("corral", 4, LOADS[:1], (1, 2), "today", "sched.placement=random")
        first = [line for line in balance_run.script(corral).splitlines() if line.startswith("/host/")]
        self.assertEqual(first, balance_run.script(replace(corral, system="linux")).splitlines())
        self.assertEqual(first[1], "/host/balance 8 section 12 rounds 100 sleep 1000 seed 2 || echo FAILED")

    def test_caches_are_counted_before_anything_is_traced(self) -> None:
        lines = balance_run.script(Runs("corral", 4, LOADS, (1, 2), "today")).splitlines()
        kinds = [line.split()[0] for line in lines]
        self.assertEqual(kinds, ["/host/balance"] * 6 + ["corral-trace"] * 6 + ["mkdir"] + ["cp"] * 6)

    def test_what_the_program_says_and_what_the_model_counts_become_one(self) -> None:
        metrics = balance_run.metrics(timed.said(balance_run.PROGRAM, f"noise\n{LINE}\nmore")[0], counted(1234))
        self.assertEqual(metrics["runtime_us"], 67927)
        self.assertEqual(metrics["wake_p99_ns"], 106106)
        self.assertEqual((metrics["refills.user"], metrics["refills.kernel"]), (1234, 1234))
        self.assertNotIn("checksum", metrics)
        self.assertEqual(len(metrics), 6 + 2 * len(EVENTS))

    def test_a_sum_that_differs_is_a_problem(self) -> None:
        sums: dict[tuple[Load, int], str] = {}
        balance.check_sums([found(LOADS[0], 1, 1, 1), found(LOADS[0], 2, 1, 1, "other")], sums)
        balance.check_sums([found(LOADS[0], 1, 2, 2)], sums)
        with self.assertRaisesRegex(Problem, "seed 2: the threads' sums are c0ffee"):
            balance.check_sums([found(LOADS[0], 2, 1, 1)], sums)


class Plans(unittest.TestCase):
    def understood(self, *words: str) -> balance.Plan:
        _, values, _ = main.understand(["bench", "balance", *words])
        return balance.plan_of(values, "model", ("corral",))

    def test_usually_every_placement_meets_every_migration(self) -> None:
        choices = self.understood().choices
        policies = boot_options.policies()
        self.assertEqual({choice.placement for choice in choices}, set(policies[balance.PLACEMENT]))
        self.assertEqual(len(choices), len(policies[balance.PLACEMENT]) * len(policies[balance.MIGRATION]))
        self.assertIn(balance.Choice(balance.BASELINE, "pull"), choices)

    def test_the_quick_form_has_policies_that_there_are(self) -> None:
        asked = self.understood("--quick")
        self.assertEqual(asked.seeds, (1,))
        self.assertEqual(len(asked.choices), len(balance.QUICK_PLACEMENTS) * len(balance.QUICK_MIGRATIONS))
        self.assertIn(balance.BASELINE, balance.QUICK_PLACEMENTS)

    def test_policies_with_tunables_can_be_chosen(self) -> None:
        asked = self.understood("--placement", "affinity:warm=500,crowd=3", "--migration", "pull:hot=200", "--migration", "none",
                                "--runs", "5", "--caches", "pi", "--append", "sched.algorithm=rr")
        self.assertEqual([choice.migration for choice in asked.choices], ["pull:hot=200", "none"])
        self.assertEqual(asked.seeds, (1, 2, 3, 4, 5))
        self.assertEqual(asked.options_of(asked.choices[0]),
                         "sched.placement=affinity:warm=500,crowd=3 sched.migration=pull:hot=200 sched.algorithm=rr")
        self.assertTrue(asked.model.startswith("pi,"))

    def test_what_is_wrong_is_refused(self) -> None:
        for words in (["--placement", "affinty"], ["--migration", "pul"], ["--append", "sched.algorithm=none"], ["--caches", "tomorrow"],
                      ["--instrument", "bochs"], ["--threads", "3"], ["--system", "minix"], ["--runs", "0"]):
            with self.subTest(words=words), self.assertRaises(Problem):
                command, values, program = main.understand(["bench", "balance", *words])
                command.execute(values, program)

    def test_the_policies_that_rows_are_named_by_cannot_be_added(self) -> None:
        for word in ("sched.placement=random", "sched.migration=pull:hot=200"):
            with self.subTest(word=word), self.assertRaisesRegex(Problem, "(?s)itself sets.*--placement and --migration"):
                self.understood("--append", f"sched.algorithm=rr {word}")

    def test_each_choice_boots_once_for_each_number_of_cores(self) -> None:
        boots = [(runs.system, runs.cores, runs.options) for runs in plan(cores=(1, 8)).boots()]
        self.assertEqual(len(boots), len(set(boots)))
        self.assertEqual([system for system, _, _ in boots], ["corral", "corral", "linux"] * 2)
        self.assertEqual({runs.system for runs in plan(systems=("linux",)).boots()}, {"linux"})


class Report(unittest.TestCase):
    def test_policies_are_told_against_random_placement(self) -> None:
        asked = plan()
        lines = balance.report(results_of(asked), asked)
        first = [line.split() for line in lines if line.lstrip().startswith(("random", "cache-aware", "Linux"))][:3]
        self.assertEqual(first[0][:11], ["random", "pull", "51.0", "+0", "%", "2.0", "2.0", "+0", "%", "14", "224"])
        self.assertEqual(first[1][:9], ["cache-aware", "pull", "41.0", "-20", "%", "0.5", "0.5", "-75", "%"])
        self.assertEqual(first[1][-4:], ["27", "106", "184", "0.9"])
        self.assertEqual(first[2][:4], ["Linux", "41.0", "0.5", "0.5"])
        self.assertEqual(sum("sections of 12 KiB" in line for line in lines), len(LOADS))

    def test_the_last_table_is_of_all_loads_together(self) -> None:
        asked = plan()
        lines = balance.report(results_of(asked), asked)
        begin = next(number for number, line in enumerate(lines) if line.startswith("all loads together; 4 cores"))
        random, aware, linux = (line.split() for line in lines[begin + 4 : begin + 7])
        self.assertEqual(random, ["random", "pull", "153.0", "+0", "%", "6.0", "6.0", "+0", "%"])
        self.assertEqual(aware, ["cache-aware", "pull", "123.0", "-20", "%", "1.5", "1.5", "-75", "%"])
        self.assertEqual(linux, ["Linux", "123.0", "1.5", "1.5"])

    def test_without_random_placement_there_is_nothing_to_compare_with(self) -> None:
        asked = plan(choices=(balance.Choice("affinity", "none"),), systems=("corral",))
        text = "\n".join(balance.report(results_of(asked), asked))
        self.assertNotIn("%", text)
        self.assertNotIn("Linux", text)

    def test_a_look_says_that_it_is_one(self) -> None:
        for quick in (True, False):
            asked = plan(quick=quick)
            self.assertEqual("--quick" in "\n".join(balance.report(results_of(asked), asked)), quick)

    def test_results_come_back_from_json(self) -> None:
        asked = plan()
        results = from_json(results_of(asked).to_json())
        options = asked.options_of(asked.choices[1])
        self.assertEqual(balance.figures(results, "corral", 4, options)["busy"]["runtime_us"], 41_000)
        self.assertEqual(balance.refills(balance.figures(results, "corral", 4, options)["busy"]), 1000)
        self.assertEqual(next(row.runs for row in results.rows if row.metric == "busy.runtime_us"), (50_000, 52_000))

    def test_the_plot_is_of_all_choices_and_both_modes(self) -> None:
        points = balance_plot.by_choice(results_of(plan()))
        self.assertEqual(list(points), ["random, pull", "cache-aware, pull", "Linux"])
        self.assertEqual(points["cache-aware, pull"]["crowded.refills"], 1000)
        self.assertEqual(points["Linux"]["light.runtime_us"], 41_000)


if __name__ == "__main__":
    unittest.main()
