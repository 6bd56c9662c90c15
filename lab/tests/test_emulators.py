"""An emulator ends with the command that started it, whatever ends that."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from lab import paths

COMMAND = """
import sys, time
from lab import emulators
emulators.end_when_told()
child = emulators.start(["sh", "-c", sys.argv[2]])
print(child.pid, flush=True)
if sys.argv[1] == "wait": time.sleep(1000)
"""


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class Emulators(unittest.TestCase):
    def group_after(self, how: str, number: signal.Signals | None, emulator: str = "sleep 1000; true") -> int:
        with subprocess.Popen([sys.executable, "-c", COMMAND, how, emulator], cwd=paths.ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as command:  # fmt: skip
            assert command.stdout is not None
            group = int(command.stdout.readline())
            if number is not None:
                self.wait_for_program(group, emulator.split()[1] if emulator.startswith("exec") else "sh")
                command.send_signal(number)
            try:
                command.wait(60)
            finally:
                command.kill()
        return group

    def wait_for_program(self, process: int, name: str) -> None:
        deadline = time.monotonic() + 60
        while Path(f"/proc/{process}/comm").read_text(encoding="ascii").strip() != name:
            self.assertLess(time.monotonic(), deadline, "it never began")
            time.sleep(0.05)

    def assert_ends(self, group: int) -> None:
        deadline = time.monotonic() + 10
        while group_lives(group):  # its last process may still be collected
            self.assertLess(time.monotonic(), deadline, "it lives on")
            time.sleep(0.05)

    def test_the_command_ends(self) -> None:
        self.assert_ends(self.group_after("leave", None))

    def test_the_command_is_told_to_end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):  # SIGINT may be ignored by who runs the tests
            with self.subTest(signal=number):
                self.assert_ends(self.group_after("wait", number))

    def test_the_command_is_killed(self) -> None:
        self.assert_ends(self.group_after("wait", signal.SIGKILL, "exec sleep 1000"))


if __name__ == "__main__":
    unittest.main()
