"""Whether a figure of Corral's is higher than Linux's, where lower is better.

By medians where there are few runs. Where there are FEWEST on each side, what is higher only by chance is told apart: by ranks (Mann and
Whitney), uncorrected for the number of figures, so that one in twenty counts as higher that is not.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lab.compare import judge

FEWEST = 4  # of fewer no order of ranks is as rare as CHANCE
CHANCE = 0.05
OK, BY_CHANCE, HIGHER = "ok", "chance", "HIGHER"


def judged(corral: Sequence[float], linux: Sequence[float], tolerance: float) -> str:
    """`tolerance`: a part of Linux's median that is no difference."""
    if statistics.median(corral) <= statistics.median(linux) * (1 + tolerance):
        return OK
    if min(len(corral), len(linux)) >= FEWEST and judge.chance(corral, linux) >= CHANCE:
        return BY_CHANCE
    return HIGHER
