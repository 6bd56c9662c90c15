"""Programs of Debian 12, dynamically linked and unmodified: every trial of lab/programs.py, in one guest with 4 cores.

A program that works must go on working; one that is known not to must still fail, so that docs/programs.md, which is
written from the same table, never says less or more than what is true.
"""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import debian, guest, paths, programs
from lab.testing.shared_guest import SharedGuest
from lab.testing.terminal import Terminal
from lab.trial import Trial

SCRIPTS = paths.SYSTEM_TESTS / "debian"


class Programs(SharedGuest, unittest.TestCase):
    @classmethod
    def boot(cls) -> guest.Guest:
        files = {file.name: file.read_bytes() for file in SCRIPTS.iterdir()}
        return guest.corral(cls.CORES, initramfs=debian.initramfs(), options="quiet",
                            memory_mib=debian.MEMORY_MIB, files=files)

    def attempt(self, trial: Trial) -> None:
        answer = self.machine.run(trial.command)
        works = re.fullmatch(trial.shows, answer.output) is not None
        if trial.lacks:
            self.assertFalse(works, f"{trial.name} works: take its `lacks` out of lab/programs.py")
        else:
            self.assertTrue(works, f"{trial.command}\nshowed\n{answer.output[-3000:]}\nnot\n{trial.shows}")

    def test_our_own_programs_are_there(self) -> None:
        assert self.machine is not None
        answer = self.machine.run("corral-sched | head -n 1; mandelbrot 4 --iterations 10 | tail -n 1")
        self.assertRegex(answer.output, r"\Aalgorithm .*\n.*checksum=[0-9a-f]{16}\n\Z")

    def test_the_meters_of_htop_move(self) -> None:
        """The core that computes has the full meter, also when it becomes another one."""
        machine, terminal = self.machine, Terminal(100, 30)
        assert machine is not None
        with terminal.watching(machine):
            machine.run(f"{terminal.set_size}; export TERM=linux")
            machine.run("taskset -c 2 sh -c 'while :; do :; done' &")
            machine.send("htop -d 5\n")
            terminal.wait(machine, lambda shown: busy_cores(shown) == [2])
            terminal.suspend(machine)
            machine.run("kill %1; taskset -c 1 sh -c 'while :; do :; done' &")
            machine.send("fg %htop\n")
            terminal.wait(machine, lambda shown: busy_cores(shown) == [1])
            machine.send("q")
            machine.prompt()
        machine.run("kill $!; wait; stty rows 0 cols 0")

    def test_htop_shows_groups_at_work(self) -> None:
        """With two cores for each class, real-time threads fill meters of theirs only, all others those of the others."""
        machine, terminal = self.machine, Terminal(100, 30)
        assert machine is not None
        loop = "sh -c 'while :; do :; done' &"
        with terminal.watching(machine):
            machine.run(f"{terminal.set_size}; export TERM=linux")
            self.assertEqual(machine.run("echo groups affinity-mask:ratio=1:1 > /proc/sched").status, 0)
            machine.run(f"chrt -f 10 {loop} a=$!; chrt -f 10 {loop} b=$!")
            machine.send("htop -d 5\n")
            terminal.wait(machine, lambda shown: busy_cores(shown) == [0, 1])
            terminal.suspend(machine)
            machine.run(f"kill $a $b; {loop} a=$!; {loop} b=$!; {loop} c=$!")
            machine.send("fg %htop\n")
            terminal.wait(machine, lambda shown: busy_cores(shown) == [2, 3])
            machine.send("q")
            machine.prompt()
        machine.run("kill $a $b $c; wait; stty rows 0 cols 0; echo groups none > /proc/sched")


def busy_cores(shown: str) -> list[int]:
    """Those of four whose meters on htop's screen tell more than three quarters; none, if it has not four."""
    meters = {int(core): float(share) for core, share in re.findall(r"(\d)\[[| ]*([\d.]+)%\]", shown)}
    return [core for core, share in sorted(meters.items()) if share > 75] if len(meters) == 4 else []


def _declare(trial: Trial) -> None:
    def test(self: Programs) -> None:
        self.attempt(trial)

    setattr(Programs, "test_" + re.sub(r"\W+", "_", trial.name).strip("_"), test)


for _trial in programs.TRIALS:
    _declare(_trial)


class Command(unittest.TestCase):
    def test_a_person_runs_a_program_of_debian(self) -> None:
        ended = subprocess.run([str(paths.ROOT / "corral"), "run", "--debian", "--timeout", "300", "--", "python3", "-c",
                                "print(6 * 7)"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual((ended.stdout, ended.returncode), ("42\n", 0), ended.stderr)


class Tree(unittest.TestCase):
    def test_an_unpacked_tree_is_the_root(self) -> None:
        """What is unpacked on the host is the guest's root, to read and to write."""
        script = 'python3 -c "print(6 * 7)" && cat /etc/hostname; git --version > /said; exit 7'
        with tempfile.TemporaryDirectory(dir=paths.DEBIAN, prefix="root-") as held:
            root = Path(held) / "tree"
            subprocess.run(["cp", "-al", str(debian.tree()), str(root)], check=True)
            (root / "etc/hostname").write_text("unpacked\n", encoding="ascii")
            ended = subprocess.run([str(paths.ROOT / "corral"), "run", "--root", str(root), "--memory", "1G", "--timeout", "300",
                                    "--", "/bin/bash", "-c", script],
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
            self.assertEqual((ended.stdout, ended.returncode), ("42\nunpacked\n", 7), ended.stderr)
            self.assertRegex((root / "said").read_text(encoding="ascii"), r"\Agit version 2\.")

    def test_every_program_finds_its_libraries(self) -> None:
        """What a file of the tree is linked with is in the tree: the list of packages is complete."""
        tree = debian.tree()
        libraries = {path.name for path in (tree / "usr/lib").rglob("*.so*")} | {"ld-linux-x86-64.so.2"}
        for path in sorted((tree / "usr/bin").iterdir()) + sorted((tree / "usr/lib").rglob("*.so*")):
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                said = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
                for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
                    self.assertIn(name, libraries, str(path))


if __name__ == "__main__":
    unittest.main()
