"""A small client of the remote protocol that QEMU speaks to debuggers.

Enough to stop a guest at an address, to read and write its memory, and to let
it go: measurements start their clock there, and tests plant faults there. What does not happen is a GuestFailure.
GDB's manual, appendix E ("Remote Serial Protocol"), describes the packets.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.guest import GuestFailure

PATIENCE_SECONDS = 300.0
HARDWARE_BREAKPOINT = 1
CHUNK_BYTES = 1024


@contextmanager
def _connection() -> Iterator[None]:
    """Round what goes through the socket: an emulator that is gone, or silent, is a guest that failed."""
    try:
        yield
    except OSError as error:
        raise GuestFailure(f"the debugger's door: {error.strerror or error}") from error


class GdbStub:
    """A connection to a machine that was started paused, or, `running`, is stopped by it. Whatever it waits for, it waits `patience` seconds."""

    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS, running: bool = False) -> None:
        deadline = time.monotonic() + patience
        while True:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                self._socket.close()
                if time.monotonic() > deadline:
                    raise GuestFailure("QEMU opens no door for the debugger") from None
                time.sleep(0.02)
        self._socket.settimeout(patience)
        self._pending = b""
        if running:
            self._expect_stop()

    def run_to(self, address: int) -> None:
        """Goes on until a core is about to execute the instruction at this (linear) address."""
        self._expect_ok(f"Z{HARDWARE_BREAKPOINT},{address:x},1")
        self._send("c")
        answer = self._receive()
        if not answer.startswith(("T05", "S05")):
            raise GuestFailure(f"the guest stopped with {answer!r} instead of at {address:#x}")
        self._expect_ok(f"z{HARDWARE_BREAKPOINT},{address:x},1")

    def run_without(self, core: int, cores: int, seconds: float) -> None:
        """Goes on for so long, with one of the cores standing still."""
        self.go_on_without(core, cores)
        time.sleep(seconds)
        self.stop()

    def go_on_without(self, core: int, cores: int) -> None:
        """Goes on until stop(), with one of the cores standing still."""
        self._send("vCont;" + ";".join(f"c:{number + 1:x}" for number in range(cores) if number != core))

    def stop(self) -> None:
        self._write(b"\x03")
        self._expect_stop()

    def read(self, address: int, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = min(CHUNK_BYTES, length - len(data))
            answer = self._ask(f"m{address + len(data):x},{part:x}")
            if answer.startswith("E"):
                raise GuestFailure(f"memory at {address + len(data):#x} cannot be read: {answer}")
            data += bytes.fromhex(answer)
        return data

    def write(self, address: int, data: bytes) -> None:
        for at in range(0, len(data), CHUNK_BYTES):
            part = data[at : at + CHUNK_BYTES]
            self._expect_ok(f"M{address + at:x},{len(part):x}:{part.hex()}")

    def detach(self) -> None:
        """Lets the guest run on, undisturbed."""
        self._expect_ok("D")
        self._socket.close()

    def _expect_stop(self) -> None:
        answer = self._receive()
        if not answer.startswith(("T02", "S02")):
            raise GuestFailure(f"the guest stopped with {answer!r} instead of when it was told to")

    def _expect_ok(self, packet: str) -> None:
        answer = self._ask(packet)
        if answer != "OK":
            raise GuestFailure(f"the debugger's door answered {answer!r} to {packet!r}")

    def _ask(self, packet: str) -> str:
        self._send(packet)
        return self._receive()

    def _send(self, packet: str) -> None:
        body = packet.encode("ascii")
        self._write(b"$" + body + b"#%02x" % (sum(body) % 256))

    def _write(self, data: bytes) -> None:
        with _connection():
            self._socket.sendall(data)

    def _receive(self) -> str:
        """The next packet; acknowledgements in between are passed over."""
        while True:
            begin = self._pending.find(b"$")
            end = self._pending.find(b"#", begin)
            if begin >= 0 and 0 <= end <= len(self._pending) - 3:
                body = self._pending[begin + 1 : end]
                self._pending = self._pending[end + 3 :]
                self._write(b"+")
                return body.decode("ascii")
            with _connection():
                more = self._socket.recv(65536)
            if not more:
                raise GuestFailure("QEMU closed the debugger's door")
            self._pending += more
