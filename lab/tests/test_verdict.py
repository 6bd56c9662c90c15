"""What is made of a guest's last words on the debug console."""

import unittest

from lab import verdict
from lab.problem import GUEST_BROKE


class Ends(unittest.TestCase):
    def test_the_last_status_counts(self) -> None:
        said = verdict.of("corral: exit status 3\r\nnoise corral: exit status 4\r\n")
        self.assertEqual((said.status, said.message, said.remark), (4, "", ""))

    def test_a_panic_counts_more(self) -> None:
        said = verdict.of("corral: panic: out of luck \r\ncorral: exit status 0\r\n")
        self.assertEqual((said.status, said.message), (GUEST_BROKE, "the kernel panicked: out of luck"))

    def test_a_restart_is_no_failure_and_is_told(self) -> None:
        said = verdict.of("corral: restarts\n")
        self.assertEqual((said.status, said.message), (0, ""))
        self.assertIn("started its machine again", said.remark)
        self.assertEqual(verdict.of("corral: restarts\ncorral: exit status 2\n").status, 2)  # it came up again, and ended

    def test_silence_is_a_lost_guest(self) -> None:
        said = verdict.of("")
        self.assertEqual(said.status, GUEST_BROKE)
        self.assertIn("without an exit status", said.message)


if __name__ == "__main__":
    unittest.main()
