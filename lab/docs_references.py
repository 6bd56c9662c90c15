"""Finds what the documents say about the repository, so that a test can see whether it is still true.

Three kinds of references:
  `kernel/core/mailbox.h`               a path from the root, in a code span; `*` stands for anything
  `tests/host/core/mailbox.cpp::Name`   the same, and a name that stands in that file (a test, a function)
  [text](../kernel/core/mailbox.h)      a link, relative to the document, or to a heading of one
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.docs_commands import FENCE

ROOMS = "kernel|lib|lab|tests|user|docs"
SPAN = re.compile(rf"`((?:{ROOMS})/[\w./*+-]*)(?:::(\w+))?`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    file: Path
    line: int
    text: str  # as it is written
    target: str  # path from the root (a span) or from the document's folder (a link)
    name: str = ""
    heading: str = ""
    is_link: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def references(file: Path) -> Iterator[Reference]:
    """Those outside code blocks. Links to other sites are left alone."""
    fenced = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        if fenced:
            continue
        for match in SPAN.finditer(line):
            yield Reference(file, number, match[0], match[1], name=match[2] or "")
        for match in LINK.finditer(line):
            if "://" not in match[1]:
                target, _, heading = match[1].partition("#")
                yield Reference(file, number, match[0], target, heading=heading, is_link=True)


def fault(reference: Reference, root: Path) -> str:
    """What is wrong with it; "" when it holds."""
    base = reference.file.parent if reference.is_link else root
    if reference.target == "":
        found = [reference.file]
    elif "*" in reference.target:
        found = list(base.glob(reference.target))
    else:
        found = [path for path in [base / reference.target] if path.exists()]
    if not found:
        return "there is no such path"
    text = "\n".join(path.read_text(encoding="utf-8") for path in found if path.is_file() and path.suffix != ".png")
    if reference.name and not re.search(rf"\b{reference.name}\b", text):
        return f"{reference.name} does not stand there"
    if reference.heading and reference.heading not in map(anchor, HEADING.findall(text)):
        return f"no heading there gives #{reference.heading}"
    return ""


def anchor(heading: str) -> str:
    """The fragment that leads to a heading, as code forges make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")
