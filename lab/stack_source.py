"""lwIP, the TCP/IP stack that the kernel links: its source, as Debian keeps it.

It lies beside the packages of the same name, so apt tells where, and fetches it. The digest pins it: another version, or a
changed file, is refused.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from lab import files, packages, paths
from lab.problem import Problem
from lab.progress import Progress

NEIGHBOUR = "liblwip-dev"  # the package beside which it lies
ARCHIVE = "lwip_2.1.3+dfsg1.orig.tar.xz"
DIGEST = "0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24"  # SHA-256
FETCH = "/usr/lib/apt/apt-helper"
URI = re.compile(r"^'([^']+)/[^/']+' ", re.MULTILINE)


def ensure() -> None:
    """Unpacks it into build/lwip, fetched the first time."""
    with files.exclusive(paths.STACK_SOURCE.parent):
        files.make_once(paths.STACK_SOURCE, paths.STACK_SOURCE.with_name("unpacked"), DIGEST, _make)


def _make() -> None:
    progress = Progress("Fetching the TCP/IP stack")
    archive = paths.STACK_SOURCE.with_name(ARCHIVE)
    try:
        _fetch(_place(), archive)
    except Problem:
        packages.update_lists()  # missing or outdated
        _fetch(_place(), archive)
    progress.step("unpacking")
    shutil.rmtree(paths.STACK_SOURCE, ignore_errors=True)
    _unpack(archive, paths.STACK_SOURCE)
    progress.done()


def _place() -> str:
    """The folder in which apt would find the package."""
    asked = _run(["apt-get", "--print-uris", "download", NEIGHBOUR])
    if found := URI.search(asked):
        return found[1]
    raise Problem(f"apt knows no {NEIGHBOUR}", "is this Debian 12 with its package sources? Try apt-get update")


def _fetch(place: str, archive: Path) -> None:
    _run([FETCH, "-o", "APT::Sandbox::User=", "download-file", f"{place}/{ARCHIVE.replace('+', '%2b')}", str(archive),
          f"SHA256:{DIGEST}"])  # fmt: skip


def _run(command: list[str]) -> str:
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Problem(f"there is no {command[0]} to fetch lwIP with",
                      f"unpack {ARCHIVE} of Debian's source package lwip into {paths.shown(paths.STACK_SOURCE)}") from None
    if ended.returncode != 0:
        raise Problem(f"lwIP's source could not be fetched: {ended.stderr.strip()[-400:]}",
                      "are you online, and is this Debian 12 with its package sources?")  # fmt: skip
    return ended.stdout


def _unpack(archive: Path, target: Path) -> None:
    """Its only folder becomes `target`."""
    beside = target.with_name("unpacking")
    shutil.rmtree(beside, ignore_errors=True)
    with tarfile.open(archive) as source:
        source.extractall(beside)  # noqa: S202  (its digest is known)
    (folder,) = beside.iterdir()
    folder.rename(target)
    beside.rmdir()
