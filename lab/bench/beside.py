"""Whether a figure of Corral's is higher than Linux's, where lower is better.

By medians where there are few runs. Where there are FEWEST on each side, what is higher only by chance is told apart: by ranks (Mann and
Whitney), uncorrected for the number of figures, so that one in twenty counts as higher that is not.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lab.bench.results import Row
from lab.compare import judge

FEWEST = 4  # of fewer no order of ranks is as rare as CHANCE
CHANCE = 0.05
OK, BY_CHANCE, WORSE = "ok", "chance", "HIGHER"


def judged(corral: Sequence[float], linux: Sequence[float], tolerance: float) -> str:
    """`tolerance`: a part of Linux's median that is no difference."""
    if statistics.median(corral) <= statistics.median(linux) * (1 + tolerance):
        return OK
    if min(len(corral), len(linux)) >= FEWEST and judge.chance(corral, linux) >= CHANCE:
        return BY_CHANCE
    return WORSE


def verdict(corral: Row | None, linux: Row | None, tolerance: float) -> str | None:
    """The same of two rows; None: there is nothing to compare."""
    return None if corral is None or linux is None else judged(corral.samples, linux.samples, tolerance)


def shown(found: str | None, worse: str) -> str:
    """In a table; `worse`: what WORSE is called there."""
    return "-" if found is None else worse if found == WORSE else found


def summed(claim: str, verdicts: Sequence[str | None], tolerance: float) -> str:
    """`claim`: what OK says of a figure; `tolerance`: as it was judged with."""
    compared = [found for found in verdicts if found is not None]
    chance, missing = compared.count(BY_CHANCE), len(verdicts) - len(compared)
    by_chance = f"; {chance} more are higher only by chance (p >= {CHANCE})" if chance else ""
    return f"{claim}, within {tolerance:.1%}: {compared.count(OK)} of {len(compared)} compared{by_chance}" + (f"; {missing} not comparable." if missing else ".")
