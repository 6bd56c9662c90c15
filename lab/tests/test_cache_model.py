"""The words for the cache model, and the tables of what it counted."""

import json
import tempfile
import unittest
from pathlib import Path

from lab import cache_model, main, paths, qemu
from lab.machine import Boot, Machine
from lab.problem import Problem


def sums(start: int) -> dict[str, int]:
    return {event: start + i for i, event in enumerate(cache_model.EVENTS)}


def told(label: str, threads: int, l2_cores: int = 2) -> str:
    cores = [{"core": i, "user": sums(10), "kernel": sums(100)} for i in range(2)]
    named = [{"thread": i, "name": "worker", "user": sums(i * 1000), "kernel": sums(0)} for i in range(threads)]
    cache = {"size": 16384, "ways": 4, "line": 64}
    return json.dumps({"label": label, "l1": cache, "l2": cache | {"size": 1 << 21}, "l2_cores": l2_cores, "l1_latency": 1, "l2_latency": 2,
                       "cores": cores, "threads": named})


class Words(unittest.TestCase):
    def plugin(self, parameters: str, *, seeded: bool = False) -> str:
        return cache_model.plugin(parameters, Path("/a,b/report"), seeded=seeded)

    def test_presets_and_parameters_are_passed_on(self) -> None:
        self.assertEqual(self.plugin("pi,l1lat=3"), f"{paths.PLUGIN},preset=pi,l1lat=3,out=/a,,b/report")
        self.assertEqual(self.plugin(""), f"{paths.PLUGIN},out=/a,,b/report")

    def test_what_cannot_be_is_refused_at_once(self) -> None:
        for words in ("out=/x", "quantum=2000", "roi=on,clock=stalls", "clock=parallel"):
            with self.subTest(words=words), self.assertRaises(Problem):
                self.plugin(words)
        self.assertIn("quantum=2000", self.plugin("quantum=2000", seeded=True))
        self.assertIn("quantum=0", self.plugin("quantum=0"))

    def test_wrong_use_is_said_before_anything_is_built(self) -> None:
        for words in (["--model", "quantum=2000"], ["--model-report", "x"], ["--model", "--emulator", "bochs"]):
            with self.subTest(words=words), self.assertRaises(Problem):
                main.dispatch(["run", "--yes", *words])

    def test_qemu_gets_them(self) -> None:
        line = qemu.command(Machine(plugin="a.so,l1=16K:4"), Boot(), qemu.Wiring())
        self.assertEqual(line[line.index("-plugin") + 1], "a.so,l1=16K:4")
        self.assertNotIn("-plugin", qemu.command(Machine(), Boot(), qemu.Wiring()))


class Tables(unittest.TestCase):
    def reports(self, *texts: str) -> list[cache_model.Report]:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "report"
            file.write_text("".join(text + "\n" for text in texts), encoding="ascii")
            return cache_model.read(file)

    def test_a_report_that_was_not_written_is_none(self) -> None:
        self.assertEqual(cache_model.read(Path("/no/such")), [])

    def test_all_that_was_counted_is_there(self) -> None:
        first, last = self.reports(told("1", 1), told("end", 3))
        self.assertIn("at mark 1", cache_model.lines(first)[0])
        text = "\n".join(cache_model.lines(last))
        self.assertIn("at the end: L1 16 KiB, 4 ways, of each core; L2 2 MiB, 4 ways, shared; lines of 64 bytes", text)
        self.assertRegex(text, r"(?m)^ *core 1 +user +10 +11 +12 +13 +14 +15\n +kernel +100 +101")
        self.assertRegex(text, r"(?m)^all cores +user +20 +22")
        self.assertLess(text.index("2 worker"), text.index("1 worker"), "who needs most comes first")
        self.assertNotIn("0 worker", text)
        [clustered] = self.reports(told("end", 1, l2_cores=1))
        self.assertIn("ways, shared by 1 cores each;", cache_model.lines(clustered)[0])
        self.assertEqual(last.total("kernel", "cycles"), 202)
        self.assertEqual(last.thread("worker")["user"]["instructions"], 3000)

    def test_of_many_threads_the_rest_is_one_row(self) -> None:
        [report] = self.reports(told("end", 25))
        self.assertRegex("\n".join(cache_model.lines(report)), r"(?m)^4 more threads +user +10000 ")

    def test_an_empty_region_is_explained(self) -> None:
        nothing = {event: 0 for event in cache_model.EVENTS}
        cache = {"size": 16384, "ways": 4, "line": 64}
        report = cache_model.Report("end", cache, cache, 1, [{"core": 0, "user": nothing, "kernel": nothing}], [])
        self.assertIn("roi=on", cache_model.lines(report)[-1])


if __name__ == "__main__":
    unittest.main()
