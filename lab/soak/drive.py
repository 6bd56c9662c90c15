"""Lets a plan run in a guest, watches that it goes on, and judges each of its rounds.

A busy host must not be taken for a guest that hangs. So silence is measured by what the emulator has computed meanwhile,
and a round is too late only when the guest's clock and the emulator's processor time both say so, or the emulator hardly computes.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import debian, debugger, guest, paths, payload, verdict
from lab.problem import Problem
from lab.soak import accounts, script
from lab.soak.accounts import Account
from lab.soak.plan import Round
from lab.soak.records import Record

POLL_SECONDS = 0.5
SILENT_SECONDS = 300.0  # of the emulator's processor time without a mark; one comes every 10 s of the guest's clock
LATE_SECONDS = 1200.0  # of the guest's clock and of processor time since a round began
IDLE_SECONDS = 600.0  # of the guest's clock in which the emulator computed less than IDLE_SHARE of that: nobody does anything any more
IDLE_SHARE = 0.02  # the busiest host gives it more
ASLEEP_SECONDS = 1800.0  # of the host, without a mark: an emulator whose cores all sleep for ever computes nothing
LAST_WORDS_SECONDS = 3.0  # for the rest of what a guest says that panicked
COUNTS = re.compile(r"^(?:wakepairs|stalepages|lifecycles): .*", re.MULTILINE)
COUNT = re.compile(r"(\d+) (pairs|unmaps|processes|threads)\b")
SHOWN = 1500  # characters of a task's output


@dataclass(frozen=True)
class Moment:
    """In seconds: the guest's clock, the host's, and what the emulator has used of the host's processors."""

    guest: float
    host: float
    computed: float


class Failure(Exception):
    """What went wrong, first in one line."""


@dataclass(frozen=True)
class Setting:
    """The machine, and for how long. `seed`: of a deterministic machine; None: a host thread for each core."""

    cores: int
    memory_mib: int
    minutes: float
    seed: int | None = None


class Watch:
    """Reads what the guest says, round by round, as long as it goes on."""

    def __init__(self, machine: guest.Guest) -> None:
        self._machine = machine
        self._taken = 0  # of what the machine said
        self.said = ""  # since the last round was over,
        self.last = ""  # and until then, from the round before
        self._begun = self._marked = self._awake = self._now(0.0)

    def round(self) -> script.Said | None:
        """The next one, when it is over; None: the script has ended."""
        self._begun = self._awake = self._marked
        while True:
            fresh = self._machine.text[self._taken :]
            self._taken += len(fresh)
            self.said += fresh.replace("\r", "")
            one, rest = script.complete(self.said)
            if one is not None:
                self.last, self.said = self.said.removesuffix(rest), rest
                self._marked = self._now(one.end)
                return one
            if script.DONE.search(self.said):
                return None
            self._check()
            self._machine.run_for(POLL_SECONDS)

    def _now(self, guest_seconds: float) -> Moment:
        return Moment(guest_seconds, time.monotonic(), self._machine.processor_seconds())

    def _check(self) -> None:
        """A Failure when it does not go on."""
        console = self._machine.debug_console()
        if verdict.PANIC.search(console) or not self._machine.alive():
            self._machine.run_for(LAST_WORDS_SECONDS)
            raise Failure(verdict.of(self._machine.debug_console()).message or "the guest has ended")
        if broken := verdict.violation(self.said + console):
            raise Failure(broken)
        if (latest := script.latest(self.said)) > self._marked.guest:
            self._marked = self._now(latest)
            self._check_idle()
        now = self._now(self._marked.guest)
        if now.computed - self._marked.computed > SILENT_SECONDS or now.host - self._marked.host > ASLEEP_SECONDS:
            raise Failure(f"it hangs: no mark since {now.guest:.0f} s of its clock\n{self._machine.qmp.monitor('info registers -a')}")
        if min(now.guest - self._begun.guest, now.computed - self._begun.computed) > LATE_SECONDS:
            raise Failure(f"a task does not end: {now.guest - self._begun.guest:.0f} s by the guest's clock")

    def _check_idle(self) -> None:
        """A Failure when tasks wait for something that does not come, while the marks go on."""
        passed = self._marked.guest - self._awake.guest
        if passed < IDLE_SECONDS:
            return
        if self._marked.computed - self._awake.computed < IDLE_SHARE * passed:
            raise Failure(f"a task does not go on: the emulator hardly computes since {self._awake.guest:.0f} s of the guest's clock")
        self._awake = self._marked


def _judge(one: script.Said, planned: Round, first: Account | None) -> Account:
    """What is in use after the round; a Failure when something went wrong."""
    for choice in one.refused:
        raise Failure(f"`{choice}` was refused by /proc/sched")
    for number, task in enumerate(planned.tasks, start=1):
        status, output = one.tasks.get(number, (-1, "nothing was said of it"))
        if not task.load.went_well(status, output):
            lacks = "" if re.search(task.load.shows, output) else f", and its output lacks `{task.load.shows}`"
            raise Failure(f"{task.load.name}: status {status}{lacks}: {task.command}\n{output[-SHOWN:]}")
    account = accounts.read(one.account)
    if wrong := accounts.differences(first or account, account):
        raise Failure(wrong)
    return account


def _follow(watch: Watch, rounds: Sequence[Round], record: Record, minutes: float, tell: Callable[[str], None]) -> None:
    """Until time is over, the rounds are, or one of them fails."""
    begin = time.monotonic()
    first = None
    try:
        watch.round()  # what is in use before the first one
        for number, planned in enumerate(rounds, start=1):
            one = watch.round()
            if one is None:
                raise Failure("the script ended too early")
            account = _judge(one, planned, first)
            first = first or account
            record.rounds = number
            record.virtual_minutes = round(one.end / 60, 2)
            record.changes += len(planned.policies) + len(planned.changes)
            record.memory = [first.memory, account.memory]
            record.lost_pages = accounts.lost_pages(first, account)
            for task, (_, output) in zip(planned.tasks, one.tasks.values(), strict=True):
                record.tasks[task.load.name] = record.tasks.get(task.load.name, 0) + 1
                for count, what in COUNT.findall("\n".join(COUNTS.findall(output))):
                    record.counted[what] = record.counted.get(what, 0) + int(count)
            tell(f"{number} rounds, {time.monotonic() - begin:.0f} s, {one.end:.0f} s of the guest's clock")
            if time.monotonic() - begin > 60 * minutes:
                break
        if idle := [what for what, count in record.counted.items() if count == 0]:
            raise Failure(f"no {idle[0]} in all that time")
    except Failure as failure:
        record.failure = f"round {record.rounds + 1}: {failure}"
    except Problem as problem:
        record.failure = f"round {record.rounds + 1}: {problem.what}"
    record.minutes = round((time.monotonic() - begin) / 60, 2)


def run(rounds: Sequence[Round], setting: Setting, record: Record, tell: Callable[[str], None] = lambda text: None) -> None:
    """Fills in the record, and tells after each round how far it is. What was said last before a failure is kept()."""
    loads = {task.load.name: task.load for one in rounds for task in one.tasks}
    files = {"soak.sh": script.of(rounds).encode(), "atrest": (paths.USER_BUILD / "probes" / "atrest").read_bytes()}
    for load in loads.values():
        files |= {name: file.read_bytes() for name, file in load.files().items()}
    base = debian.initramfs() if any(load.debian for load in loads.values()) else paths.INITRAMFS
    with tempfile.TemporaryDirectory(prefix="corral-soak-") as work:
        initramfs = payload.initramfs(files, Path(work), base)
        with guest.corral(setting.cores, program=["sh", "/host/soak.sh"], initramfs=initramfs, options="quiet", seed=setting.seed,
                          memory_mib=setting.memory_mib, gdb=True, invariants_hold=False) as machine:  # violations are told below
            watch = Watch(machine)
            try:
                _follow(watch, rounds, record, setting.minutes, tell)
            except BaseException:
                record.failure = "interrupted"
                raise
            finally:
                if record.failure:
                    _keep(record, watch.last + watch.said, machine)


def _keep(record: Record, rounds: str, machine: guest.Guest) -> None:
    seen = debugger.seen(str(machine.gdb_socket)) if machine.alive() else "the emulator has ended"
    parts = (record.again, record.failure, "--- its last rounds ---", rounds, machine.said(), "--- gdb ---", seen, "")
    kept(record).parent.mkdir(parents=True, exist_ok=True)
    kept(record).write_text("\n".join(parts), encoding="utf-8")


def kept(record: Record) -> Path:
    """Where the last words of a failure are."""
    return paths.BUILD / "soak" / f"failed-{record.load}-{record.cores}-{record.seed}.txt"
