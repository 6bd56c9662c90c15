"""An emulator ends with the command that started it, whatever ends that."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from lab import emulators, guest, paths
from lab.machine import Boot, Machine
from lab.problem import Problem

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


class Closed(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(mock.patch.object(emulators, "_closed", False))
        self.enterContext(mock.patch.object(emulators, "_running", set()))

    def test_what_was_being_started_ends_as_well(self) -> None:
        """A thread is between its look whether anything may be started and the start, when all is closed."""
        starting, go_on = threading.Event(), threading.Event()
        child = mock.Mock()
        child.poll.return_value = 0

        def launch(*_: object, **__: object) -> mock.Mock:
            starting.set()
            go_on.wait(60)
            return child

        with mock.patch.object(subprocess, "Popen", side_effect=launch):
            starter = threading.Thread(target=emulators.start, args=(["emulator"],))
            closer = threading.Thread(target=emulators.close)
            starter.start()
            self.assertTrue(starting.wait(60))
            closer.start()
            closer.join(0.5)  # it has nothing to wait for but the starter
            go_on.set()
            for thread in (starter, closer):
                thread.join(60)
        child.wait.assert_called()
        self.assertEqual(emulators._running, set())

    def test_then_nothing_is_started(self) -> None:
        emulators.close()
        with mock.patch.object(subprocess, "Popen") as launch, self.assertRaisesRegex(Problem, "no emulator is started"):
            emulators.start(["emulator"])
        launch.assert_not_called()

    def test_a_guest_that_is_not_started_leaves_nothing(self) -> None:
        """After Ctrl-C, a point of a sweep that had just begun."""
        emulators.close()
        with tempfile.TemporaryDirectory() as name, mock.patch.object(tempfile, "tempdir", name):
            with self.assertRaisesRegex(Problem, "no emulator is started"):
                guest.Guest(Machine(), Boot(Path("kernel")))
            self.assertEqual(os.listdir(name), [])


class Lanes(unittest.TestCase):
    """One lane, which is busy with the first of three tasks when it is left."""

    def setUp(self) -> None:
        self.under_way, self.go_on = threading.Event(), threading.Event()
        self.closed = self.enterContext(mock.patch.object(emulators, "close", side_effect=self.go_on.set))
        self.ended: list[int] = []

    def task(self, number: int) -> None:
        self.under_way.set()
        self.go_on.wait(60)
        self.ended.append(number)

    def left_by(self, end: BaseException) -> None:
        with self.assertRaises(type(end)), emulators.lanes(1) as lanes:
            for number in range(3):
                lanes.submit(self.task, number)
            self.assertTrue(self.under_way.wait(60))
            raise end

    def test_an_error_waits_for_what_has_begun(self) -> None:
        threading.Timer(0.2, self.go_on.set).start()
        self.left_by(Problem("no luck"))
        self.assertEqual(self.ended, [0])
        self.closed.assert_not_called()

    def test_ctrl_c_and_who_wants_no_more_end_it(self) -> None:
        for end in (KeyboardInterrupt(), GeneratorExit()):
            with self.subTest(end=end):
                self.setUp()
                self.left_by(end)
                self.assertEqual(self.ended, [0])
                self.closed.assert_called_once()


if __name__ == "__main__":
    unittest.main()
