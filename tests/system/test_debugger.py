"""gdb on the kernel: the helper commands of lab/gdb, on a guest that goes on."""

import unittest

from lab import debugger, guest


class Seen(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with guest.corral(2, gdb=True, options="quiet") as machine:
            machine.prompt()
            machine.run("taskset 2 sh -c 'while :; do :; done' &")
            machine.run("sleep 1000 & sleeper=$!")
            cls.number = machine.run("echo $sleeper").output.strip()
            cls.seen = debugger.seen(str(machine.gdb_socket))
            cls.still = machine.run("echo still there")

    def test_the_guest_goes_on(self) -> None:
        self.assertEqual((self.still.output, self.still.status), ("still there\n", 0))

    def test_who_runs_is_shown_with_the_core(self) -> None:
        self.assertRegex(self.seen, r"(?m)^core   0  apic   0  bootstrap  ")
        self.assertRegex(self.seen, r"(?m)^core   1  apic   1  online     thread \d+ \(sh, running\)$")

    def test_queues_are_shown(self) -> None:
        self.assertRegex(self.seen, r"(?m)^core 1: runs thread \d+ \(sh, running\); 0 waiting$")

    def test_a_thread_is_shown_with_its_state_its_home_and_its_call(self) -> None:
        self.assertRegex(self.seen, rf"(?m)^process {self.number} thread {self.number} \(sleep, sleeping\), "
                                    r"(home core \d|no home), nowhere, rip 0x\w+ rax 230 rdi 0x\w+ step .*run_system_call")

    def test_what_each_core_executes_is_shown(self) -> None:
        self.assertRegex(self.seen, r"(?m)^Thread 1 \(Thread [\d.]+ \(CPU#0 .*\)\):\n#0 ")
        self.assertRegex(self.seen, r"(?m)^Thread 2 \(Thread [\d.]+ \(CPU#1 .*\)\):\n#0 ")


if __name__ == "__main__":
    unittest.main()
