"""The trace (docs/tracing.md): complete, consistent, and in the form that Linux prints."""

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import guest, paths
from lab.bench import systems
from lab.testing.choosing import choose
from lab.testing.shared_guest import SharedGuest
from lab.trace import ftrace, records

PROGRAM = ("mandelbrot", "8", "--mode", "array", "--iterations", "500")
MANDELBROT = paths.USER_BUILD / "programs" / "mandelbrot"
PIPELINES = "sh -c 'for i in 1 2 3 4 5 6; do cat /proc/stat | wc & done; wait'"
REAL_TIME = 10  # the priority of threadload's threads of that class
HEADER = 16  # bytes of a record before its data
PLACED, MESSAGES = 5, (6, 7)  # kernel/trace/record.h: Event
ON_LINUX = (
    "mkdir /t; mount -t tracefs none /t; cd /t; "
    "for e in switch waking wakeup wakeup_new migrate_task; do echo 1 > events/sched/sched_$e/enable; done; "
    f"/host/{' '.join(PROGRAM)} > /dev/null; echo 0 > tracing_on; cat trace"
)


def shapes(text: str) -> dict[str, set[str]]:
    """By event: its lines with names, numbers and flags left out."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        head = re.match(r" *\S+-\d+ +\[\d{3}\] (\S{5}) +\d+\.\d{6}: (sched_\w+): ", line)
        if head is None:
            continue
        shape = re.sub(r"comm=\S+", "comm=NAME", line[head.end() :])
        shape = re.sub(r"prev_state=[A-Z]\+?", "prev_state=STATE", shape)
        shape = re.sub(r"target_cpu=\d{3}\b", "target_cpu=THREE", shape)
        found.setdefault(head[2], set()).add(f"{line.index('[')} {re.sub(r'-?[0-9]+', 'N', shape)}")
    return found


def ran(found: list[records.Record]) -> dict[int, list[tuple[int, int, int]]]:
    """By thread: from when to when it ran, and where; without what began before the trace or ended after it."""
    times: dict[int, list[tuple[int, int, int]]] = {}
    since: dict[int, int] = {}
    for record in found:
        if not isinstance(record, records.Switch):
            continue
        if record.core in since and record.previous.number > 0:
            times.setdefault(record.previous.number, []).append((since[record.core], record.time, record.core))
        since[record.core] = record.time
    return times


def names(found: list[records.Record]) -> dict[int, list[str]]:
    """By thread: what it was called, one after the other."""
    called: dict[int, list[str]] = {}
    for record in found:
        if isinstance(record, records.Switch):
            for label in (record.previous, record.next):
                names = called.setdefault(label.number, [])
                if names[-1:] != [label.name]:
                    names.append(label.name)
    return called


class OneProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as name:
            prefix = Path(name) / "trace"
            command = [str(paths.ROOT / "corral"), "trace", "--timeout", "120", "--output", str(prefix), "--", *PROGRAM]
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            cls.ended = ended
            if ended.returncode == 0:
                cls.text = prefix.with_name("trace.txt").read_text(encoding="utf-8")
                cls.events = json.loads(prefix.with_name("trace.json").read_text(encoding="utf-8"))["traceEvents"]

    def setUp(self) -> None:
        self.assertEqual(self.ended.returncode, 0, self.ended.stdout + self.ended.stderr)

    def test_the_program_ran_and_its_trace_is_summed_up(self) -> None:
        self.assertRegex(self.ended.stdout, r"checksum=[0-9a-f]{16}\n[\d.]+ ms: \d+ switches, \d+ wake-ups, .*\d+ calls\n")

    def test_every_thread_has_its_row_and_ran(self) -> None:
        rows = {e["tid"] for e in self.events if e["ph"] == "X" and e["pid"] == 2 and e["name"].startswith("core ")}
        names = {e["tid"]: e["args"]["name"].split()[0] for e in self.events if e["ph"] == "M" and e["pid"] == 2}
        ours = [names[row] for row in rows if names[row] in ("corral-trace", "mandelbrot")]
        self.assertGreaterEqual(len(ours), 10)  # who traces, the main thread and its eight
        # The trace may end before the core has written that the main thread left it: then it has the name of who made it.
        self.assertGreaterEqual(ours.count("mandelbrot"), 8)

    def test_what_runs_on_a_core_does_not_overlap(self) -> None:
        for core in range(4):
            end = 0.0
            for slice_ in (e for e in self.events if e["ph"] == "X" and e["pid"] == 1 and e["tid"] == core):
                self.assertGreaterEqual(slice_["ts"], end - 0.001)
                end = slice_["ts"] + slice_["dur"]

    def test_lines_look_as_linux_prints_them(self) -> None:
        job = systems.Job(ON_LINUX, {"mandelbrot": MANDELBROT.read_bytes()})
        text = systems.run("linux", "qemu", 4, job, patience=120)
        for line in ftrace.HEADER.splitlines():
            self.assertTrue("{" in line or line in text, line)
        linux = shapes(text)
        own = shapes(self.text)
        self.assertIn("sched_switch", own)
        self.assertIn("sched_wakeup_new", own)
        for event in ("sched_switch", "sched_waking", "sched_wakeup_new"):
            self.assertIn(event, linux)
        for event in own.keys() & linux.keys():  # that a thread migrates is chance
            self.assertLessEqual(own[event], linux[event], event)


class AmongDebiansPrograms(unittest.TestCase):
    def test_one_of_them_is_traced(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            prefix = Path(name) / "trace"
            command = [str(paths.ROOT / "corral"), "trace", "--debian", "--timeout", "120", "--events", "call", "--output", str(prefix),
                       "--", "python3", "-c", "print(6 * 7)"]
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
            self.assertRegex(ended.stdout, r"42\n[\d.]+ ms: \d+ calls\n")


class Control(SharedGuest, unittest.TestCase):
    def bytes_of(self, command: str, events: str = "on", kinds: tuple[int, ...] = ()) -> bytes:
        """What a trace of the command has, or only these kinds of records of it."""
        assert self.machine is not None
        trace = f"corral-trace -e {events} /tmp/records {command} > /dev/null"
        wanted = " || ".join(f'$9 == "{kind:02x}"' for kind in kinds) or "1"
        answer = self.machine.run(f"{trace}; od -An -v -t x1 -w64 /tmp/records | awk '{wanted}'")
        self.assertEqual(answer.status, 0, answer.output)
        return bytes.fromhex(answer.output)

    def choices(self, program: str) -> list[records.Placement]:
        return [one for one in self.records(program, "place") if isinstance(one, records.Placement) and one.candidates > 1]

    def records(self, command: str, events: str = "on", kinds: tuple[int, ...] = ()) -> list[records.Record]:
        return records.decoded(self.bytes_of(command, events, kinds))

    def run_in_guest(self, command: str) -> guest.Answer:
        assert self.machine is not None
        return self.machine.run(command)

    def test_a_thread_is_on_one_core_at_a_time(self) -> None:
        times = ran(self.records("sh -c 'for i in 1 2 3 4 5 6 7 8; do cat /proc/stat | wc & done; wait'", "switch"))
        self.assertGreater(len(times), 8)
        for runs in times.values():
            runs.sort()
            for (_, end, _), (begin, _, _) in zip(runs, runs[1:], strict=False):
                self.assertLessEqual(end, begin)

    def test_who_is_given_away_has_left(self) -> None:
        running: dict[int, int] = {}
        given = 0
        move = "taskset 1 taskset 2 taskset 4 taskset 8 taskset 1 true"
        for record in self.records(f"sh -c '{move}; {move}'", "switch,migrate"):
            if isinstance(record, records.Switch):
                running[record.core] = record.next.number
            elif isinstance(record, records.Migration):
                self.assertNotEqual(running.get(record.core), record.thread.number)
                given += 1
        self.assertGreater(given, 8)

    def test_each_switch_follows_the_last_one_on_its_core(self) -> None:
        running: dict[int, int] = {}
        for record in self.records("sh -c 'ls /proc | sort | wc'", "switch"):
            assert isinstance(record, records.Switch)
            self.assertEqual(running.get(record.core, record.previous.number), record.previous.number)
            running[record.core] = record.next.number

    def test_a_placement_tells_what_its_policy_went_by(self) -> None:
        for policy, unit in (("blend", "points"), ("least-weight", "weight"), ("round-robin", ""), ("least-loaded", "threads")):
            self.run_in_guest(f"echo placement {policy} > /proc/sched")
            found = self.choices(PIPELINES)
            with self.subTest(policy=policy):
                self.assertGreater(len(found), 12)
                self.assertEqual({one.unit for one in found}, {unit})
                self.assertTrue(all(one.chosen in one.scores and len(one.scores) == one.candidates for one in found))
                self.assertTrue(any(len(set(one.scores.values())) > 1 for one in found))
                # Other cores go on while the scores are taken, a moment after the choice.
                best = sum(one.scores[one.chosen] == min(one.scores.values()) for one in found)
                if unit:
                    self.assertGreater(best, 0.8 * len(found))

    def test_one_of_the_real_time_class_goes_by_priorities(self) -> None:
        found = [one for one in self.choices("threadload 16 real-time 100 rounds 20 locks 2") if one.unit == "priority"]
        self.assertGreater(len(found), 8)
        self.assertEqual({score for one in found for score in one.scores.values()}, {0, REAL_TIME})
        best = sum(one.scores[one.chosen] == 0 for one in found)
        self.assertGreater(best, 0.8 * len(found))

    def test_calls_begin_and_end(self) -> None:
        under_way: dict[int, list[int]] = {}
        ended = 0
        for record in self.records("cat /proc/uptime", "call"):
            assert isinstance(record, records.Call)
            mine = under_way.setdefault(record.thread, [])
            if record.begins:
                mine.append(record.number)
            elif mine:
                self.assertEqual(mine.pop(), record.number)
                ended += 1
        self.assertGreater(ended, 10)

    def test_what_a_record_has_no_use_for_is_zero(self) -> None:
        """In a ring older records and the kernel's stack may be seen there."""
        text = self.bytes_of("sh -c 'for i in 1 2 3 4; do cat /proc/stat | wc; done'", "on", (PLACED, *MESSAGES))
        seen = set()
        for at in range(0, len(text), records.SIZE):
            record = text[at : at + records.SIZE]
            used = HEADER + (4 + 4 * record[HEADER + 2] if record[8] == PLACED else 8)
            self.assertEqual(record[used:].strip(b"\0"), b"", record.hex())
            seen.add(record[8])
        self.assertEqual(seen, {PLACED, *MESSAGES})

    def test_calls_have_their_arguments_on_demand(self) -> None:
        program = "sh -c 'dd if=/dev/zero bs=123 count=1 2> /dev/null | cat'"
        for events, wanted in (("on", False), ("arguments", True), ("call,arguments", True)):
            begun = [r for r in self.records(program, events) if isinstance(r, records.Call) and r.begins]
            del begun[-1]  # it wants no more trace
            with self.subTest(events=events):
                self.assertGreater(len(begun), 20)
                self.assertEqual({len(call.values) for call in begun} <= {4, 5}, wanted)
                writes = [call for call in begun if call.number == 1 and (not wanted or call.values[2] == 123)]
                self.assertGreaterEqual(len(writes), 2)  # what dd writes, and cat
        self.assertEqual({r.values for r in self.records(program, "call") if isinstance(r, records.Call) and r.begins}, {()})

    def test_a_thread_has_the_name_that_it_had_then(self) -> None:
        called = names(self.records("/tests/mannerstest", "switch"))
        self.assertEqual(called.pop(0), ["swapper"])
        self.assertIn(("corral-trace", "a name that is "), {(names[0], names[-1]) for names in called.values()})
        self.assertNotIn("<...>", sum(called.values(), []))
        called = names(self.records("sh -c 'sleep 0.01; echo other > /proc/self/comm; sleep 0.01; true'", "switch"))
        self.assertIn(["corral-trace", "sh", "other"], called.values())

    def test_a_thread_has_the_priority_that_it_had_then(self) -> None:
        for command, name, priorities in (("sh -c 'renice 5 $$ > /dev/null; sleep 0.02; true'", "sleep", {125}),
                                          ("/tests/deadlinetest", "deadlinetest", {120, -1})):
            found = [r for r in self.records(command, "switch") if isinstance(r, records.Switch)]
            with self.subTest(command=command):
                self.assertEqual({r.next.priority for r in found if r.next.name == name}, priorities)
                self.assertEqual({r.previous.priority for r in found if r.previous.number == 0}, {120})

    def test_who_has_ended_is_known_by_name(self) -> None:
        program = "sh -c 'i=0; while [ $i -lt 100 ]; do true | cat; i=$((i + 1)); done'"
        called = names(self.records(program, "switch"))
        self.assertGreaterEqual(sum(names[-1] == "cat" for names in called.values()), 100)
        self.assertNotIn("<...>", sum(called.values(), []))

    def test_names_outlive_the_records_in_which_they_were_given(self) -> None:
        # The shell gets its name before the calls that fill the ring, and becomes the last program, which is seen to leave the core: that
        # it does when it ends, too, is recorded after its parent is woken, who ends the trace meanwhile.
        program = "sh -c 'echo other > /proc/self/comm; dd if=/dev/zero of=/dev/null bs=1 count=40000 2> /dev/null; sleep 0.01'"
        found = self.records(f"taskset 1 {program}", "on", kinds=(0, records.LOST))
        self.assertTrue(any(isinstance(record, records.Loss) for record in found))
        called = names(found)
        self.assertIn(["other", "sleep"], [names[-2:] for names in called.values()])
        self.assertNotIn("<...>", sum(called.values(), []))

    def test_a_change_of_policy_is_told(self) -> None:
        changes = self.records(f"sh -c '{choose('algorithm rr', 'algorithm cfs')}'", "policy")
        self.assertEqual([(c.what, c.name) for c in changes if isinstance(c, records.PolicyChange)],
                         [("algorithm", "rr"), ("algorithm", "cfs")])

    def test_the_oldest_give_way_and_are_counted(self) -> None:
        self.run_in_guest("corral-trace -e call /tmp/records dd if=/dev/zero of=/dev/null bs=1 count=40000")
        kinds = self.run_in_guest("od -An -v -t u1 -w64 /tmp/records | awk '{ n[$9]++ } END { print n[13], (n[21] > 30000) }'")
        self.assertRegex(kinds.output, r"^[1-4] 1\n$")  # a call that did not wait has the kind 21

    def test_wrong_words_change_nothing(self) -> None:
        self.run_in_guest("echo switch > /proc/trace")
        answer = self.run_in_guest("echo 'switch wonder' > /proc/trace; grep x /proc/trace; echo off > /proc/trace")
        self.assertRegex(answer.output, r"(?s)Invalid argument.*\[x\] switch: ")
        self.assertEqual(self.run_in_guest("dd if=/dev/trace bs=63 count=1").status, 1)

    def test_it_is_for_root(self) -> None:
        self.assertEqual(self.run_in_guest("ls -l /proc/trace /dev/trace | cut -c1-10").output, "cr--------\n-rw-------\n")

    def test_a_wrong_use_is_said(self) -> None:
        self.assertEqual(self.run_in_guest("corral-trace /tmp/x").status, 125)
        self.assertEqual(self.run_in_guest("corral-trace /tmp/x /no/such/program").status, 127)


class WithoutMemory(unittest.TestCase):
    """Each allocation of a recording of decisions fails once: then nothing is recorded, and what was on before is."""

    ALLOCATIONS = 30
    ROUND = (
        "echo 'echo fail-allocation $1 > /proc/provoke; if echo decide > /proc/trace; then r=taken; else r=refused; fi; "
        "echo fail-allocation 0 > /proc/provoke; echo $r $(grep -e decide -e wake: /proc/trace)' > /tmp/round"
    )

    def test_what_was_on_stays_on(self) -> None:
        machine = guest.corral(2, options="provoke quiet")
        self.addCleanup(machine.__exit__, None, None, None)
        machine.prompt()
        machine.run(f"{self.ROUND}; echo decide > /proc/trace")  # rings have memory from now on
        told = []
        for number in range(1, self.ALLOCATIONS):
            machine.run("echo wake > /proc/trace")
            told.append(machine.run(f"sh /tmp/round {number} 2> /dev/null").output)
        kinds = {" ".join(re.sub(r": [^\[\n]*", " ", one).split()) for one in told}
        self.assertEqual(kinds, {"refused [x] wake [ ] decide", "taken [ ] wake [x] decide"}, told)


if __name__ == "__main__":
    unittest.main()
