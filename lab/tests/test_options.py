"""A wrong option, command or value names the right one and ends with status 2."""

import contextlib
import io
import shlex
import tempfile
import unittest

from lab import options
from lab.main import main, understand
from lab.problem import WRONG_USE, Problem


def refused(*arguments: str) -> str:
    """What the command says when it refuses these words."""
    try:
        understand(list(arguments))
    except Problem as problem:
        assert problem.status == WRONG_USE, problem.status
        return str(problem)
    raise AssertionError(f"{arguments} was not refused")


class Refusals(unittest.TestCase):
    def test_a_near_option_is_named(self) -> None:
        self.assertIn("did you mean --cores?", refused("run", "--core", "3"))
        self.assertIn("did you mean --timeout?", refused("run", "--time-out=3"))

    def test_an_option_of_another_command_is_named_with_it(self) -> None:
        self.assertIn("./corral bench", refused("run", "--quick"))

    def test_a_bench_comes_first_and_has_options_of_its_own(self) -> None:
        self.assertIn("./corral bench operations", refused("bench", "load", "--by", "threads"))
        self.assertIn("./corral bench mandelbrot", refused("bench", "--threads", "2"))
        self.assertIn("NAME", refused("bench"))
        self.assertIn("did you mean --operations?", refused("bench", "operations", "--operation", "fork"))

    def test_a_near_command_is_named(self) -> None:
        self.assertIn("`bench`", refused("bnch"))

    def test_a_program_without_dashes_is_explained(self) -> None:
        self.assertIn("./corral run -- mandelbrot 8", refused("run", "mandelbrot", "8"))

    def test_dashes_without_a_program(self) -> None:
        self.assertIn("no program", refused("run", "--"))

    def test_commands_without_programs_refuse_one(self) -> None:
        self.assertIn("runs no program", refused("test", "--", "ls"))

    def test_numbers_are_checked(self) -> None:
        for words in (("run", "--cores", "0"), ("run", "--cores", "x"), ("run", "--timeout", "-1"),
                      ("run", "--seed", "-1"), ("bench", "mandelbrot", "--cores", "1,,2")):
            with self.subTest(words=words):
                refused(*words)

    def test_status_and_stream(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(main(["run", "--core", "3"]), WRONG_USE)
            self.assertEqual(main(["run", "--memory", "lots", "--", "true"]), WRONG_USE)
            self.assertEqual(main(["run", "--cores", "999", "--", "true"]), WRONG_USE)
            self.assertEqual(main(["run", "--emulator", "qem"]), WRONG_USE)
            self.assertEqual(main(["bench", "mandelbort"]), WRONG_USE)
            self.assertEqual(main(["bench", "mandelbrot", "--instrument", "bosch"]), WRONG_USE)
            self.assertEqual(main(["test", "--suite", "kernal"]), WRONG_USE)
            self.assertEqual(main(["setup", "qemuu"]), WRONG_USE)
        for mend in ("did you mean `qemu`", "did you mean `mandelbrot`", "did you mean `bochs`",
                     "did you mean `kernel`", "1 to 255", "--memory 512M"):
            self.assertIn(mend, said.getvalue())


class Recordings(unittest.TestCase):
    def test_no_option_is_passed_over(self) -> None:
        """With one the recording is a workload, which an empty one cannot be; and is not replayed."""
        with tempfile.NamedTemporaryFile(suffix=".records") as file:
            for option in (("--cores", "8"), ("--algorithm", "rr"), ("--seed", "2"), ("--json", "x.json")):
                command, values, program = understand(["simulate", file.name, *option])
                with self.subTest(option=option), self.assertRaisesRegex(Problem, "no switches between threads are recorded"):
                    command.execute(values, program)


class Measured(unittest.TestCase):
    """A measurement of nothing, or of something else than was asked for, is refused before anything is built."""

    def test_it_is_refused(self) -> None:
        for words, wanted in ((("bench", "load", "--loads", ","), "names no load"), (("bench", "operations", "--operations", ""), "names no operation"),
                              (("bench", "latency", "--cases", ","), "names no case"), (("bench", "matrix", "--figures", ","), "names no figure"),
                              (("bench", "groups", "--questions", ","), "names no question"),
                              *(((*command, "--append", "sched.algoritm=rr", *after), "did you mean `sched.algorithm`") for command, after in (
                                  (("bench", "load"), ()), (("bench", "operations"), ()), (("bench", "mandelbrot"), ()), (("bench", "latency"), ()),
                                  (("bench", "groups"), ()), (("hunt", "--seeds", "1"), ("--", "/tests/pipetest"))))):
            with self.subTest(words=words), self.assertRaisesRegex(Problem, wanted) as raised:
                command, values, program = understand(list(words))
                command.execute(values, program)
            self.assertEqual(raised.exception.status, WRONG_USE)


class Booted(unittest.TestCase):
    def test_an_option_that_the_kernel_has_not_is_refused(self) -> None:
        for command in ("run", "debug", "image", "trace"):
            with self.subTest(command=command), self.assertRaisesRegex(Problem, "did you mean `sched.algorithm`"):
                understand([command, "--append", "quiet sched.algoritm=rr"])
        _, values, _ = understand(["run", "--append", "quiet sched.algorithm=of-tomorrow -- words for=init"])
        self.assertEqual(values.append, "quiet sched.algorithm=of-tomorrow -- words for=init")


class Huge(unittest.TestCase):
    """What would fill the memory, or be waited for until the sun is cold, is a slip of the keyboard."""

    def test_it_is_refused_at_once(self) -> None:
        for words in (("bench", "load", "--cores", "1-100000000000"), ("hunt", "--seeds", "1-4000000000", "--", "true"),
                      ("bench", "load", "--runs", "1000000000"), ("run", "--timeout", "1e300"), ("sweep", "x.toml", "--patience", "1e18")):
            with self.subTest(words=words):
                self.assertRegex(refused(*words), "more than 1000000|at most 1e\\+07")


class Again(unittest.TestCase):
    def again(self, *words: str, leave_out: tuple[str, ...] = ()) -> str:
        command, values, _ = understand(list(words))
        name = " ".join(words[: 2 if words[0] == "bench" else 1])
        return options.again(name, command.declare, values, leave_out)

    def test_what_is_not_as_usual_is_said(self) -> None:
        self.assertEqual(self.again("bench", "operations", "--cores", "1-2", "--quick", "--append", "a b", "--runs=4"),
                         "./corral bench operations --cores 1,2 --append 'a b' --runs 4 --quick")
        self.assertEqual(self.again("bench", "operations", "--by", "processes"), "./corral bench operations")

    def test_what_is_given_again_and_again_is_said_again_and_again(self) -> None:
        self.assertEqual(self.again("simulate", "w.json", "--algorithm", "rr", "--algorithm", "cfs"),
                         "./corral simulate w.json --algorithm rr --algorithm cfs")

    def test_what_does_not_count_is_left_out(self) -> None:
        self.assertEqual(self.again("sweep", "grid.toml", "--jobs", "7", "--yes", leave_out=("jobs", "yes")), "./corral sweep grid.toml")

    def test_it_is_understood_as_before(self) -> None:
        words = ["bench", "load", "--loads", "mutex", "--system", "linux", "--instrument", "wall", "--cores", "1,4"]
        _, before, _ = understand(words)
        _, after, _ = understand(shlex.split(self.again(*words))[1:])
        self.assertEqual(after, before)


class Understood(unittest.TestCase):
    def test_everything_after_the_dashes_belongs_to_the_program(self) -> None:
        _, values, program = understand(["run", "--cores", "8", "--", "mandelbrot", "8", "--mode", "--", "array"])
        self.assertEqual(values.cores, 8)
        self.assertEqual(program, ["mandelbrot", "8", "--mode", "--", "array"])

    def test_lists_and_ranges(self) -> None:
        _, values, _ = understand(["bench", "mandelbrot", "--cores", "1-3,8", "--threads", "4,2"])
        self.assertEqual(values.cores, [1, 2, 3, 8])
        self.assertEqual(values.threads, [2, 4])
