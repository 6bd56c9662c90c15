"""When two sets of figures count as different.

Figures that repeat are compared exactly. Figures that vary are compared by rank (Mann and Whitney's U, two-sided, with Holm's
correction for their number), which asks nothing of their distribution: ALARM is the chance to see any change where there
is none, however many are compared. The more are compared, the more runs of each are needed: `fewest` says how many. The size
of the change is Hodges and Lehmann's: the median of all ratios of one of B's figures to one of A's. What is smaller than
SMALLEST is none, and where SOUGHT would not have been seen, that is the verdict.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lab.problem import Problem

ALARM = 0.001
DRIFT = 0.01  # how probable it is that halves of one set differ that much, below which it counts as changed meanwhile
ROUNDING = 1e-9  # of a chance that is computed in two ways
SMALLEST = 0.01
SOUGHT = 0.02
FEWEST = 8  # runs on each side
COUNTED = 25  # runs on a side, up to which all orders of ranks are counted. The usual approximation is bad where they are few and rare
WORDS = ("worse", "changed", "unclear", "better", "same")  # in the order in which they are told


@dataclass(frozen=True)
class Verdict:
    word: str
    ratio: float | None  # B to A; None: A is 0
    why: str = ""


def _word(ratio: float, better: str) -> str:
    if better == "neither":
        return "changed"
    return "worse" if (ratio > 1) == (better == "lower") else "better"


def exact(a: Sequence[float], b: Sequence[float], better: str, tolerance: float = 0.0) -> Verdict:
    """`tolerance`: a part of A that is no change. Where one side was measured more often, only what both have counts."""
    both = min(len(a), len(b))
    if tuple(a[:both]) == tuple(b[:both]):
        return Verdict("same", 1.0)
    before, after = statistics.median(a[:both]), statistics.median(b[:both])
    if before == after:
        return Verdict("changed" if tolerance == 0 else "same", 1.0, "the median is the same, single runs are not")
    if abs(after - before) <= tolerance * abs(before):
        return Verdict("same", after / before)
    if before == 0:
        return Verdict(_word(math.inf if after > 0 else -math.inf, better), None)
    return Verdict(_word(after / before, better), after / before)


def noisy(pairs: Sequence[tuple[Sequence[float], Sequence[float], str]]) -> list[Verdict]:
    """A's and B's figures, all above 0, and which are better: a verdict for each."""
    needed = fewest(len(pairs))
    enough = [index for index, (a, b, _) in enumerate(pairs) if min(len(a), len(b)) >= needed and min(*a, *b) > 0]
    chances = [chance(*pairs[index][:2]) for index in enough]
    corrected = dict(zip(enough, holm(chances)))
    return [_noisy(*pair, corrected[index]) if index in corrected else _too_few(*pair[:2], needed) for index, pair in enumerate(pairs)]


def fewest(figures: int) -> int:
    """Runs on each side. With fewer no order of ranks is as rare as ALARM, when so many figures are compared at once."""
    return next(runs for runs in itertools.count(FEWEST) if figures * 2 / math.comb(2 * runs, runs) < ALARM)


def chance(a: Sequence[float], b: Sequence[float]) -> float:
    """How probable it is that sets of one and the same thing differ that much (Mann and Whitney)."""
    try:
        from scipy.stats import mannwhitneyu
    except ImportError:
        raise Problem("scipy is not installed", "./corral setup statistics") from None
    method = "exact" if max(len(a), len(b)) <= COUNTED else "asymptotic"
    return float(mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def _too_few(a: Sequence[float], b: Sequence[float], needed: int) -> Verdict:
    return Verdict("unclear", None, f"{min(len(a), len(b))} runs above 0, {needed} are needed")


def _noisy(a: Sequence[float], b: Sequence[float], better: str, corrected: float) -> Verdict:
    low, ratio, high = interval(a, b)
    told = f"p = {corrected:.1g}"
    if corrected < ALARM and abs(ratio - 1) >= SMALLEST:
        drifting = [name for name, side in (("A", a), ("B", b)) if drifts(side, ratio)]
        if not drifting:
            return Verdict(_word(ratio, better), ratio, told)
        return Verdict("unclear", ratio, f"{' and '.join(drifting)} changed while being measured")
    if high / ratio - 1 > SOUGHT - SMALLEST or 1 - low / ratio > SOUGHT - SMALLEST:
        return Verdict("unclear", ratio, f"the runs vary too much: changes below {max(high / ratio, ratio / low) - 1 + SMALLEST:.0%} do not show")
    if corrected >= ALARM and abs(ratio - 1) >= SMALLEST:
        return Verdict("unclear", ratio, f"{told}: more runs would tell")
    return Verdict("same", ratio, told)


def holm(chances: Sequence[float]) -> list[float]:
    """Corrected so that any of them is below a limit by chance no more often than one alone would be (Holm, 1979)."""
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    corrected = [0.0] * len(chances)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[index]))
        corrected[index] = highest
    return corrected


def interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Hodges and Lehmann's ratio of B to A between the ends of its confidence interval, which belongs to the test by ranks."""
    ratios = sorted(math.log(after) - math.log(before) for before in a for after in b)
    quantile = statistics.NormalDist().inv_cdf(1 - ALARM / 2)
    width = quantile * math.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12)
    first = max(0, math.floor(len(ratios) / 2 - width))
    return math.exp(ratios[first]), math.exp(statistics.median(ratios)), math.exp(ratios[-1 - first])


def drifts(figures: Sequence[float], change: float) -> bool:
    """Whether the first half differs from the second as two sets would, and by half as much as B does from A (`change`, their ratio)
    or more: then the host changed, and nothing is to be said.

    Asked only of sets that differ, so a false alarm hides a change, and makes none: DRIFT may be far above ALARM. Of few runs the
    rarest order of ranks counts, all of one half before all of the other, which may be more often by chance than DRIFT.
    """
    half = len(figures) // 2
    if half == 0:
        return False
    first, second = figures[:half], figures[half:]
    level = max(DRIFT, 2 / math.comb(len(figures), half))
    drift = abs(math.log(interval(first, second)[1]))
    return drift >= max(math.log1p(SMALLEST), abs(math.log(change)) / 2) and chance(first, second) <= level * (1 + ROUNDING)
