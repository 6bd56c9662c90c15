"""What a machine does not do: burn the host's processors while idle, allocate where threads wake and change places."""

import re
import time
import unittest

from lab import guest


class Idle(unittest.TestCase):
    """An idle guest sleeps. Counted is processor time, so that a busy host does not matter."""

    SETTLING_SECONDS = 3.0
    SECONDS = 10.0
    MOST_OF_ONE_PROCESSOR = 0.1  # the emulator's own work included; cores that spin use all there is

    def used_while_idle(self, options: str) -> float:
        with guest.corral(4, options=options) as machine:
            machine.prompt()
            machine.run_for(self.SETTLING_SECONDS)
            began, used = time.monotonic(), machine.processor_seconds()
            machine.run_for(self.SECONDS)
            used, elapsed = machine.processor_seconds() - used, time.monotonic() - began
            self.assertEqual(machine.run("echo awake").output, "awake\n")
            return used / elapsed

    def test_an_idle_guest_leaves_the_host_alone(self) -> None:
        self.assertLess(self.used_while_idle(""), self.MOST_OF_ONE_PROCESSOR)

    def test_also_with_a_clock_that_must_be_read_often(self) -> None:
        self.assertLess(self.used_while_idle("clock=pit"), self.MOST_OF_ONE_PROCESSOR)


class Allocations(unittest.TestCase):
    DISTANT = 1_000_000_000

    def test_none_for_wake_ups_and_switches(self) -> None:
        """Ten times as many of them take as many allocations: those of starting the program."""
        with guest.corral(4, options="provoke quiet") as machine:
            machine.prompt()

            def run(effort: int) -> tuple[int, int]:
                script = (
                    f"grep ctxt /proc/stat; echo fail-allocation {self.DISTANT} > /proc/provoke; "
                    f"/tests/futexstress {effort} > /dev/null; tail -n 1 /proc/provoke; grep ctxt /proc/stat"
                )
                answer = machine.run(script)
                before, left, after = (int(number) for number in re.findall(r"(?:ctxt|fail-allocation) (\d+)", answer.output))
                return self.DISTANT - left, after - before

            run(1)  # what caches and pools take at the first time
            few, few_switches = run(1)
            many, many_switches = run(10)
            self.assertGreater(few, 0)
            self.assertGreater(many_switches - few_switches, 10_000)
            self.assertLess(many - few, (many_switches - few_switches) // 100)


class Clocks(unittest.TestCase):
    def lasts(self, clock: str, named: str) -> None:
        with guest.corral(2, options=f"clock={clock}") as machine:
            machine.prompt()
            self.assertRegex(machine.text, rf"clock: {named}")
            answer = machine.run("a=$(cut -d. -f1 /proc/uptime); sleep 2; b=$(cut -d. -f1 /proc/uptime); echo $((b - a))")
            self.assertGreaterEqual(int(answer.output), 1)

    def test_pit(self) -> None:
        self.lasts("pit", "8254")

    def test_pm(self) -> None:
        self.lasts("pm", "ACPI")

    def test_hpet(self) -> None:
        self.lasts("hpet", "HPET")

    def test_x2apic_where_there_is_none(self) -> None:
        with guest.corral(2, options="x2apic=on") as machine:
            machine.prompt()
            self.assertIn("x2apic=on: this processor has no x2APIC mode; using xAPIC", machine.text)
            self.assertEqual(machine.run("nproc").output, "2\n")


if __name__ == "__main__":
    unittest.main()
