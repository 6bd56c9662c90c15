"""One point of `./corral bench groups`: what runs, on which cores, with which caches."""

from __future__ import annotations

from dataclasses import dataclass, fields

NAME = "groups"
TOOLS = ("threadload", "sysbench")
LAYOUTS = ("grouped", "alternate", "double-alternate")
UNGROUPED = "none"
METHODS = (UNGROUPED, "affinity-mask", "blocked-migration", "run-queue-entry")
DYNAMIC = "dynamic"
RATIOS = ("1:1", "2:1", "1:2", "3:1", "1:3", DYNAMIC)
# What is behind the cores' own caches: 4 MiB for 32 cores, in one piece or one for each few neighbours.
CACHES = {"one": "l2=4M:16", "pairs": "l2=256K:16,l2per=2", "fours": "l2=512K:16,l2per=4", "halves": "l2=2M:16,l2per=16",
          "free": "roi=on"}  # nothing is a region: an access to memory costs an instruction's time, and nothing is counted; quicker
COUNTED = tuple(name for name in CACHES if name != "free")
# A run here is tens of milliseconds: the ratio has to be computed more often than usual, 100 ms.
DYNAMIC_WORDS = "dynamic=on,interval=2000"


@dataclass(frozen=True)
class Point:
    """`share`: how many of a hundred threads are real-time; those of sysbench are all normal."""

    tool: str = "threadload"
    threads: int = 500
    layout: str = "grouped"
    method: str = "affinity-mask"
    ratio: str = "1:1"
    share: int = 50
    caches: str = "one"

    @property
    def groups(self) -> str:
        """As /proc/sched and sched.groups= take them."""
        if self.method == UNGROUPED:
            return UNGROUPED
        ratio = DYNAMIC_WORDS if self.ratio == DYNAMIC else f"ratio={self.ratio}"
        return f"{self.method}:layout={self.layout},{ratio}"

    @property
    def options(self) -> str:
        """Corral's, about groups."""
        return "" if self.method == UNGROUPED else f"sched.groups={self.groups}"

    def plain(self) -> Point:
        """Without what makes no difference to it, so that equal ones are one."""
        usual = Point()
        alike: dict[str, object] = {"share": 0} if self.tool == "sysbench" else {}
        if self.method == UNGROUPED:
            alike |= {"layout": usual.layout, "ratio": usual.ratio}
        return Point(**{field.name: alike.get(field.name, getattr(self, field.name)) for field in fields(self)})

    def metric(self, what: str) -> str:
        return f"{self.tool}.{self.caches}.real-time-{self.share}.{what}"

    def __str__(self) -> str:
        groups = self.method if self.method == UNGROUPED else f"{self.method} {self.layout} {self.ratio}"
        return f"{self.threads} threads of {self.tool}, {self.share} % real-time, {groups}, caches: {self.caches}"
