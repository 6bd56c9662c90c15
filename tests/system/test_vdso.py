"""The vDSO where the machine's clock is not the processors' counter: its functions then ask the kernel."""

import unittest

from lab import guest


class OtherClock(unittest.TestCase):
    def test_the_functions_are_right_with_another_clock(self) -> None:
        text, end = guest.run_program(["/tests/vdsotest"], cores=2, options="clock=hpet")
        self.assertEqual(end.status, 0, text)

    def test_programs_see_where_it_is(self) -> None:
        text, end = guest.run_program(["grep", "-e", "vvar", "-e", "vdso", "/proc/self/maps"], cores=1)
        self.assertEqual(end.status, 0, text)
        self.assertRegex(text, r"r--p [^\n]*\[vvar\]\n[^\n]*r-xp [^\n]*\[vdso\]\n")


if __name__ == "__main__":
    unittest.main()
