"""What a point's figures depend on beside its key."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab import paths
from lab.bench import latency
from lab.sweep import grid, origin
from lab.sweep.measure import outcome
from lab.sweep.points import Point


def point(definition: dict[str, object], system: str = "corral", instrument: str = "bochs") -> Point:
    return Point("w", json.dumps(definition), system, instrument, 1, "", 0, 1)


class Sources(unittest.TestCase):
    def test_what_decides_a_bench_is_found_and_what_only_tells_of_it_is_not(self) -> None:
        found = origin.sources("lab/bench/latency.py")
        for name in ("bench/latency", "bench/latency_cases", "bench/load", "bench/systems", "linux", "bochs", "qemu", "machine"):
            self.assertIn(f"lab/{name}.py", found)
        for name in ("bench/table", "bench/beside", "compare/judge", "bench/matrix", "packages"):
            self.assertNotIn(f"lab/{name}.py", found)

    def test_there_are_those_that_are_left_aside(self) -> None:
        self.assertEqual([name for name in origin.ASIDE if not (paths.ROOT / name).is_file()], [])

    def test_of_each_kind_of_point(self) -> None:
        for definition, wanted in (({"simulate": "x"}, "lab/simulate.py"), ({"program": "x"}, "lab/bench/systems.py"), ({"bench": "load"}, "lab/bench/load.py")):
            self.assertEqual(origin.module(point(definition)), wanted)

    def test_what_benches_bring_of_debian_is_known(self) -> None:
        for name, bench in grid.BENCHES.items():
            if "lab/debian.py" in origin.sources(f"{bench.at.__module__.replace('.', '/')}.py"):
                self.assertIn(name, origin.BROUGHT)

    def test_what_a_bench_brings_is_all_that_its_parts_need(self) -> None:
        with mock.patch.object(latency.load, "programs", side_effect=lambda names: dict.fromkeys(names, b"")), \
                mock.patch.object(latency.systems, "program", return_value=b""):
            self.assertEqual({*origin.BROUGHT["latency"]()}, {"cyclictest", "hackbench", "requests", "sysbench"})


class Digests(unittest.TestCase):
    """Nothing of what they are of needs to be built or fetched here."""

    def setUp(self) -> None:
        self.debian = {"sysbench": b"1.0.20", "hackbench": b"2"}
        for place, name, value in ((origin.host, "digest", lambda file: f"of {file.name}"), (origin.linux, "kernel", lambda: Path("vmlinuz-6.1")),
                                   (origin.load, "programs", lambda names: self.debian)):
            self.enterContext(mock.patch.object(place, name, value))
        origin._sources.cache_clear()
        self.addCleanup(origin._sources.cache_clear)

    def test_names(self) -> None:
        one = {*origin.digests([point({"bench": "load"})])}
        self.assertGreaterEqual(one, {"build/kernel/corral.elf", "build/user/initramfs.cpio", "lab/bench/load.py", "lab/sweep/measure.py", "set of programs for bench load"})
        both = origin.digests([point({"bench": "load"}), point({"bench": "load"}, "linux")])
        self.assertEqual({*both} - one, {"Linux kernel", "/bin/busybox"})
        self.assertEqual(both["Linux kernel"], "of vmlinuz-6.1")
        self.assertEqual({*origin.digests([point({"simulate": "x"}, instrument="simulator")])},
                         {"build/sim/corral-sim", "lab/sweep/measure.py", *origin.sources("lab/simulate.py")})

    def test_debian_s_programs_count(self) -> None:
        name = "set of programs for bench load"
        before = origin.digests([point({"bench": "load"})])
        self.debian["sysbench"] = b"1.0.21"
        self.assertEqual([key for key, digest in origin.digests([point({"bench": "load"})]).items() if before[key] != digest], [name])

    def test_the_emulator_counts_and_for_wall_time_the_machine(self) -> None:
        program = {"program": "sh -c true"}
        emulators = {name: {name: "1"} for name in ("bochs", "qemu-system-x86_64")}
        with mock.patch.object(origin, "_emulator", emulators.get):
            bochs, counted, wall = (origin.digests([point(program, instrument=instrument)]) for instrument in ("bochs", "icount", "qemu"))
        self.assertEqual(({*bochs} - {*counted}, {*counted} - {*bochs}), ({"bochs"}, {"qemu-system-x86_64"}))
        self.assertEqual({*wall} - {*counted}, {"host's processor", "host's cores", "host's system"})

    def test_a_program_of_the_host_counts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "mine"
            program.write_bytes(b"")
            self.assertIn(str(program), origin.digests([point({"program": f"{program} 4"})]))
        self.assertNotIn("mandelbrot", origin.digests([point({"program": "mandelbrot 4"})]))

    def test_a_worker_with_something_else_measures_nothing(self) -> None:
        simulated = point({"simulate": "x"}, instrument="simulator")
        right = origin.digests([simulated])
        failure = outcome(simulated, wanted={**right, "lab/simulate.py": "other"}).failure
        self.assertRegex(failure, r"has another lab/simulate.py than the sweep\s+Mend: check out and build the same commit")

    def test_few_of_many_are_named(self) -> None:
        self.assertEqual(origin.different({}, [(str(number), "") for number in range(7)]), "0, 1, 2, 3, 4 and 2 more")
        self.assertEqual(origin.different({"a": "1"}, [("a", "1")]), "")


if __name__ == "__main__":
    unittest.main()
