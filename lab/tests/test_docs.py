"""What the documents say of the repository is true, and the generated pages are current."""

import re
import tempfile
import unittest
from pathlib import Path

from lab import docs_commands, docs_references, paths, programs, reference
from lab.problem import Problem


class References(unittest.TestCase):
    def faults(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "docs").mkdir()
            (root / "lib").mkdir()
            (root / "lib/atomic.h").write_text("class Atomic {};\n", encoding="utf-8")
            (root / "docs/other.md").write_text("# Boot & cores\n", encoding="utf-8")
            file = root / "docs/a.md"
            file.write_text(text, encoding="utf-8")
            return [docs_references.fault(found, root) for found in docs_references.references(file)]

    def test_what_is_there_is_found(self) -> None:
        self.assertEqual(self.faults("`lib/atomic.h` `lib/` `lib/*.h` `lib/atomic.h::Atomic`"), [""] * 4)
        self.assertEqual(self.faults("[a](other.md) [b](../lib/atomic.h) [c](other.md#boot--cores)"), [""] * 3)

    def test_what_is_missing_is_named(self) -> None:
        for text in ("`lib/none.h`", "`lib/*.py`", "`lib/atomic.h::Mutex`", "[a](none.md)", "[a](other.md#none)"):
            with self.subTest(text=text):
                self.assertNotEqual(self.faults(text), [""])

    def test_other_sites_code_blocks_and_other_spans_are_left_alone(self) -> None:
        self.assertEqual(self.faults("[a](https://example.org/x)\n```\n`lib/none.h`\n```\n`rax` `/proc/none`\n"), [])

    def test_the_documents_name_what_there_is(self) -> None:
        count = 0
        for file in docs_commands.documents(paths.ROOT):
            for found in docs_references.references(file):
                count += 1
                with self.subTest(reference=str(found)):
                    self.assertEqual(docs_references.fault(found, paths.ROOT), "")
        self.assertGreater(count, 100)

    def test_what_comments_send_readers_to_is_there(self) -> None:
        for room in ("kernel", "lib", "user", "tests"):
            for file in sorted((paths.ROOT / room).glob("**/*.[hcS]*")):
                for name in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text(encoding="utf-8")):
                    with self.subTest(file=str(file), name=name):
                        self.assertTrue((paths.ROOT / name).is_file())

    def test_every_page_is_in_the_contents(self) -> None:
        contents = (paths.ROOT / "docs/README.md").read_text(encoding="utf-8")
        for file in sorted((paths.ROOT / "docs").glob("**/*.md")):
            name = file.relative_to(paths.ROOT / "docs")
            if name != Path("README.md"):
                with self.subTest(page=str(name)):
                    self.assertIn(f"({name})", contents)


class Pitfalls(unittest.TestCase):
    """docs/pitfalls.md: every row names what shows that the pitfall is avoided."""

    def test_every_row_names_a_test(self) -> None:
        rows = [line for line in (paths.ROOT / "docs/pitfalls.md").read_text(encoding="utf-8").splitlines()
                if line.startswith("| ") and not line.startswith("| seen")]
        self.assertGreater(len(rows), 20)
        for row in rows:
            with self.subTest(row=row[:60]):
                self.assertRegex(row.split(" | ")[-1], r"`(tests|user|lab|kernel)/")


class SystemCalls(unittest.TestCase):
    def tree(self, text: str) -> Path:
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "kernel/abi/linux").mkdir(parents=True)
        (root / "kernel/abi/corral").mkdir(parents=True)
        (root / "kernel/abi/linux/a.cpp").write_text(text, encoding="utf-8")
        (root / "kernel/abi/corral/calls.cpp").write_text(
            "// Own.\n//   0x4000 ticks(core) → how many. einval: none.\n#include <x>\n", encoding="utf-8")
        return root

    def test_entries_are_found_in_order(self) -> None:
        root = self.tree('{39, "getpid", sys_getpid},       {0, "read", sys_read},\n')
        self.assertEqual([call.name for call in reference.linux_calls(root)], ["read", "getpid"])
        self.assertEqual(reference.own_calls(root), [("0x4000", "ticks(core)", "how many. einval: none.")])

    def test_a_call_that_is_always_refused_is_listed_so(self) -> None:
        root = self.tree('Result<i64> sys_rseq(Call&) { return Errno::enosys; }  // none\n{334, "rseq", sys_rseq},\n')
        self.assertIn("| 334 | `rseq` (always `ENOSYS`) |", reference.page(root))

    def test_a_number_in_two_tables_is_refused(self) -> None:
        root = self.tree('{39, "getpid", sys_getpid}, {39, "other", sys_other},')
        self.assertRaises(Problem, reference.linux_calls, root)

    def test_no_entry_is_missed(self) -> None:
        """Every handler that is written has its entry, so an entry in another form would be noticed."""
        for file in sorted((paths.ROOT / reference.LINUX).glob("*_calls.cpp")):
            text = file.read_text(encoding="utf-8")
            handlers = set(re.findall(r"^Result<i64> (sys_\w+)\(Call&", text, re.MULTILINE))
            listed = {handler for _, _, handler in reference.ENTRY.findall(text)}
            with self.subTest(file=file.name):
                self.assertEqual(handlers - listed, set())

    def test_the_page_is_current(self) -> None:
        kept = (paths.ROOT / reference.PAGE).read_text(encoding="utf-8")
        self.assertEqual(kept, reference.page(paths.ROOT), "write it anew: python3 -m lab.reference")


class Programs(unittest.TestCase):
    def test_the_page_is_current(self) -> None:
        kept = (paths.ROOT / programs.PAGE).read_text(encoding="utf-8")
        self.assertEqual(kept, programs.page(), "write it anew: python3 -m lab.programs")

    def test_no_trial_stands_twice(self) -> None:
        names = [trial.name for trial in programs.TRIALS]
        self.assertEqual(len(names), len(set(names)))


class BootOptions(unittest.TestCase):
    """The build compares the whole page with the table (kernel/tools/print_options.cpp); this needs no compiler."""

    def test_the_page_has_the_options_of_the_table(self) -> None:
        table = (paths.ROOT / "kernel/boot/options.cpp").read_text(encoding="utf-8")
        entries = re.findall(r'^    (?:flag|number|choice|text)\("([\w.]+)",.*?"([^"]+)"\),$', table,
                             re.MULTILINE | re.DOTALL)
        page = (paths.ROOT / "docs/boot-options.md").read_text(encoding="utf-8").split("\n## ")[0]
        rows = re.findall(r"^\| `([\w.]+)[^`]*` \| .* \| (.*) \|$", page, re.MULTILINE)
        self.assertGreater(len(entries), 10)
        self.assertEqual(rows, entries)
