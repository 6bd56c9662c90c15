"""Busybox's whole set of applets. What does not depend on the machine is run here as well, by the same program, and must
say the same there (applets/same.sh); what shows the system, or changes it, has its expectation beside it (applets/guest.txt).
"""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import guest, paths
from lab.testing.shared_guest import SharedGuest

FOLDER = paths.SYSTEM_TESTS / "applets"
BUSYBOX = "/usr/bin/busybox"


def lines(name: str) -> list[str]:
    return [line for line in (FOLDER / name).read_text(encoding="ascii").splitlines() if line and not line.startswith("#")]


SAME = lines("same.sh")
GUEST = [tuple(line.split("\t")) for line in lines("guest.txt")]
LEFT_OUT = {name for line in lines("left_out.txt") for name in line.partition(":")[2].split()}


def applets() -> list[str]:
    return subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()


class Applets(SharedGuest, unittest.TestCase):
    @classmethod
    def boot(cls) -> guest.Guest:
        return guest.corral(cls.CORES, options="quiet", files={f"{i}.sh": (line + "\n").encode() for i, line in enumerate(SAME)})

    def said_here(self, number: int) -> str:
        with tempfile.TemporaryDirectory(prefix="corral-applets-") as held:
            programs, work = Path(held) / "bin", Path(held) / "work"
            programs.mkdir()
            work.mkdir()
            for name in applets():
                (programs / name).symlink_to(BUSYBOX)
            script = Path(held) / f"{number}.sh"
            script.write_text(SAME[number] + "\n", encoding="ascii")
            ended = subprocess.run([str(programs / "sh"), str(script)], cwd=work, stdin=subprocess.DEVNULL, umask=0o022,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
                                   env={"PATH": str(programs), "HOME": "/tmp"})  # fmt: skip
            return ended.stdout.decode("latin-1")

    def compare(self, number: int) -> None:
        assert self.machine is not None
        there = self.machine.run(f"mkdir -p /tmp/{number}; cd /tmp/{number}; env -i PATH=$PATH HOME=/tmp sh /host/{number}.sh "
                                 "< /dev/null 2>&1 | cat; cd /; true")  # fmt: skip
        self.assertEqual(there.output, self.said_here(number), SAME[number])

    def expect(self, typed: str, shows: str) -> None:
        assert self.machine is not None
        self.assertRegex(self.machine.run(f"{{ {typed}; }} 2>&1").output, rf"\A(?:{shows})\Z", typed)

    def test_every_applet_is_tried_or_named(self) -> None:
        typed = "\n".join([*SAME, *(row[1] for row in GUEST)])
        tried = set(re.findall(r"[\w\[.+-]+", typed)) | {row[0] for row in GUEST}
        self.assertEqual([name for name in applets() if name not in tried | LEFT_OUT], [])

    def test_the_guest_has_every_applet(self) -> None:
        assert self.machine is not None
        there = self.machine.run("for name in $(busybox --list); do which $name > /dev/null || echo $name; done").output.split()
        self.assertEqual(there, ["init", "linuxrc"])  # /init is ours


def _declare() -> None:
    for number, line in enumerate(SAME):
        def same(self: Applets, number: int = number) -> None:
            self.compare(number)

        first = re.sub(r"\W+", "_", line)[:24].strip("_")
        setattr(Applets, f"test_same_{number:02}_{first}", same)
    for name, typed, shows in GUEST:
        def there(self: Applets, typed: str = typed, shows: str = shows) -> None:
            self.expect(typed, shows)

        setattr(Applets, f"test_{name}", there)


_declare()

if __name__ == "__main__":
    unittest.main()
