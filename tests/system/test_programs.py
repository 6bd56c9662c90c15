"""Programs given on the command line: their output, their status, and the host's own files."""

import os
import pty
import re
import select
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import guest, paths

CORRAL = str(paths.ROOT / "corral")
# A guest that ran into this has hung; no busy host needs so long.
LIMIT = "300"

SOURCE = r"""
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    for (int i = 0; i < argc; ++i) printf("%d=[%s]\n", i, argv[i]);
    return argc;
}
"""


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Calls `./corral run` as a person does."""
    return subprocess.run([CORRAL, "run", "--timeout", LIMIT, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


class Status(unittest.TestCase):
    def test_the_first_process_s_status_is_the_verdict(self) -> None:
        for status in (0, 1, 42, 255):
            with self.subTest(status=status):
                _, end = guest.run_program(["sh", "-c", f"exit {status}"], cores=2)
                self.assertEqual(end.status, status, end.message)

    def test_a_program_that_is_not_there(self) -> None:
        text, end = guest.run_program(["no-such-program"], cores=1)
        self.assertEqual(end.status, 127)
        self.assertIn("no-such-program", text)

    def test_arguments_with_spaces_and_quotes(self) -> None:
        text, end = guest.run_program(["echo", "a  b", "", 'say "x"', "it's"], cores=1)
        self.assertEqual(end.status, 0)
        self.assertIn("a  b  say \"x\" it's\n", text)


class Terminal(unittest.TestCase):
    """`./corral run` in a terminal, as it is used most."""

    def test_a_shell_and_the_way_out(self) -> None:
        child, terminal = pty.fork()
        if child == 0:
            os.execv(CORRAL, [CORRAL, "run", "--cores", "2", "--timeout", LIMIT])
        self.addCleanup(os.close, terminal)
        self.wait_for(terminal, rb"# (\x1b\[6n)?$")
        os.write(terminal, b"echo 4$((1))2\n")
        self.wait_for(terminal, rb"412\r+\n")
        os.write(terminal, b"\x01x")
        self.wait_for(terminal, rb"never said", until_closed=True)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def wait_for(self, terminal: int, pattern: bytes, *, until_closed: bool = False) -> None:
        said = b""
        while not re.search(pattern, said):
            ready, _, _ = select.select([terminal], [], [], float(LIMIT))
            self.assertTrue(ready, f"waited in vain for {pattern!r}: {said[-2000:]!r}")
            try:
                said += os.read(terminal, 4096)
            except OSError:  # how Linux says that the other side of a pseudo-terminal has gone
                self.assertTrue(until_closed, f"ended before {pattern!r}: {said[-2000:]!r}")
                return


class Command(unittest.TestCase):
    def test_output_and_status_of_a_guest_program(self) -> None:
        ended = command("--cores", "2", "--", "sh", "-c", "echo out; exit 3")
        self.assertEqual((ended.stdout, ended.returncode), ("out\n", 3), ended.stderr)

    def test_a_program_of_the_host(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            program = Path(name) / "shows-arguments"
            subprocess.run(["gcc", "-static", "-O1", "-x", "c", "-", "-o", str(program)], input=SOURCE, text=True,
                           check=True)
            ended = command("--", str(program), "one", "two words")
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertEqual(ended.stdout, "0=[/host/shows-arguments]\n1=[one]\n2=[two words]\n")

    def test_a_dynamic_program_is_refused_with_advice(self) -> None:
        ended = command("--", "/usr/bin/gcc")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("-static", ended.stderr)

    def test_time_runs_out(self) -> None:
        ended = subprocess.run([CORRAL, "run", "--timeout", "5", "--", "sleep", "100000"], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 124, ended.stderr)
        self.assertIn("--timeout", ended.stderr)

    def test_a_seed_gives_the_same_output_twice(self) -> None:
        words = ("--cores", "2", "--seed", "5", "--", "sh", "-c", "cat /proc/uptime; mandelbrot 4 --mode array --iterations 50")
        first, second = command(*words), command(*words)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, second.stdout)

    def test_wrong_options_name_the_right_ones(self) -> None:
        ended = command("--core", "4")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--cores", ended.stderr)
