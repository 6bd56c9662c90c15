"""The rounds of a soak, drawn from a seed: which loads run at once, under which policies, and what changes meanwhile.

The same seed, number of cores and kinds of loads give the same rounds, and a plan of more rounds begins like one of less.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lab import boot_options
from lab.soak.loads import Load

KINDS = ("algorithm", "placement", "migration", "groups", "queues", "wakes")
ARRANGEMENTS = ("queues", "wakes")  # options with a choice of words, which are no policies
# Never takes a core away: programs that wait in loops would wait for ever.
WITHOUT_PREEMPTION = ("fifo",)
LAYOUTS = ("grouped", "alternate", "double-alternate")
RATIOS = ("1:1", "1:3", "3:1", "1:7")
# By programs of Debian.
PREFIXES = ("", "", "", "nice -n 5 ", "nice -n 19 ", "chrt -r 1 ")
MOST_LOADS = 4  # at once
MOST_CHANGES = 5  # in the middle of a round


@dataclass(frozen=True)
class Task:
    """One load as it runs in a round."""

    load: Load
    command: str


@dataclass(frozen=True)
class Change:
    """`choice` as `/proc/sched` takes it, this long after the one before."""

    after_seconds: float
    choice: str


@dataclass(frozen=True)
class Round:
    """`policies` are chosen before the tasks begin, all together; `changes` are made while they run."""

    tasks: tuple[Task, ...]
    policies: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def usual() -> tuple[str, ...]:
    """The policies that the kernel comes with."""
    defaults = {"algorithm": "cfs", "placement": "least-loaded", "migration": "pull", "groups": "none", "queues": "per-core",
                "wakes": "home"}
    return tuple(f"{kind} {defaults[kind]}" for kind in KINDS)


def _names(kind: str) -> list[str]:
    if kind in ARRANGEMENTS:
        return boot_options.kinds()[f"sched.{kind}"].split("|")
    return [name for name in boot_options.policies()[f"sched.{kind}"] if name not in WITHOUT_PREEMPTION]


def _possible(ratio: str, cores: int) -> bool:
    """It leaves both classes a core (kernel/sched/groups/layout.h rounds halves up)."""
    real_time, normal = map(int, ratio.split(":"))
    share = (2 * cores * real_time + real_time + normal) // (2 * (real_time + normal))
    return 0 < share < cores


def choice(chance: random.Random, kind: str, cores: int) -> str:
    """A policy of a kind, as /proc/sched takes it."""
    name = chance.choice(_names(kind))
    if kind == "algorithm" and chance.random() < 0.25:
        some = sorted(chance.sample(range(cores), chance.randint(1, cores)))
        return f"algorithm {name} cores {','.join(map(str, some))}"
    if kind == "groups" and name != "none":
        ratios = [ratio for ratio in RATIOS if _possible(ratio, cores)]
        if not ratios:
            return "groups none"  # one core cannot be divided
        dynamic = chance.choice(("off", "on"))
        return f"groups {name}:layout={chance.choice(LAYOUTS)},ratio={chance.choice(ratios)},dynamic={dynamic}"
    return f"{kind} {name}"


def _task(chance: random.Random, load: Load, seconds: int, prefixes: Sequence[str]) -> Task:
    command = load.draw(chance, seconds)
    prefix = chance.choice(prefixes) if load.prefix else ""
    return Task(load, f"{prefix}sh -c {shlex.quote(command)}" if prefix else command)


def single(load: Load, seed: int, count: int, seconds: int) -> list[Round]:
    """Rounds of one load, under the usual policies."""
    chance = random.Random(seed)
    return [Round((Task(load, load.draw(chance, seconds)),)) for _ in range(count)]


def mixed(loads: Sequence[Load], cores: int, seed: int, count: int, seconds: int) -> list[Round]:
    """Rounds of several loads at once; the first has one of each kind, so that caches are full afterwards."""
    chance = random.Random(seed)
    prefixes = PREFIXES if any(load.debian for load in loads) else ("",)
    rounds = [Round(tuple(_task(chance, load, seconds, prefixes) for load in loads))]
    while len(rounds) < count:
        drawn = chance.choices(loads, k=chance.randint(1, MOST_LOADS))
        tasks = tuple(_task(chance, load, chance.randint(1, seconds), prefixes) for load in drawn)
        policies = tuple(choice(chance, kind, cores) for kind in KINDS)
        changes = tuple(Change(round(chance.uniform(0.05, seconds / 3), 2), choice(chance, chance.choice(KINDS), cores))
                        for _ in range(chance.randint(0, MOST_CHANGES)))
        rounds.append(Round(tasks, policies, changes))
    return rounds
