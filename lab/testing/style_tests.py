"""What clang-tidy says of the kernel's sources, by .clang-tidy; one result for each file.

A file that passed is not looked at again until it, a header that it includes, the configuration, the compiler's options or
clang-tidy itself is another: a mark under build/tidy/passed/ is named after all of these.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from lab import build, paths
from lab.testing.selection import Selection
from lab.testing.tally import Tally

SUITE = "style"
PROGRAM = "clang-tidy-19"
CONFIGURATION = paths.ROOT / ".clang-tidy"
PASSED = paths.TIDY_BUILD / "passed"
INCLUDE = re.compile(rb'^#include "([^"]+)"', re.MULTILINE)
FOUND = re.compile(r"^(\S[^:\n]*:\d+:\d+): (?:error|warning): (.*)$", re.MULTILINE)
MEND = "mend it, or say why it stands: // NOLINT(the check): the reason"


@functools.cache
def _digest_and_includes(file: Path) -> tuple[bytes, tuple[str, ...]]:
    text = file.read_bytes()
    return hashlib.sha256(text).digest(), tuple(name.decode() for name in INCLUDE.findall(text))


def forget() -> None:
    """Lets files be read anew."""
    _digest_and_includes.cache_clear()


def closure(file: Path, roots: tuple[Path, ...]) -> list[Path]:
    """The file and all of ours that it includes, directly or not."""
    seen = {file}
    left = [file]
    while left:
        current = left.pop()
        for name in _digest_and_includes(current)[1]:
            found = next((root / name for root in (current.parent, *roots) if (root / name).is_file()), None)
            if found is not None and found not in seen:
                seen.add(found)
                left.append(found)
    return sorted(seen)


def mark(command: str, file: Path, tool: bytes) -> str:
    """The name of what is looked at: equal only when nothing that matters changed."""
    roots = tuple(Path(name) for name in re.findall(r" -I(\S+)", command))
    whole = hashlib.sha256(tool + CONFIGURATION.read_bytes() + command.encode())
    for part in closure(file, roots):
        whole.update(str(part).encode() + _digest_and_includes(part)[0])
    return whole.hexdigest()


def findings(told: str) -> list[str]:
    return [f"{os.path.relpath(place, paths.ROOT)}: {text}" for place, text in FOUND.findall(told)]


def look_at(file: Path) -> tuple[bool, str]:
    done = subprocess.run([PROGRAM, "--quiet", "-p", str(paths.TIDY_BUILD), str(file)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def run(selection: Selection, tally: Tally, *, verbose: bool) -> None:
    build.configure(build.TIDY, verbose=verbose)
    build.build(build.TIDY, verbose=verbose)
    PASSED.mkdir(exist_ok=True)
    tool = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True).stdout
    entries = json.loads((paths.TIDY_BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    told: set[str] = set()
    pending: list[tuple[Path, str, Path]] = []
    for entry in sorted(entries, key=lambda entry: entry["file"]):
        file = Path(entry["file"])
        name = os.path.relpath(file, paths.ROOT)
        if file.suffix != ".cpp" or not selection.wants(SUITE, name):
            continue
        passed = PASSED / mark(entry["command"], file, tool)
        if passed.exists():
            tally.ok(SUITE, name)
        else:
            pending.append((file, name, passed))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = {pool.submit(look_at, file): (name, passed) for file, name, passed in pending}
        try:
            for done in as_completed(waiting):
                name, passed = waiting[done]
                _tell(name, passed, done.result(), told, tally)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # at Ctrl-C hundreds wait for their turn
            raise


def _tell(name: str, passed: Path, looked_at: tuple[bool, str], told: set[str], tally: Tally) -> None:
    """The result of a file. `passed`: its mark. `told`: what was found before, since a header's faults come from each file that includes it."""
    good, output = looked_at
    tally.running(SUITE, name)
    if good:
        passed.touch()
        tally.ok(SUITE, name)
        return
    found = findings(output)
    new = [text for text in found if text not in told]
    told.update(found)
    tally.fail(SUITE, name, "\n".join([*new, MEND]) if new else "as above" if found else output[-2000:])
