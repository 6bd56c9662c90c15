"""What the page of boot options is read as: the policies that register themselves, and options with their ranges."""

import re
import unittest

from lab import boot_options, paths
from lab.problem import Problem

REGISTRATION = re.compile(r"^CORRAL_\w+\(corral::sched::\w+, \"([\w-]+)\"", re.MULTILINE)
FOLDERS = {"sched.algorithm": "algorithms", "sched.placement": "placement", "sched.migration": "migration"}


class Page(unittest.TestCase):
    def test_every_policy_is_known(self) -> None:
        for option, folder in FOLDERS.items():
            texts = [file.read_text(encoding="utf-8") for file in (paths.KERNEL_SOURCE / "sched" / folder).glob("*.cpp")]
            names = {name for text in texts for name in REGISTRATION.findall(text)}
            with self.subTest(option=option):
                self.assertEqual(set(boot_options.policies()[option]), names)
        self.assertIn("none", boot_options.policies()["sched.groups"])

    def test_what_the_kernel_takes_is_taken(self) -> None:
        for name, value in (("sched.algorithm", "rr:quantum=50"), ("timer.hz", "1000"), ("clock", "pit"), ("quiet", ""),
                            ("interleave.seed", "7")):
            boot_options.check(name, value)

    def test_what_it_would_only_warn_of_is_refused(self) -> None:
        for name, value, said in (("sched.algorithm", "csf", "did you mean `cfs`"), ("sched.algoritm", "rr", "did you mean `sched.algorithm`"),
                                  ("timer.hz", "5", "10 to 10000"), ("timer.hz", "often", "out of range"), ("clock", "tcs", "`tsc`"),
                                  ("quiet", "yes", "not taken"), ("clock", "", "is wanted")):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(Problem, said):
                boot_options.check(name, value)

    def test_an_option_is_given_once(self) -> None:
        boot_options.check_line("sched.algorithm=rr sched.placement=random quiet")
        for line in ("sched.algorithm=rr clock=pit sched.algorithm=cfs:turn=50", "quiet quiet"):
            with self.subTest(line=line), self.assertRaisesRegex(Problem, "(sched.algorithm|quiet) is given twice.*\n +Mend: leave one"):
                boot_options.check_line(line)

    def test_what_is_added_is_nothing_that_is_set_already(self) -> None:
        own = ["sched.placement=random sched.migration=pull", "counters=model"]
        boot_options.check_added("sched.algorithm=rr quiet", own, "")
        for word in ("sched.placement=affinity:warm=500", "sched.migration=pull", "counters=pmu"):
            with self.subTest(word=word), self.assertRaisesRegex(Problem, f"^--append {word}: .* itself sets\n +Mend: say it otherwise"):
                boot_options.check_added(f"clock=pit {word}", own, "say it otherwise")
        with self.assertRaisesRegex(Problem, "did you mean"):
            boot_options.check_added("clok=pit", own, "")


if __name__ == "__main__":
    unittest.main()
