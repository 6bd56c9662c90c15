"""Which tests `corral test` runs: marks and options."""

import unittest

from lab.testing.selection import Selection, exhaustive, slow


@slow
class Slow:
    def method(self) -> None:
        pass


class Plain:
    @exhaustive
    def everything(self) -> None:
        pass

    @slow
    def long(self) -> None:
        pass

    def short(self) -> None:
        pass


class Marks(unittest.TestCase):
    def left_out(self, selection: Selection) -> list[bool]:
        plain = Plain()
        return [bool(selection.left_out(test, method)) for test, method in (
            (plain, plain.short), (plain, plain.long), (Slow(), Slow().method), (plain, plain.everything))]

    def test_what_each_option_leaves_out(self) -> None:
        self.assertEqual(self.left_out(Selection()), [False, False, False, True])
        self.assertEqual(self.left_out(Selection(quick=True)), [False, True, True, True])
        self.assertEqual(self.left_out(Selection(everything=True)), [False, False, False, False])

    def test_a_name_is_found_in_any_case(self) -> None:
        self.assertTrue(Selection("MAIL").wants("host", "core/mailbox"))
        self.assertFalse(Selection("host: net").wants("host", "core/mailbox"))


if __name__ == "__main__":
    unittest.main()
