"""One guest for many tests: booted by the first, replaced after a test that hung or ended it."""

from __future__ import annotations

from lab import guest


class SharedGuest:
    """Mix into a unittest.TestCase that sets CORES, and MEMORY_MIB where the usual size is not wanted."""

    CORES = 4
    MEMORY_MIB = 512
    machine: guest.Guest | None = None

    def setUp(self) -> None:
        if self.machine is not None and self.machine.failed:
            self.tearDownClass()
        if self.machine is None:
            machine = type(self).machine = self.boot()
            machine.prompt()

    @classmethod
    def boot(cls) -> guest.Guest:
        """A class whose tests need another guest says so here."""
        return guest.corral(cls.CORES, memory_mib=cls.MEMORY_MIB)

    def said(self, command: str, status: int = 0) -> str:
        """What a command prints that ends as it should."""
        assert self.machine is not None
        answer = self.machine.run(command)
        if answer.status != status:
            raise AssertionError(f"status {answer.status} instead of {status}: {command}\n{answer.output[-2000:]}")
        return answer.output

    @classmethod
    def tearDownClass(cls) -> None:
        if cls.machine is not None:
            cls.machine.__exit__(None, None, None)
            cls.machine = None
