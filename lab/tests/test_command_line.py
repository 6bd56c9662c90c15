"""Kernel command lines: quoting, its inverse, and GRUB's quoting in between."""

import unittest

from lab import command_line
from lab.problem import Problem


class Compose(unittest.TestCase):
    def test_plain_words_stay_plain(self) -> None:
        self.assertEqual(command_line.compose(["quiet", "", "timer.hz=100"]), "quiet timer.hz=100")

    def test_the_program_comes_after_two_dashes(self) -> None:
        self.assertEqual(command_line.compose(["quiet"], ["sh", "-c", "echo a b"]), 'quiet -- sh -c "echo a b"')

    def test_no_program_no_dashes(self) -> None:
        self.assertNotIn("--", command_line.compose(["quiet"]))

    def test_an_empty_argument_survives(self) -> None:
        self.assertEqual(command_line.compose([], ["echo", ""]), '-- echo ""')

    def test_split_undoes_every_quoting(self) -> None:
        for argument in ("a", "", "a b", 'say "x"', "back\\slash", "it's", "\\", '"', "tab\there", "$HOME;ls|wc"):
            with self.subTest(argument=argument):
                self.assertEqual(command_line.split(command_line.quoted(argument)), [argument])

    def test_the_seed_is_the_machine_s_unless_something_else_is_said(self) -> None:
        self.assertEqual(command_line.with_seed("", 7), "interleave.seed=7")
        self.assertEqual(command_line.with_seed("quiet", 7), "quiet interleave.seed=7")
        self.assertEqual(command_line.with_seed("interleave.seed=0 quiet", 7), "interleave.seed=0 quiet")

    def test_line_breaks_are_refused(self) -> None:
        with self.assertRaises(Problem):
            command_line.compose([], ["a\nb"])

    def test_a_line_too_long_is_refused(self) -> None:
        with self.assertRaises(Problem) as caught:
            command_line.compose([], ["x" * 3000])
        self.assertIn("2047", caught.exception.what)

    def test_grub_sees_single_quotes(self) -> None:
        self.assertEqual(command_line.for_grub('quiet -- sh -c "it\'s $x"'), "'quiet' '--' 'sh' '-c' 'it'\\''s $x'")

    def test_what_grub_would_lose_is_refused(self) -> None:
        for line in ('-- echo ""', '-- echo "a\tb"'):
            with self.subTest(line=line), self.assertRaises(Problem):
                command_line.for_grub(line)

    def test_grub_s_own_quoting_is_understood(self) -> None:
        self.assertEqual(command_line.split("it\\'s \"a \\\"b\\\" c\" \\x41"), ["it's", 'a "b" c', "\\x41"])
