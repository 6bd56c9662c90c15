"""What the guest's screen shows: taken through QEMU, looked at by tests, kept as PNG for people.

QEMU writes PPM (netpbm's P6); PNG is written by hand because nothing but the
standard library is expected (PNG specification, chapters 5 and 11).
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lab.qmp import Qmp


@dataclass(frozen=True)
class Picture:
    width: int
    height: int
    pixels: bytes  # three bytes each, row by row

    def colours(self) -> Counter[bytes]:
        """How many pixels there are of each colour."""
        return Counter(self.pixels[at : at + 3] for at in range(0, len(self.pixels), 3))

    def to_png(self) -> bytes:
        stride = 3 * self.width
        rows = b"".join(b"\0" + self.pixels[at : at + stride] for at in range(0, len(self.pixels), stride))
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def parse_ppm(data: bytes) -> Picture:
    fields = data.split(maxsplit=3)
    if len(fields) != 4 or fields[0] != b"P6":
        raise ValueError("this is no PPM picture")
    width, height = int(fields[1]), int(fields[2])
    # After the largest value comes exactly one white space, then the pixels to the end.
    pixels = data[-3 * width * height :]
    if len(pixels) != 3 * width * height:
        raise ValueError("this PPM picture is cut off")
    return Picture(width, height, pixels)


def take(machine: Qmp) -> Picture:
    with tempfile.TemporaryDirectory(prefix="corral-screen-") as name:
        file = Path(name) / "screen.ppm"
        machine.command("screendump", filename=str(file))
        return parse_ppm(file.read_bytes())
