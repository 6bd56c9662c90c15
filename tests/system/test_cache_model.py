"""The emulator's cache model (docs/cache-model.md): it counts what a reference counts, and a run repeats."""

import re
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

from lab import cache_model, guest
from lab.bench import matrix as matrix_bench

LINE, WORD = 64, 4
SETS = 64  # of each first-level cache here: an address's place in its page is its place in the cache
SEED = 3
# The seed makes time a number of instructions. A plan of interleavings would interrupt the program on purpose.
UNDISTURBED = "interleave.seed=0"
MOST_MORE = 0.004  # of the refills: those of the stack, and what the kernel drives out


def stream(kib: int, passes: int) -> Iterator[int]:
    for _ in range(passes):
        yield from range(0, kib * 1024, LINE)


def matrix(n: int, passes: int) -> Iterator[int]:
    for _ in range(passes):
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    yield (i * n + k) * WORD
                    yield (n * n + k * n + j) * WORD
                yield (2 * n * n + i * n + j) * WORD


def refills(addresses: Iterator[int], ways: int) -> int:
    """What a cache that drops the least recently used line fetches, empty at first."""
    sets: list[list[int]] = [[] for _ in range(SETS)]
    missed = 0
    for address in addresses:
        line = address // LINE
        lines = sets[line % SETS]
        if lines and lines[-1] == line:
            continue
        if line in lines:
            lines.remove(line)
        else:
            missed += 1
            if len(lines) == ways:
                del lines[0]
        lines.append(line)
    return missed


def measured(parameters: str, program: list[str], *, cores: int = 1, seed: int | None = SEED, options: str = "") -> list[cache_model.Report]:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "report"
        plugin = cache_model.plugin(parameters, file, seeded=seed is not None)
        said, end = guest.run_program(program, cores=cores, seed=seed, plugin=plugin, options=options)
        assert end.status == 0, f"{end}\n{said[-2000:]}"
        return cache_model.read(file)


class Reference(unittest.TestCase):
    """A program says where its region begins and ends; one core, whose timer interrupts are the same in each run."""

    def check(self, kind: str, size: int, passes: int, ways: int) -> None:
        expected = refills({"stream": stream, "matrix": matrix}[kind](size, passes), ways)
        kib = ways * SETS * LINE // 1024
        [report] = measured(f"l1={kib}K:{ways},roi=on", options=UNDISTURBED, program=["/probes/cachewalk", kind, str(size), str(passes)])
        found = report.total("user", "refills")
        self.assertGreaterEqual(found, expected)
        self.assertLessEqual(found, expected * (1 + MOST_MORE), f"{found} instead of {expected}")

    def test_streams_of_four_times_the_cache(self) -> None:
        for ways in (4, 8):
            with self.subTest(ways=ways):
                self.check("stream", 4 * ways * SETS * LINE // 1024, 20, ways)

    def test_matrices_of_four_times_the_cache(self) -> None:
        self.check("matrix", 80, 1, 4)  # 75 KiB

    def test_what_fits_is_fetched_once(self) -> None:
        [report] = measured("l1=16K:4,roi=on", options=UNDISTURBED, program=["/probes/cachewalk", "stream", "8", "200"])
        self.assertLess(report.total("user", "refills"), 3 * 8 * 1024 // LINE, "not 200 times")

    def test_nothing_is_counted_outside_of_a_region(self) -> None:
        [report] = measured("roi=on", ["true"])
        self.assertEqual(sum(report.total(mode, event) for mode in cache_model.MODES for event in cache_model.EVENTS), 0)


class Repeats(unittest.TestCase):
    def test_two_runs_on_four_cores_count_the_same(self) -> None:
        # Between marks: how far the cores get while QEMU ends is the host's affair.
        command = ["sh", "-c", "corral-region reset; /tests/forktest > /dev/null && corral-region dump"]
        runs = [measured("quantum=2000,clock=parallel", command, cores=4)[0] for _ in range(2)]
        self.assertEqual(runs[0], runs[1])
        self.assertGreater(runs[0].total("user", "snoops"), 0)


class VirtualTime(unittest.TestCase):
    """With a seed the guest's clock is exact: it is the same on every host."""

    def said(self, parameters: str, program: list[str]) -> str:
        with tempfile.TemporaryDirectory() as name:
            plugin = cache_model.plugin(parameters, Path(name) / "report", seeded=True)
            said, end = guest.run_program(program, cores=4, seed=SEED, plugin=plugin, options=UNDISTURBED)
        self.assertEqual(end.status, 0, said[-2000:])
        return said

    def computing_ms(self, parameters: str, threads: int) -> float:
        said = self.said(parameters, ["mandelbrot", str(threads), "--mode", "array", "--size", "20x10"])
        found = re.search(r"compute_ms=([\d.]+)", said)
        assert found, said
        return float(found[1])

    def test_cores_run_at_the_same_time(self) -> None:
        parallel = "quantum=2000,clock=parallel"
        one, four = self.computing_ms(parallel, 1), self.computing_ms(parallel, 4)
        self.assertGreater(one / four, 3.3)
        self.assertLess(one / four, 4.01)
        self.assertGreater(self.computing_ms("quantum=2000", 4), 0.99 * one, "QEMU's clock counts all cores' instructions")

    def test_outside_of_a_region_too(self) -> None:
        parallel = "roi=on,quantum=2000,clock=parallel"
        self.assertGreater(self.computing_ms(parallel, 1) / self.computing_ms(parallel, 4), 3.3)

    def test_a_refill_takes_time(self) -> None:
        kib, passes, latency, ns_of_a_cycle = 64, 100, 50, 8  # four times the cache; lab/qemu.py: 2^3 ns

        def took(cycles: int) -> int:
            said = self.said(f"l1=16K:4,l1lat={cycles},l2lat=0,clock=stalls", ["/probes/cachewalk", "stream", str(kib), str(passes)])
            return int(said.split()[-2])

        refills_took = kib * 1024 // LINE * passes * latency * ns_of_a_cycle
        self.assertAlmostEqual((took(latency) - took(0)) / refills_took, 1.0, delta=0.03)


class Matrices(unittest.TestCase):
    def test_the_bench_counts_what_its_program_does(self) -> None:
        case = next(case for case in matrix_bench.CASES if case.figure == "8b")
        figure = matrix_bench.once(case, matrix_bench.Plan(quick=True), matrix_bench.QUANTUM)
        multiplications = 64 * 1000 // matrix_bench.DIVIDED_WHEN_QUICK * 20 * 25
        self.assertAlmostEqual(figure.accesses["user"] / (2 * multiplications), 1.0, delta=0.02)
        self.assertGreater(figure.cycles["user"], figure.instructions["user"])
        self.assertGreater(figure.instructions["kernel"], 0)


if __name__ == "__main__":
    unittest.main()
