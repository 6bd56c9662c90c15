"""Records as the kernel writes them, and what becomes of them: ftrace's text and Chrome's JSON."""

import json
import re
import struct
import unittest

from lab import paths
from lab.problem import Problem
from lab.trace import ftrace, main, perfetto, records


def record(time: int, event: int, core: int, thread: int, data: bytes = b"", detail: int = 0) -> bytes:
    return (struct.pack("<QBBHi", time, event, detail, core, thread) + data).ljust(records.SIZE, b"\0")


def switch(time: int, core: int, previous: tuple[str, int], state: str, following: tuple[str, int]) -> bytes:
    detail = ord(state[0]) | (records.NOT_BY_ITSELF if state.endswith("+") else 0)
    data = struct.pack("<16sii16si", following[0].encode(), 120, following[1], previous[0].encode(), 120)
    return record(time, 0, core, previous[1], data, detail)


def wake(time: int, event: int, core: int, name: str, thread: int, target: int) -> bytes:
    return record(time, event, core, thread, struct.pack("<16siI", name.encode(), 110, target))


SAMPLE = b"".join((
    wake(1_000_000_500, 1, 1, "sleeper", 7, 0),
    switch(1_000_002_000, 0, ("swapper", 0), "R", ("sleeper", 7)),
    switch(1_000_009_999, 0, ("sleeper", 7), "S", ("swapper", 0)),
    wake(1_000_001_000, 2, 0, "sleeper", 7, 0),
    switch(1_000_004_000, 1, ("waker", 6), "R+", ("other", 8)),
    record(1_000_005_000, 4, 1, 6, struct.pack("<16siII", b"waker", 120, 1, 0)),
    record(1_000_000_400, 5, 1, 7, struct.pack("<2H2I", 0, 2, 0, 1 | 3 << 8), 1 | 1 << 4),
    record(1_000_000_100, 10, 1, 6, struct.pack("<6Q", 202, 1, 2, 3, 4, 5)),
    record(1_000_000_900, 11, 1, 6, struct.pack("<2Q", 202, 1)),
))  # fmt: skip


class Text(unittest.TestCase):
    def test_as_linux_prints_it(self) -> None:
        text = ftrace.text(records.decoded(SAMPLE), 2)
        self.assertEqual(text[len(ftrace.HEADER.format(entries=6, cores=2)) :], """\
           waker-6       [001] d..2.     1.000000: sched_waking: comm=sleeper pid=7 prio=110 target_cpu=000
          <idle>-0       [000] d..2.     1.000001: sched_wakeup: comm=sleeper pid=7 prio=110 target_cpu=000
          <idle>-0       [000] d..2.     1.000002: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sleeper next_pid=7 next_prio=120
           waker-6       [001] d..2.     1.000004: sched_switch: prev_comm=waker prev_pid=6 prev_prio=120 prev_state=R+ ==> next_comm=other next_pid=8 next_prio=120
           other-8       [001] d..2.     1.000005: sched_migrate_task: comm=waker pid=6 prio=120 orig_cpu=1 dest_cpu=0
         sleeper-7       [000] d..2.     1.000009: sched_switch: prev_comm=sleeper prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
""")  # noqa: E501

    def test_every_bit_of_every_record_counts(self) -> None:
        told = main.identity(SAMPLE)
        self.assertRegex(told, r"^Trace: 9 records, sha256 [0-9a-f]{64}$")
        others = [SAMPLE[:at] + bytes((SAMPLE[at] ^ 1,)) + SAMPLE[at + 1 :] for at in (0, 100, len(SAMPLE) - 1)]
        self.assertEqual(len({told, *map(main.identity, others), main.identity(SAMPLE[records.SIZE :])}), 5)

    def test_half_a_record_is_refused(self) -> None:
        with self.assertRaisesRegex(Problem, "whole records"):
            records.decoded(SAMPLE[:-1])

    def test_an_unknown_record_is_refused(self) -> None:
        with self.assertRaisesRegex(Problem, "same version"):
            records.decoded(record(1, 99, 0, 0))


class Timeline(unittest.TestCase):
    def test_slices_arrows_and_calls(self) -> None:
        shown = json.loads(perfetto.text(records.decoded(SAMPLE), 2, {202: "futex"}))["traceEvents"]
        slices = [(e["name"], e["ts"], e["dur"]) for e in shown if e["ph"] == "X" and e["pid"] == perfetto.CORES]
        self.assertEqual(slices, [("waker 6", 1_000_004.0, 0.0), ("sleeper 7", 1_000_002.0, 7.999), ("other 8", 1_000_004.0, 5.999)])
        arrows = [(e["ph"], e["tid"]) for e in shown if e["ph"] in "sf"]
        self.assertEqual(arrows, [("s", 1), ("f", 0)])
        self.assertEqual([e["name"] for e in shown if e["ph"] in "BE"], ["futex", "futex"])
        placed = next(e for e in shown if e["name"] == "places 7 on core 0")
        self.assertEqual(placed["args"], {"reason": "woken", "candidates": 2, "score in threads": {"core 0": 0, "core 1": 3}})

    def test_a_call_that_did_not_wait_is_one_record(self) -> None:
        for event, arguments in ((records.CALLED, ()), (records.CALLED_WITH_ARGUMENTS, (2, 3, 4, 5))):
            called = record(1_000_000_900, event, 1, 6, struct.pack("<6Q", 500 << 16 | 202, 1, *(arguments or (0, 0, 0, 0))))
            self.assertEqual(records.decoded(called), [records.Call(1_000_000_400, 1, True, 6, 202, arguments),
                                                       records.Call(1_000_000_900, 1, False, 6, 202, (1,))])

    def test_a_call_that_waits_begins_with_its_arguments_or_without(self) -> None:
        for detail, arguments in ((0, ()), (records.WITH_ARGUMENTS, (1, 2, 3, 4, 5))):
            begun = record(7, 10, 1, 6, struct.pack("<6Q", 202, *(arguments or (0, 0, 0, 0, 0))), detail)
            self.assertEqual(records.decoded(begun), [records.Call(7, 1, True, 6, 202, arguments)])

    def test_a_placement_tells_scores_or_threads(self) -> None:
        words = [core | 1_000_000 * core << 8 for core in range(records.SCORES)]
        for unit, kind in enumerate(records.SCORE_UNITS):
            placed = record(9, 5, 1, 6, struct.pack("<2H11I", 255, 70, *words), 1 | unit << 4)
            found = records.decoded(placed)
            self.assertEqual(found, [records.Placement(9, 1, 6, "woken", 255, 70, kind, {core: 1_000_000 * core for core in range(11)})])
            shown = json.loads(perfetto.text(found, 2, {}))["traceEvents"][-1]["args"]
            self.assertEqual(shown[f"score in {kind}" if kind else "threads, not its score"]["core 10"], 10_000_000)

    def test_a_placement_without_a_choice_has_one_core(self) -> None:
        placed = record(9, 5, 1, 6, struct.pack("<2H2I", 1, 1, 1 | 2 << 8, 7))
        self.assertEqual(records.decoded(placed), [records.Placement(9, 1, 6, "created", 1, 1, "", {1: 2})])

    def test_what_was_lost_is_said(self) -> None:
        found = records.decoded(record(5, 13, 0, 0, struct.pack("<Q", 17)) + SAMPLE)
        self.assertIn("17 lost", main.summary(found))
        self.assertIn("17 records lost", perfetto.text(found, 2, {}))


class NoTrace(unittest.TestCase):
    def test_what_has_no_name_is_refused(self) -> None:
        for event, detail in ((4, 99), (5, 99), (6, 0)):
            data = record(5, event, 0, 0, struct.pack("<II", 2**31, 0) + bytes(40), detail)
            with self.subTest(event=event), self.assertRaisesRegex(Problem, "no records of a trace"):
                records.decoded(data)


class Agreement(unittest.TestCase):
    """The two sides of one layout: kernel/trace and lab/trace."""

    def test_groups(self) -> None:
        source = (paths.ROOT / "kernel" / "trace" / "trace.cpp").read_text(encoding="utf-8")
        groups = re.findall(r'^    \{"(\w+)", .*"(, true)?\},$', source, re.MULTILINE)
        self.assertEqual(tuple(name for name, on_demand in groups if not on_demand), main.GROUPS)
        self.assertEqual({name for name, on_demand in groups if on_demand}, {main.ARGUMENTS, main.DECISIONS})

    def test_messages(self) -> None:
        source = (paths.ROOT / "kernel" / "core" / "mailbox.h").read_text(encoding="utf-8")
        body = re.search(r"enum class MessageType : u32 \{(.*?)\};", source, re.DOTALL)
        assert body is not None
        names = re.findall(r"^  (\w+),", body[1], re.MULTILINE)
        self.assertEqual(tuple(names[:-1]), records.MESSAGES)


if __name__ == "__main__":
    unittest.main()
