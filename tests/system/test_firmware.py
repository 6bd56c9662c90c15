"""Cores that never answer, and firmware tables that lie: a message, and a shell or a halt with the reason."""

import re
import time
import unittest
from collections.abc import Callable

from lab import elf, firmware, guest, paths
from lab.gdbstub import GdbStub

MEMORY_MIB = 512


def with_madt(cores: int, max_cores: int, change: Callable[[bytearray], bytearray]) -> guest.Guest:
    """A guest that is running with a changed MADT."""
    machine = guest.corral(cores, max_cores=max_cores, memory_mib=MEMORY_MIB, paused=True)
    try:
        stub = GdbStub(machine.gdb_socket)
        stub.run_to(elf.pvh_entry(paths.KERNEL_ELF))
        firmware.change_madt(stub, MEMORY_MIB, change)
        stub.detach()
    except BaseException:
        machine.__exit__(None, None, None)
        raise
    return machine


def cores_of(machine: guest.Guest) -> int:
    return int(machine.run("grep -c ^processor /proc/cpuinfo").output)


class Cores(unittest.TestCase):
    def test_a_disabled_core_is_never_started(self) -> None:
        with guest.corral(2, max_cores=4) as machine:
            machine.prompt()
            self.assertNotRegex(machine.text, re.compile("(no|not) (answer|respond)", re.IGNORECASE))
            self.assertEqual(cores_of(machine), 2)

    def test_a_core_that_never_answers_is_named_and_left_out(self) -> None:
        begin = time.monotonic()
        with with_madt(2, 4, lambda table: firmware.set_processors(table, lambda _: firmware.ENABLED)) as machine:
            machine.expect(re.compile(r"core [^\r\n]*(no answer|not answer|not respond)", re.IGNORECASE))
            machine.prompt()
            self.assertEqual(cores_of(machine), 2)
            self.assertEqual(machine.run("echo fine").output, "fine\n")
            uptime = float(machine.run("cat /proc/uptime").output.split()[0])
        # Two dead cores, at most two seconds each, and what an ordinary boot takes.
        self.assertLess(uptime, 2 * 2.0 + 10.0 + (time.monotonic() - begin) / 2)


class Lies(unittest.TestCase):
    def survives(self, change: Callable[[bytearray], bytearray], pattern: str) -> None:
        """It says what is wrong, then gives a shell or stops with the reason; it never just resets."""
        with with_madt(2, 2, change) as machine:
            machine.expect(re.compile(pattern, re.IGNORECASE))
            machine.expect(re.compile(r"(# \Z)|panic|halt", re.IGNORECASE))

    def test_a_wrong_checksum(self) -> None:
        def change(table: bytearray) -> bytearray:
            table[firmware.CHECKSUM_AT] ^= 0x55
            return table

        self.survives(change, r"(MADT|APIC|ACPI)[^\r\n]*checksum")

    def test_no_usable_core(self) -> None:
        self.survives(lambda table: firmware.set_processors(table, lambda _: 0), r"MADT|ACPI|usable")

    def test_an_entry_of_length_zero(self) -> None:
        def change(table: bytearray) -> bytearray:
            table[firmware.HEADER_BYTES + 1] = 0
            return firmware.mended(table)

        self.survives(change, r"MADT|ACPI|APIC")

    def test_an_entry_that_leaves_the_table(self) -> None:
        def change(table: bytearray) -> bytearray:
            table[firmware.HEADER_BYTES + 1] = 255
            return firmware.mended(table)

        self.survives(change, r"MADT|ACPI|APIC")


class Interrupts(unittest.TestCase):
    NMIS = 1000

    def test_nmis_are_reported_and_the_work_goes_on(self) -> None:
        with guest.corral(2) as machine:
            machine.prompt()
            reference = machine.run("mandelbrot 1 --mode array --iterations 100").output
            machine.send("while mandelbrot 4 --mode array --iterations 100 >> /tmp/log; do true; done &\n")
            for _ in range(self.NMIS):
                machine.qmp.monitor("nmi")
            machine.run_for(1.0)
            machine.send("\n")
            self.assertIn("NMI", machine.text)
            checksum = reference.split("checksum=")[1].strip()
            self.assertEqual(machine.run("kill %1; grep -c checksum= /tmp/log > /dev/null").status, 0)
            self.assertEqual(machine.run(f"grep -v -c checksum={checksum} /tmp/log").output, "0\n")
