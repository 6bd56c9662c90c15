"""Kernel bugs made on purpose (/proc/provoke): each stops the machine with its reason, the core, and a backtrace by names."""

import time
import unittest

from lab import guest

PANIC_STATUS = 125


class Panic(unittest.TestCase):
    def provoke(self, name: str, *, cores: int = 4) -> str:
        """What the machine said when it stopped."""
        machine = guest.corral(
            cores,
            program=["sh", "-c", f"echo {name} > /proc/provoke; echo survived"],
            options="provoke panic=off quiet",
        )
        self.addCleanup(machine.__exit__, None, None, None)
        end = machine.ended()
        said = machine.said() + machine.debug_console()
        self.assertEqual(end.status, PANIC_STATUS, said)
        self.assertNotIn("survived", said)
        return said

    def check(self, name: str, reason: str, function: str) -> None:
        said = self.provoke(name)
        self.assertIn(reason, said)
        self.assertRegex(said, r"corral: panic ")
        self.assertRegex(said, rf"#\d+ 0x[0-9a-f]+ .*{function}")
        self.assertRegex(said, r"on core [0-3]")

    def test_a_panic(self) -> None:
        self.check("panic", "provoked", "run_system_call")

    def test_nmis_do_not_interrupt_it(self) -> None:
        """They stop the other cores; the one that panics says all it has to say, however many arrive."""
        # Not `panic=off`: QEMU that is to end while its monitor has a command waits for that for ever.
        with guest.corral(2, options="provoke panic=halt quiet") as machine:
            machine.prompt()
            machine.send("sleep 1; echo panic > /proc/provoke\n")
            verdict = "corral: panic provoked\n"
            deadline = time.monotonic() + guest.PATIENCE_SECONDS
            while verdict not in machine.debug_console() and time.monotonic() < deadline:
                machine.qmp.monitor("nmi")
            self.assertIn(verdict, machine.debug_console(), machine.said())

    def test_a_null_pointer_does_not_loop(self) -> None:
        self.check("null", "kernel page fault at 0x0 (read)", "read_null")

    def test_a_stack_overflow_names_its_core(self) -> None:
        self.check("stack", "kernel stack overflow on core", "overflow_stack")

    def test_kernel_text_cannot_be_written(self) -> None:
        self.check("write-text", "(write)", "write_text")

    def test_kernel_data_cannot_be_executed(self) -> None:
        self.check("execute-data", "(execute)", "run_system_call")

    def test_user_memory_is_closed_to_the_kernel(self) -> None:
        self.check("read-user", "kernel page fault at 0x400000 (read)", "read_user")

    def test_locks_in_the_wrong_order(self) -> None:
        said = self.provoke("lock-order")
        self.assertIn("provoked, inner", said)
        self.assertIn("provoked, outer", said)

    def test_only_with_the_option(self) -> None:
        text, end = guest.run_program(["sh", "-c", "echo panic > /proc/provoke; echo survived"], cores=1)
        self.assertEqual(end.status, 0)
        self.assertIn("survived", text)


class FailingAllocations(unittest.TestCase):
    """Every allocation of ordinary commands fails once: an error or one ended process, never the machine."""

    COMMANDS = ("ls -l /proc", "cat /proc/meminfo | wc -l", "mandelbrot 2 --mode array --iterations 10", "dd if=/dev/zero of=/tmp/x bs=8k count=4")
    ALLOCATIONS = 120

    def test_each_in_turn(self) -> None:
        machine = guest.corral(2, options="provoke quiet panic=off")
        self.addCleanup(machine.__exit__, None, None, None)
        machine.prompt()
        for command in self.COMMANDS:
            loop = (
                f"for n in $(seq 1 {self.ALLOCATIONS}); do "
                f"sh -c 'echo fail-allocation '$n' > /proc/provoke; {command}; true' > /dev/null 2>&1; "
                "echo fail-allocation 0 > /proc/provoke; done"
            )
            machine.run(loop)
            self.assertEqual(machine.run("echo alive | tr a-z A-Z").output, "ALIVE\n", command)


if __name__ == "__main__":
    unittest.main()
