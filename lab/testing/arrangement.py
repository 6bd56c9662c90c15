"""An arrangement of the scheduler that a boot option chooses: guests that have it, in which no invariant may be violated.

Mix into a unittest.TestCase that sets OPTION.
"""

from __future__ import annotations

from lab import guest, soak
from lab.testing.selection import slow
from lab.testing.shared_guest import SharedGuest


class ArrangedGuest(SharedGuest):
    """One guest for many tests. RESET: the commands after which it is arranged as it was booted."""

    OPTION: str
    RESET: str

    @classmethod
    def boot(cls) -> guest.Guest:
        return guest.corral(cls.CORES, options=f"quiet {cls.OPTION}")

    def tearDown(self) -> None:
        self.said(self.RESET)
        found = soak.violations(self.said("cat /proc/sched"))
        assert found == 0, f"{found} invariants are violated"


class ArrangedCores:
    """The same programs on other numbers of cores."""

    OPTION: str
    PROGRAMS: str

    def check(self, cores: int) -> None:
        program = ["sh", "-c", f"{self.PROGRAMS} && cat /proc/sched"]
        with guest.corral(cores, options=f"quiet {self.OPTION}", program=program) as machine:
            assert machine.ended().status == 0, machine.said()[-2000:]
            found = soak.violations(machine.text.replace("\r", ""))
            assert found == 0, f"{found} invariants are violated"

    def test_on_one(self) -> None:
        self.check(1)

    @slow
    def test_on_two_and_eight(self) -> None:
        for cores in (2, 8):
            self.check(cores)
