"""Job control by real shells on the serial line, driven by keys: Debian's static bash, and busybox's ash.

A program that is to be stopped says so first, so that no key comes before it runs.
"""

import unittest

from lab import debian, guest, hunt
from lab.testing.shared_guest import SharedGuest

INTERRUPT, SUSPEND, QUIT, END = "\x03", "\x1a", "\x1c", "\x04"


class JobControl(SharedGuest):
    STOPPED = r"\[1\]\+\s+Stopped"

    def start(self, then: str = "exec sleep 100") -> None:
        """A job in front that has said that it runs."""
        self.machine.send(f"sh -c 'echo it is \"\"up; {then}'\n")
        self.machine.expect(r"it is up\r?\n")

    def output(self, command: str) -> str:
        return self.machine.run(command).output

    def press(self, key: str) -> None:
        self.machine.send(key)
        self.machine.prompt()

    def test_interrupt_ends_the_job_in_front(self) -> None:
        self.start()
        self.press(INTERRUPT)
        self.assertIn("gone", self.output("ps | grep -q '[s]leep 100' || echo gone"))

    def test_suspend_background_foreground(self) -> None:
        self.start()
        self.machine.send(SUSPEND)
        self.machine.expect(self.STOPPED)
        self.machine.prompt()
        self.assertRegex(self.output("jobs"), "Stopped")
        self.assertRegex(self.output("ps -o stat,args | grep '[s]leep 100'"), "(?m)^T")
        self.output("bg")
        self.assertRegex(self.output("jobs"), "Running")
        self.assertRegex(self.output("ps -o stat,args | grep '[s]leep 100'"), "(?m)^S")
        self.machine.send("fg\n")
        self.machine.expect(r"fg\r?\n")
        self.machine.run_for(1.0)
        self.press(INTERRUPT)
        self.assertNotRegex(self.output("jobs"), "Running|Stopped")

    def test_a_stopped_job_goes_on_where_it_was(self) -> None:
        self.start("n=0; while [ $n -lt 40 ]; do n=$((n + 1)); sleep 0.1; done; echo counted \"\"$n")
        self.machine.run_for(1.0)
        self.machine.send(SUSPEND)
        self.machine.expect(self.STOPPED)
        self.machine.prompt()
        self.machine.send("fg\n")
        self.machine.expect(r"counted 40(?=\r?\n)")
        self.machine.prompt()

    def test_kill_by_job_number(self) -> None:
        self.output("sleep 100 &")
        self.assertIn("status 143", self.output("kill %1; wait %1; echo status $?"))
        self.start()
        self.machine.send(SUSPEND)
        self.machine.expect(self.STOPPED)
        self.machine.prompt()
        self.output("kill %1; kill -CONT %1")  # bash continues it by itself, ash does not
        self.assertIn("gone", self.output("sleep 1; jobs; ps | grep -q '[s]leep 100' || echo gone"))

    def test_reading_in_the_background_stops(self) -> None:
        self.output("cat &")
        self.assertRegex(self.output("sleep 1; jobs"), r"Stopped")
        self.machine.send("fg\n")
        self.machine.expect(r"cat\r?\n")
        self.machine.send("a line for it\n")
        self.machine.expect(r"a line for it\r?\na line for it(?=\r?\n)")
        self.press(END)

    def test_a_pipeline_is_one_job(self) -> None:
        self.machine.send("sh -c 'echo it is \"\"up >&2; exec sleep 100' | sleep 200\n")
        self.machine.expect(r"it is up\r?\n")
        self.machine.run_for(0.5)
        self.machine.send(SUSPEND)
        self.machine.expect(self.STOPPED)
        self.machine.prompt()
        self.assertEqual(self.output("ps -o stat,args | grep -c '^T.*[s]leep [12]00'").strip(), "2")
        self.machine.send("fg\n")
        self.machine.run_for(1.0)
        self.press(INTERRUPT)
        self.assertIn("gone", self.output("ps | grep -q '[s]leep [12]00' || echo gone"))

    def test_quit(self) -> None:
        # Not by start(): busybox's shell ignores this signal until it executes the program.
        self.machine.send("awk '{ print \"it was\", $0; fflush() }'\n")
        self.machine.expect(r"fflush\(\) }'\r?\n")
        self.machine.send("up\n")
        self.machine.expect(r"it was up\r?\n")
        self.press(QUIT)
        self.assertIn("gone", self.output("ps | grep -q '[a]wk' || echo gone"))


class Ash(JobControl, unittest.TestCase):
    pass


class Bash(JobControl, unittest.TestCase):
    @classmethod
    def boot(cls) -> guest.Guest:
        return guest.corral(cls.CORES, files={"bash": debian.program("bash-static", "bin/bash-static")})

    def setUp(self) -> None:
        fresh = self.machine is None or self.machine.failed
        super().setUp()
        if fresh:
            self.machine.send("/host/bash --norc --noprofile\n")
            self.machine.prompt()
            self.machine.run("echo ready")

    def test_interrupt_ends_a_loop_of_the_shell(self) -> None:
        self.machine.send("while :; do :; done\n")
        self.machine.run_for(1.0)
        self.press(INTERRUPT)
        self.assertEqual(self.output("echo alive"), "alive\n")

    def test_wait_tells_the_status(self) -> None:
        self.assertIn("status 7", self.output("(sleep 0.3; exit 7) & wait $!; echo status $?"))
        self.output("set -o monitor; sleep 0.2 &")
        self.assertIn("over", self.output("wait; jobs; echo over"))


class Interleavings(unittest.TestCase):
    """With these seeds a child that had been told to have stopped was seen running, before that was mended."""

    def test_stopping_and_continuing(self) -> None:
        for seed in (4, 6, 7):
            with self.subTest(seed=seed):
                self.assertEqual(hunt.once(hunt.Hunt(2, ("/tests/stoptest",)), seed).failure, "")


if __name__ == "__main__":
    unittest.main()
