"""A plan as one program of the guest, and what it says.

All rounds stand in one script of the shell that the guest is booted with, and nothing is typed: so a deterministic machine
does the same each time. The script writes marks, lines that begin with "@", which tell how far it is and when, by the
guest's clock:

    @round 3 61.20          it begins
    @beat 71.31             it goes on: at least so often as BEAT_SECONDS
    @said 3.1 0             what follows is the output of its first task, whose status was 0
    @end 3.1
    @refused groups none    a policy was not taken
    @account 75.02          what follows is in use, at rest and with the usual policies
    @over 3 75.10
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.soak import plan

BEAT_SECONDS = 10
REST_SECONDS = 2
AT_REST = "/host/atrest"
SHOWN_BYTES = 4000  # the end of a task's output
STAYS = 300  # seconds after which a round that goes on says who is there

# A change is refused while the last one of its kind is on its way.
PROLOGUE = f"""\
S=/tmp/soak
at() {{ read -r now idle < /proc/uptime; echo "@$1 $now"; }}
choose() {{
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo "$1" 2> /dev/null > /proc/sched && return
    sleep 0.2
  done
  echo "@refused $1"
}}
usual() {{
{chr(10).join(f"  choose '{policy}'" for policy in plan.usual())}
}}
load() {{
  mkdir -p $S/$1 && cd $S/$1
  TMPDIR=$S/$1 sh -c "$2" < /dev/null > $S/$1.said 2>&1
  echo $? > $S/$1.ended
}}
there() {{
  ps -T 2> /dev/null || ps
  cat /proc/sched /proc/sched-dump
  for t in /proc/[0-9]*/task/[0-9]*; do echo "$t $(cat $t/wchan 2> /dev/null) $(cat $t/stat 2> /dev/null)"; done
}}
finish() {{
  n=0
  while set -- $1 $S/*.ended; [ $# -le $1 ] || [ ! -e $2 ]; do
    sleep 1
    n=$((n + 1))
    [ $((n % {BEAT_SECONDS})) != 0 ] || at beat
    [ $((n % {STAYS})) != 0 ] || there
  done
  wait
}}
said() {{
  echo "@said $1 $(cat $S/$1.ended)"
  tail -c {SHOWN_BYTES} $S/$1.said
  echo
  echo "@end $1"
}}
account() {{
  cd /
  rm -rf $S
  mkdir $S
  usual
  at account
  set -- /proc/[0-9]*
  echo "processes $#"
  {AT_REST} {REST_SECONDS} /proc/meminfo /proc/heap /proc/$$/status /proc/loadavg /proc/sched /proc/sched-dump
}}
mkdir -p $S
"""


def of(rounds: Sequence[plan.Round]) -> str:
    """The script; its first account is of the machine before the first round."""
    lines = [PROLOGUE, "account", "at 'over 0'"]
    for number, one in enumerate(rounds, start=1):
        lines += [f"at 'round {number}'", *(f"choose {shlex.quote(policy)}" for policy in one.policies)]
        lines += [f"load {number}.{i} {shlex.quote(task.command)} &" for i, task in enumerate(one.tasks, start=1)]
        if one.changes:
            changes = "; ".join(f"sleep {change.after_seconds}; choose {shlex.quote(change.choice)}" for change in one.changes)
            lines.append(f"({changes}) &")
        lines.append(f"finish {len(one.tasks)}")
        lines += [f"said {number}.{i}" for i in range(1, len(one.tasks) + 1)]
        lines += ["account", f"at 'over {number}'"]
    return "\n".join([*lines, "echo @done", ""])


@dataclass(frozen=True)
class Said:
    """What one round said. `tasks`: status and output of each."""

    number: int
    begin: float  # guest's clock, seconds
    end: float
    tasks: dict[int, tuple[int, str]] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    account: str = ""


OVER = re.compile(r"(?m)^@over (?P<number>\d+) (?P<end>[\d.]+)\n")
TASK = re.compile(r"(?ms)^@said \d+\.(\d+) (\d+)\n(.*?)^@end \d+\.\1$")
MARK = re.compile(r"(?m)^@(?:round \d+|beat|account|over \d+) ([\d.]+)\n")
REFUSED = re.compile(r"(?m)^@refused (.+)$")
ACCOUNT = re.compile(r"(?m)^@account [\d.]+\n")
DONE = re.compile(r"(?m)^@done$")


def complete(text: str) -> tuple[Said | None, str]:
    """The first round in it that is over, and what follows; lines end with line feeds."""
    found = OVER.search(text)
    if found is None:
        return None, text
    said = text[: found.end()]
    times = MARK.findall(said)
    tasks = {int(task): (int(status), output) for task, status, output in TASK.findall(said)}
    account = ACCOUNT.split(said)[-1]
    return Said(int(found["number"]), float(times[0]), float(times[-1]), tasks, tuple(REFUSED.findall(said)), account), text[found.end() :]


def latest(text: str) -> float:
    """The guest's time at the last mark; 0: there is none."""
    found = MARK.findall(text)
    return float(found[-1]) if found else 0.0
