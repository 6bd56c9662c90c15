"""The serial shell, driven like a person would: one guest for all that do not end it."""

import re
import unittest

from lab import guest
from lab.testing.shared_guest import SharedGuest


class Shell(SharedGuest, unittest.TestCase):
    CORES = 4

    def check(self, command: str, output: str, status: int = 0) -> None:
        self.assertEqual(self.machine.run(command), guest.Answer(output, status))

    def test_pipes(self) -> None:
        self.check("echo hello | tr a-z A-Z | wc -c", "6\n")
        self.check("seq 1 2000 | sort -rn | head -n 1", "2000\n")

    def test_a_pipe_whose_reader_leaves(self) -> None:
        self.check("yes | head -n 2", "y\ny\n")

    def test_redirection(self) -> None:
        self.check("cd /tmp; echo one > f; echo two >> f; cat < f; rm f", "one\ntwo\n")
        self.check("ls /no-such-file 2>/dev/null", "", 1)

    def test_statuses(self) -> None:
        self.check("true", "", 0)
        self.check("sh -c 'exit 42'", "", 42)
        self.check("no-such-command 2>/dev/null", "", 127)
        self.check("sh -c 'kill -9 $$'; echo $?", "Killed\n137\n")

    def test_command_substitution(self) -> None:
        self.check('x=$(echo inner); echo "$x $(( 6 * 7 ))"', "inner 42\n")

    def test_background_jobs(self) -> None:
        answer = self.machine.run("sleep 1 & wait $!; echo waited")
        self.assertIn("waited", answer.output)

    def test_many_background_jobs_at_once(self) -> None:
        self.check("sh -c 'for i in 1 2 3 4 5 6 7 8; do (sleep 0.2; echo x) & done; wait' | wc -l", "8\n")

    def test_ps_lists_processes(self) -> None:
        output = self.machine.run("ps").output
        self.assertRegex(output, r"PID\s+USER")
        self.assertRegex(output, r"(?m)^\s*1\s")
        self.assertRegex(output, r"(?m)\{?ps\b")

    def test_top_lists_every_core(self) -> None:
        output = self.machine.run("top -b -n1").output
        self.assertRegex(output, r"(?i)mem:")
        self.assertRegex(output, r"(?i)load average")
        self.assertIn("top", output)

    def test_proc_stat_has_a_line_per_core(self) -> None:
        self.check("grep -c '^cpu[0-9]' /proc/stat", f"{self.CORES}\n")

    def test_interrupts_are_counted(self) -> None:
        self.assertRegex(self.machine.run("cat /proc/interrupts").output, r"CPU0\s+CPU1")

    def test_control_c_ends_the_program_in_front(self) -> None:
        self.machine.send("sleep 1000\n")
        self.machine.expect("sleep 1000\r?\n")
        # The shell's child may not be there yet: press until the prompt returns.
        for _ in range(20):
            self.machine.send("\x03")
            if self.machine.text.rstrip(" ").endswith("#"):
                break
            self.machine.run_for(0.5)
        self.machine.send("\n")
        self.machine.prompt()
        self.check("echo alive", "alive\n")

    def test_control_c_ends_a_busy_loop(self) -> None:
        self.machine.send("while :; do :; done\n")
        self.machine.run_for(1.0)
        self.machine.send("\x03")
        self.machine.prompt()
        self.check("echo alive", "alive\n")

    def test_long_output_is_complete(self) -> None:
        output = self.machine.run("seq 1 5000").output
        self.assertEqual([int(word) for word in output.split()], list(range(1, 5001)))

    def test_environment(self) -> None:
        self.assertIn("/bin", self.machine.run("echo $PATH").output)
        self.assertTrue(self.machine.run("echo $HOME").output.strip())

    def test_mandelbrot_does_not_depend_on_threads(self) -> None:
        sums = set()
        for threads in (1, 2, 3, 4, 8, 32):
            output = self.machine.run(f"mandelbrot {threads} --mode array --iterations 500").output
            found = re.search(r"checksum=(\S+)", output)
            self.assertIsNotNone(found, output)
            sums.add(found[1] if found else "")
        self.assertEqual(len(sums), 1, sums)


class Shell1(Shell):
    """The same on one core, where everything takes turns."""

    CORES = 1

    def test_interrupts_are_counted(self) -> None:
        self.assertRegex(self.machine.run("cat /proc/interrupts").output, r"CPU0")
