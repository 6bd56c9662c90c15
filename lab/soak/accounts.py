"""What is in use when everything rests, and what the kernel says of its own scheduling: compared from round to round.

Pages in use besides those of the kernel's heap, of files, and of the shell that started it all (which remembers what it has
done) must be the same to the page, and so must the heap's objects, the threads and the processes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.problem import Problem

NUMBERS = ("MemFree", "Cached", "Slab")  # of /proc/meminfo, in KiB
SHELL = ("VmRSS", "VmPTE")  # of the shell, in KiB
COUNTED = {"objects": "objects more are in the heap", "threads": "threads more are there", "processes": "processes more are there"}
PAGE_KIB = 4
LOADAVG = re.compile(r"^[\d.]+ [\d.]+ [\d.]+ \d+/(\d+) \d+$", re.MULTILINE)


@dataclass(frozen=True)
class Account:
    """Memory in KiB, what is counted, and how often the kernel corrected a policy or found an invariant violated."""

    memory: dict[str, int]
    violations: int

    def in_use(self) -> tuple[int, ...]:
        """KiB less those that are not counted, and numbers: only differences mean something."""
        return (-sum(self.memory[name] for name in (*NUMBERS, *SHELL)), *(self.memory[name] for name in COUNTED))


def read(text: str) -> Account:
    """What the script's account() showed."""
    found = {name: int(value) for name, value in re.findall(r"^(\w+):?[ \t]+(\d+)", text, re.MULTILINE)}
    found |= {"threads": int(number) for number in LOADAVG.findall(text)}
    wanted = (*NUMBERS, *SHELL, *COUNTED)
    missing = [name for name in wanted if name not in found]
    if missing:
        raise Problem(f"the guest tells no {', '.join(missing)}:\n{text[-1000:]}")
    return Account({name: found[name] for name in wanted}, violations(text))


def violations(text: str) -> int:
    """How often a scheduling policy had to be corrected, or an invariant was violated: /proc/sched, and the
    failures of /proc/sched-dump."""
    between_cores = re.findall(r"^(?:placement violations|migration violations|groups violations|invariants violated|failures) (\d+)", text, re.MULTILINE)
    return sum(map(int, between_cores)) + sum(int(line.split()[-1]) for line in text.splitlines()
                                                 if re.match(r" *\d+ +\w+ ", line))


def lost_pages(before: Account, after: Account) -> int:
    """Pages in use after and not before, besides the heap's, the shell's and those of files."""
    return (after.in_use()[0] - before.in_use()[0]) // PAGE_KIB


def differences(before: Account, after: Account) -> str:
    """What is not as it was; "" when all is well."""
    found = []
    if (pages := lost_pages(before, after)) > 0:
        found.append(f"{pages} pages more are in use")
    for name, what in COUNTED.items():
        if (more := after.memory[name] - before.memory[name]) > 0:
            found.append(f"{more} {what}")
    if after.violations:
        found.append(f"{after.violations} scheduling decisions had to be corrected")
    return "; ".join(found)
