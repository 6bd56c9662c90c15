"""A Linux that hangs in the emulator is booted again, this is said, and it is not done for ever."""

import contextlib
import io
import unittest

from lab import guest
from lab.bench import hangs


class Survived(unittest.TestCase):
    def setUp(self) -> None:
        self.boots = 0
        self.said = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def hangs(self, times: int) -> int:
        self.boots += 1
        if self.boots <= times:
            raise guest.GuestFailure(f"boot {self.boots}: the guest did not end\nits last words")
        return self.boots

    def test_who_does_not_hang_is_booted_once(self) -> None:
        self.assertEqual(hangs.survived(lambda: self.hangs(0)), 1)
        self.assertEqual(self.said.getvalue(), "")

    def test_linux_is_booted_again_and_why_is_said(self) -> None:
        self.assertEqual(hangs.survived(lambda: self.hangs(hangs.BOOTS - 1)), hangs.BOOTS)
        told = self.said.getvalue().splitlines()
        self.assertEqual(len(told), hangs.BOOTS - 1)
        self.assertIn("booted again: boot 1: the guest did not end", told[0])

    def test_who_hangs_each_time_fails(self) -> None:
        with self.assertRaisesRegex(guest.GuestFailure, f"boot {hangs.BOOTS}"):
            hangs.survived(lambda: self.hangs(hangs.BOOTS))
        self.assertEqual(self.boots, hangs.BOOTS)


if __name__ == "__main__":
    unittest.main()
