"""Drives a guest like a person at its serial line, for tests and measurements.

Boots, waits for the prompt, types a command, reads what it printed and its exit
status. Every wait has a limit that only a hung guest reaches: hosts are busy,
and a test that fails because of that is worth nothing.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import itertools
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lab import command_line, emulators, paths, payload, qemu, verdict
from lab.machine import Boot, Machine
from lab.qmp import Qmp

PATIENCE_SECONDS = 300.0
# The shell's prompt ends so, and nothing follows it but what the kernel has to say, at any moment.
PROMPT = re.compile(r"(?:^|[\r\n])[^\r\n]*[#$] (?:\[ *\d+\.\d{6}\] core [^\r\n]*[\r\n]+)*\Z")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
UNFINISHED_ESCAPE = re.compile(r"\x1b(\[[0-9;?]*)?\Z")


class GuestFailure(AssertionError):
    """The guest did not do what was waited for; tells what it said last."""


@dataclass(frozen=True)
class Answer:
    """What a command printed (line ends as LF), and its exit status."""

    output: str
    status: int


class Guest:
    """One running machine. Use it in a `with` statement: leaving ends the emulator.

    What went well is a GuestFailure all the same when the kernel found an invariant of its
    scheduling violated, unless that is what the test is about (`invariants_hold` false).
    """

    def __init__(
        self,
        machine: Machine,
        boot: Boot,
        *,
        patience: float = PATIENCE_SECONDS,
        gdb: bool = False,
        invariants_hold: bool = True,
    ) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="corral-guest-"))
        self._patience = patience
        self._invariants_hold = invariants_hold
        self._numbers = itertools.count(1)
        self.text = ""  # everything the serial line said so far
        self._at = 0  # up to here it was waited for
        self.failed = False  # a wait was in vain: nobody should wait here again
        self.listener: Callable[[bytes], None] | None = None  # gets what the serial line says, as it is
        self._held = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        wiring = qemu.Wiring(
            serial="stdio",
            debug_console=self._directory / "e9",
            qmp=self._directory / "qmp",
            gdb=f"unix:{self.gdb_socket},server=on,wait=off" if gdb else None,
        )
        self.started = time.monotonic()
        try:
            self._child = emulators.start(
                qemu.command(machine, boot, wiring),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except BaseException:
            shutil.rmtree(self._directory)
            raise
        self._qmp: Qmp | None = None

    @property
    def gdb_socket(self) -> Path:
        return self._directory / "gdb"

    @property
    def qmp(self) -> Qmp:
        """QEMU's machine protocol, connected at the first use."""
        if self._qmp is None:
            self._qmp = Qmp(self._directory / "qmp")
        return self._qmp

    # --- waiting -------------------------------------------------------------

    def expect(self, pattern: str | re.Pattern[str], *, within: float | None = None) -> re.Match[str]:
        """Waits until `pattern` appears in what was not yet consumed, for `within` seconds if not for the guest's patience."""
        wanted = re.compile(pattern)
        deadline = time.monotonic() + (self._patience if within is None else within)
        while True:
            if found := wanted.search(self.text, self._at):
                self._at = found.end()
                return found
            if not self._read(deadline):
                # The last bytes may have come together with the end.
                if found := wanted.search(self.text, self._at):
                    continue
                self.failed = True
                raise GuestFailure(f"waited in vain for {wanted.pattern!r}\n{self.said()}")

    def run_for(self, seconds: float) -> None:
        """Reads along for this long, waiting for nothing."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._read(deadline):
            pass

    def prompt(self) -> None:
        self.expect(PROMPT)

    def ended(self) -> verdict.Verdict:
        """Waits for the emulator's end and says what the guest said about it."""
        deadline = time.monotonic() + self._patience
        while self._read(deadline):
            pass
        try:
            self._child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise GuestFailure(f"the guest did not end\n{self.said()}") from None
        return verdict.of(self.debug_console())

    def said(self) -> str:
        """The guest's last words, for error messages."""
        serial = self.text[-3000:] or "(nothing)"
        return f"--- serial line ---\n{serial}\n--- debug console ---\n{self.debug_console()[-1500:]}"

    def debug_console(self) -> str:
        """Everything written to port 0xE9 so far."""
        return emulators.said(self._directory / "e9")

    def alive(self) -> bool:
        return self._child.poll() is None

    def processor_seconds(self) -> float:
        """How long the emulator has used the host's processors so far, all its threads together."""
        fields = Path(f"/proc/{self._child.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _read(self, deadline: float) -> bool:
        """Takes more output; False at the end of time or of the emulator."""
        assert self._child.stdout is not None
        left = deadline - time.monotonic()
        ready, _, _ = select.select([self._child.stdout], [], [], max(0.0, left))
        if not ready:
            return False
        data = os.read(self._child.stdout.fileno(), 65536)
        if self.listener is not None:
            self.listener(data)
        self.text += self._plain(data)
        return bool(data)

    def _plain(self, data: bytes) -> str:
        """The text without escape sequences; one that is not complete yet is kept for later."""
        text = self._held + self._decoder.decode(data)
        cut = UNFINISHED_ESCAPE.search(text)
        self._held = text[cut.start() :] if cut else ""
        return ESCAPES.sub("", text[: cut.start()] if cut else text)

    # --- typing --------------------------------------------------------------

    def send(self, keys: str) -> None:
        """Types, without waiting. A line ends with a line feed; Ctrl-C is \\x03."""
        assert self._child.stdin is not None
        self._child.stdin.write(keys.encode())
        self._child.stdin.flush()

    def run(self, command: str) -> Answer:
        """Types a command line at the prompt; its output and status.

        Marks surround the output. They are typed in two halves, so that the
        echo of the typing is never taken for them. One line only.
        """
        number = next(self._numbers)
        then = " " if command.rstrip().endswith("&") else "; "
        self.send(f'echo "@""<{number}"; {command}{then}echo "@"">{number}:$?"\n')
        self.expect(rf"@<{number}\r?\n")
        begin = self._at
        found = self.expect(rf"@>{number}:(\d+)(?=\r?\n)")
        self.prompt()
        return Answer(self.text[begin : found.start()].replace("\r\n", "\n"), int(found[1]))

    # --- the end -------------------------------------------------------------

    def kill(self) -> None:
        emulators.stop(self._child)

    def __enter__(self) -> Guest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        if self._qmp is not None:
            self._qmp.close()
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was typed last may not have been taken any more
                pipe.close()
        violation = verdict.violation(self.text + self.debug_console()) if self._invariants_hold and error is None else ""
        said = self.said() if violation else ""
        shutil.rmtree(self._directory, ignore_errors=True)
        if violation:
            raise GuestFailure(f"{violation}\n{said}")


def corral(
    cores: int = 4,
    *,
    program: Sequence[str] = (),
    options: str = "",
    memory_mib: int = 512,
    seed: int | None = None,
    kernel: Path = paths.KERNEL_ELF,
    initramfs: Path | None = paths.INITRAMFS,
    image: Path | None = None,
    uefi: bool = False,
    stick: bool = False,
    files: dict[str, bytes] | None = None,
    patience: float = PATIENCE_SECONDS,
    gdb: bool = False,
    paused: bool = False,
    max_cores: int | None = None,
    plugin: str | None = None,
    invariants_hold: bool = True,
) -> Guest:
    """Boots the Corral that was built. `files` go to /host, `image` boots by BIOS, or by
    UEFI; `stick`: as a disk instead of a disc. `plugin`: QEMU's words for one (lab/cache_model.py).

    `paused` waits before the first instruction for a `GdbStub` at `gdb_socket`.
    """
    machine = Machine(cores, max_cores, memory_mib, seed, wait_for_debugger=paused, plugin=plugin)
    if seed is not None:
        options = command_line.with_seed(options, seed)
    if image is not None:
        return Guest(machine, Boot(iso=image, uefi=uefi, stick=stick), patience=patience, gdb=gdb or paused,
                     invariants_hold=invariants_hold)
    if files:
        assert initramfs is not None
        initramfs = payload.initramfs(files, Path(_work().name), initramfs)
    boot = Boot(kernel, initramfs, command_line.compose([options], program))
    return Guest(machine, boot, patience=patience, gdb=gdb or paused, invariants_hold=invariants_hold)


@functools.cache
def _work() -> tempfile.TemporaryDirectory[str]:
    """For what this process's guests boot, of which another one's know nothing. It goes with the process."""
    return tempfile.TemporaryDirectory(prefix="corral-guest-")


def run_program(program: Sequence[str], cores: int = 4, **settings: object) -> tuple[str, verdict.Verdict]:
    """Boots, runs one program to its end; its output and the verdict."""
    options = f"quiet {settings.pop('options', '')}".strip()
    with corral(cores, program=program, options=options, **settings) as guest:  # type: ignore[arg-type]
        end = guest.ended()
        return guest.text.replace("\r\n", "\n"), end
