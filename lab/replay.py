"""What a run that failed leaves behind, and the same run again: `corral run --replay FILE`.

A dump is a JSON file: the machine, the kernel's options and the program, a digest of the kernel, how it ended, and the
kernel's account of policies that failed (docs/safety.md) and of invariants that were violated (docs/checker.md). With a
seed a run repeats bit for bit, so the same kernel gives the same account again.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import paths, runner, verdict
from lab.machine import Folder, Machine
from lab.problem import WRONG_USE, Problem

VERSION = 1
ACCOUNT = re.compile(r"^corral: account begins\r?\n(.*?)^corral: account ends\r?$", re.MULTILINE | re.DOTALL)
COUNTS = ((re.compile(r"failures [1-9]\d*"), "policies"), (re.compile(r"violations [1-9]\d*"), "invariants"))  # in an account
DIFFERENT = 1  # exit status of a replay that went another way


@dataclass(frozen=True)
class Dump:
    cores: int
    memory_mib: int
    seed: int | None
    append: str
    program: tuple[str, ...]
    debian: bool
    own_root: bool
    by_image: bool
    by_uefi: bool
    folders: tuple[tuple[str, str], ...]  # tag and path
    disks: tuple[str, ...]
    kernel: str  # digest of its file
    status: int
    message: str  # why there is no status, such as a panic
    account: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return bool(self.message or self.account)

    def request(self, timeout: float | None, on_end: Callable[[str], None]) -> runner.Request:
        machine = Machine(cores=self.cores, memory_mib=self.memory_mib, seed=self.seed,
                          folders=tuple(Folder(tag, Path(path)) for tag, path in self.folders),
                          disks=tuple(map(Path, self.disks)))
        return runner.Request(machine, "qemu", self.append, self.program, timeout, self.by_image, self.by_uefi, self.debian,
                              self.own_root, on_end=on_end)


def digest(kernel: Path) -> str:
    return hashlib.sha256(kernel.read_bytes()).hexdigest()


def dump(of: runner.Request, debug_console: str) -> Dump:
    """Of a run that has ended, whose debug console said this."""
    said = verdict.of(debug_console)
    found = ACCOUNT.search(debug_console)
    machine = of.machine
    return Dump(machine.cores, machine.memory_mib, machine.seed, of.append, of.program, of.debian, of.own_root, of.by_image,
                of.by_uefi, tuple((folder.tag, str(folder.path)) for folder in machine.folders),
                tuple(map(str, machine.disks)), digest(paths.KERNEL_ELF), said.status, said.message,
                tuple(found[1].splitlines()) if found else ())


def keep(of: Dump, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": VERSION, **asdict(of)}, indent=1) + "\n", encoding="utf-8")


def load(file: Path) -> Dump:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        if read["version"] != VERSION:
            raise Problem(f"{file}: a dump of version {read['version']}, this is version {VERSION}",
                          "use the Corral that wrote it", WRONG_USE)
        del read["version"]
        read["folders"] = tuple((tag, path) for tag, path in read["folders"])
        for name in ("program", "disks", "account"):
            read[name] = tuple(read[name])
        found = Dump(**read)
    except OSError as error:
        raise Problem(f"{file}: {error.strerror}", "name a file that ./corral run or ./corral hunt has left", WRONG_USE) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Problem(f"{file}: this is no dump of a run", "name a file that ./corral run or ./corral hunt has left",
                      WRONG_USE) from error
    if found.seed is None:
        raise Problem(f"{file}: that run had no seed, so no other is the same", "run it with --seed N: what fails then repeats",
                      WRONG_USE)
    return found


def keep_failed(of: Dump) -> None:
    """After a run of the user's own: nothing, when it did not fail."""
    if of.failed:
        file = paths.BUILD / "dumps" / ("last.json" if of.seed is None else f"seed-{of.seed}.json")
        keep(of, file)
        print(told(of, file), file=sys.stderr)


def told(of: Dump, file: Path) -> str:
    """For the user, after a run of his own that failed."""
    counts = [f"{found[0]} of {whose}" for count, whose in COUNTS for line in of.account if (found := count.match(line))]
    first = ", ".join(counts) or "the run failed"
    again = f"again: ./corral run --replay {paths.shown(file)}" if of.seed is not None else "with --seed N it could be repeated"
    return f"corral: {first}; kept in {paths.shown(file)}; {again}"


def compared(before: Dump, now: Dump) -> list[str]:
    """What is different in the second run, in lines for the user; none: it is the same."""
    out = []
    if (before.status, before.message) != (now.status, now.message):
        out.append(f"it ended otherwise: {now.message or f'status {now.status}'} instead of {before.message or f'status {before.status}'}")
    out += list(difflib.unified_diff(before.account, now.account, "the dump", "this run", lineterm="", n=1))
    if out and before.kernel != now.kernel:
        out.append("This is another kernel than the one that wrote the dump.")
    return out


def again(file: Path, timeout: float | None) -> int:
    """Runs it, and says whether it is the same: exit status 0, else DIFFERENT."""
    before = load(file)
    outcome: list[str] = []

    def compare(said: str) -> None:
        different = compared(before, dump(request, said))
        outcome.append("different" if different else "same")
        print("\n".join(different or ["corral: the same again"]), file=sys.stderr)

    request = before.request(timeout, compare)
    status = runner.run(request)
    return 0 if outcome == ["same"] else DIFFERENT if outcome else status
