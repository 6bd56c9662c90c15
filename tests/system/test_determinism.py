"""A seed is one run: the same bytes again, times included. Another seed is another run."""

import re
import subprocess
import tempfile
import unittest

from lab import boots, guest, paths

DRAWING = ("mandelbrot", "4", "--mode", "array", "--size", "40x20", "--iterations", "500")
# What the cores did, counted: interrupts, messages, switches; any other interleaving shows here.
COUNTED = ("sh", "-c", "mandelbrot 4 --mode array --size 20x10; cat /proc/interrupts /proc/stat /proc/uptime")


def said(cores: int, seed: int, *program: str) -> str:
    """Everything of a run: the log with its times, the output, the debug console."""
    with guest.corral(cores, program=program, options="log.level=debug", seed=seed) as machine:
        end = machine.ended()
        if end.status != 0:
            raise AssertionError(f"seed {seed}: status {end.status} {end.message}\n{machine.said()}")
        return machine.text + machine.debug_console()


def traced(cores: int, seed: int) -> str:
    """What sums up the records of all cores."""
    with tempfile.TemporaryDirectory(prefix="corral-trace-") as folder:
        ended = subprocess.run([str(paths.ROOT / "corral"), "trace", "--cores", str(cores), "--seed", str(seed), "--timeout", "300",
                                "--output", f"{folder}/trace", "--", *DRAWING],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    found = re.search(r"^Trace: [1-9]\d* records, sha256 [0-9a-f]{64}$", ended.stdout, re.MULTILINE)
    if ended.returncode != 0 or found is None:
        raise AssertionError(f"seed {seed}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return found[0]


class Determinism(unittest.TestCase):
    def test_the_same_seed_is_the_same_run(self) -> None:
        for cores, program in ((1, DRAWING), (2, COUNTED), (4, ("/tests/futexstress",)), (8, COUNTED)):
            with self.subTest(cores=cores):
                first, second = said(cores, 7, *program), said(cores, 7, *program)
                self.assertIn("[    0.0", first)  # the log's times are compared as well
                self.assertEqual(first, second)

    def test_another_seed_is_another_run(self) -> None:
        runs = {said(4, seed, *COUNTED) for seed in (1, 2, 3)}
        self.assertEqual(len(runs), 3)

    def test_a_seed_has_its_trace(self) -> None:
        first = traced(4, 7)
        self.assertEqual(traced(4, 7), first)
        self.assertNotEqual(traced(4, 8), first)

    def test_the_command_that_is_named_repeats_the_run(self) -> None:
        run = boots.seeded(2, 12)
        with guest.corral(2, program=run.program, options=f"quiet {run.options}", seed=12) as machine:
            self.assertEqual(machine.ended().status, 0)
            text = machine.text
        again = subprocess.run([str(paths.ROOT / "corral"), "run", "--cores", "2", "--seed", "12", "--timeout", "300",
                                "--append", run.options, "--", *run.program],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout.replace("\r\n", "\n"), text.replace("\r\n", "\n"))
