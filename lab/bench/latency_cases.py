"""What `bench latency` measures: cases, how a shell carries one out, and what its programs say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.bench import load

STATISTICS = ("p50", "p99", "worst")
MARK = "@latency: "  # begins with what no name in the shell has

# Not a multiple of a tick of 4 ms: so timers expire at all places of a turn. Each thread's interval is a little longer than the one before.
INTERVAL_US, DISTANCE_US = 1103, 7
PRIORITY = 80
ROUNDS = {"bochs": 7500, "qemu": 150_000}  # of computing for a request: 300 µs in Bochs
SLEEP_US = 500
# Timers that expire on each core, and as many requests for each.
LOOPS = {"bochs": {1: 500, 4: 300, 8: 200}, "qemu": {1: 1000}}
QUICK_LOOPS = 150
# Of cyclictest's histogram, one for each µs; what is longer counts as the longest. All are printed, while the loads go on.
LINES = {"other": 5_000, "fifo": 1_000}

LOADS = {
    "compute": "sysbench cpu --threads={twice} --cpu-max-prime=1000 --time=0 --events=0 run",
    "traffic": "hackbench -T -p -g 1 -f {twice} -l 100000000",
}
SETTLE_SECONDS = 0.1  # so that a load has begun


@dataclass(frozen=True)
class Case:
    name: str
    what: str
    loads: tuple[str, ...]
    program: str = "cyclictest"
    policy: str = "other"

    @property
    def latencies(self) -> tuple[str, ...]:
        """What it measures, as the results name it."""
        return (self.name,) if self.program == "cyclictest" else (f"{self.name} wake", f"{self.name} request")

    def command(self, instrument: str, cores: int, loops: int) -> str:
        if self.program == "requests":
            messengers = 1 + cores // 8
            return f"requests {messengers} {2 * cores // messengers} {loops * cores} {ROUNDS[instrument]} {SLEEP_US}"
        how = f"-p {PRIORITY}" if self.policy == "fifo" else "--policy=other"
        return f"cyclictest -q -m -S {how} -i {INTERVAL_US} -d {DISTANCE_US} -l {loops} -h {LINES[self.policy]} --json=/tmp/latency.json"


CASES = (
    Case("other-idle", "timers, SCHED_OTHER, nothing else runs", ()),
    Case("other-compute", "timers, SCHED_OTHER, two threads that compute for each core", ("compute",)),
    Case("other-traffic", "timers, SCHED_OTHER, threads that talk by pipes", ("traffic",)),
    Case("fifo-idle", "timers, SCHED_FIFO, nothing else runs", (), policy="fifo"),
    Case("fifo-loaded", "timers, SCHED_FIFO, threads that compute and threads that talk", ("compute", "traffic"), policy="fifo"),
    Case("requests-idle", "requests, nothing else runs", (), "requests"),
    Case("requests-compute", "requests, two threads that compute for each core", ("compute",), "requests"),
    Case("requests-traffic", "requests, threads that talk by pipes", ("traffic",), "requests"),
)
BY_NAME = {case.name: case for case in CASES}
QUICK = ("other-compute", "fifo-loaded", "requests-compute")
# As /bin/sh of both systems knows it. Who has fewer samples than loops was not slow: cyclictest ends when its first thread is done.

SUMMARY = r"""
run() { CALL; }
background() { CALL > /dev/null 2>&1 & loads="$loads $!"; }
end_loads() { for one in $loads; do kill -9 $one; wait $one 2> /dev/null; done; loads=; }
summary() {
  sed -n 's/^ *"\([0-9]*\)": \([0-9]*\),*$/\1 \2/p; s/^ *"\(cycles\|max\)": \([0-9]*\),*$/\1 \2/p' /tmp/latency.json | sort -n | awk '
    function at(part, i, sum) { for (i = 1; i <= n; ++i) { sum += count[i]; if (sum >= part * all) return value[i] } return worst }
    $1 == "cycles" { all += $2; next }
    $1 == "max" { if ($2 > worst) worst = $2; next }
    { value[++n] = $1; count[n] = $2 }
    END { print "samples=" all, "p50=" at(0.5), "p99=" at(0.99), "worst=" worst }'
}
""".replace("CALL", load.call())


def parse(text: str) -> dict[str, float]:
    """Microseconds, by "LATENCY STATISTIC"; those that told none are left out."""
    found = {}
    for part in text.split(MARK)[1:]:
        name, _, said = part.partition(" ")
        told = {key: int(value) for key, value in re.findall(r"\b(\w+)=(\d+)\b", said)}
        for latency in BY_NAME[name].latencies if name in BY_NAME else ():
            for statistic in STATISTICS:
                in_ns = f"{latency.partition(' ')[2]}_{statistic}_ns"
                if in_ns in told:
                    found[f"{latency} {statistic}"] = told[in_ns] / 1000
                elif statistic in told and told.get("samples"):
                    found[f"{latency} {statistic}"] = float(told[statistic])
    return found
