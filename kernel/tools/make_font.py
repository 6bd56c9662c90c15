#!/usr/bin/env python3
"""Writes the console's font as a C++ header: make_font.py FONT.pf2 HEADER

The glyphs are those of GNU Unifont as GRUB's package carries them (PFF2; GRUB
manual, "Font file format"): sections of a name, a big-endian length and data; CHIX lists code
point, flags and offset; a glyph has width, height, x and y offset and device
width, 16 bits each, then its dots without gaps between the rows.
"""

import struct
import sys
from pathlib import Path

WIDTH, HEIGHT = 8, 16
FIRST, LAST = 0x20, 0x7E


def sections(data: bytes) -> dict[bytes, bytes]:
    found, at = {}, 0
    while at + 8 <= len(data):
        name, (length,) = data[at : at + 4], struct.unpack_from(">I", data, at + 4)
        if name == b"DATA":  # the rest of the file
            break
        found[name] = data[at + 8 : at + 8 + length]
        at += 8 + length
    return found


def glyph(data: bytes, offset: int, ascent: int) -> list[int]:
    width, height, left, bottom, _ = struct.unpack_from(">HHhhh", data, offset)
    dots = data[offset + 10 :]
    rows = [0] * HEIGHT
    for y in range(height):
        to = ascent - bottom - height + y
        for x in range(width):
            at = y * width + x
            if dots[at // 8] >> (7 - at % 8) & 1 and 0 <= to < HEIGHT and 0 <= left + x < WIDTH:
                rows[to] |= 0x80 >> (left + x)
    return rows


def main() -> int:
    source, target = map(Path, sys.argv[1:3])
    data = source.read_bytes()
    parts = sections(data)
    if parts.get(b"FILE") != b"PFF2":
        print(f"{source}: this is no PFF2 font", file=sys.stderr)
        return 1
    (ascent,) = struct.unpack(">H", parts[b"ASCE"])
    index = {code: offset for code, _, offset in struct.iter_unpack(">IBI", parts[b"CHIX"])}
    lines = [
        "// Made by kernel/tools/make_font.py from GNU Unifont; one byte a row of dots.",
        "#pragma once",
        "",
        '#include "device/text_painter.h"',
        "",
        "namespace corral::platform {",
        "inline constexpr TextPainter::Font font_8x16 = {",
    ]
    for code in range(FIRST, LAST + 1):
        rows = ", ".join(f"0x{row:02x}" for row in glyph(data, index[code], ascent))
        lines.append(f"    {{{rows}}},  // {chr(code) if chr(code) != chr(92) else 'backslash'}")
    lines += ["};", "}  // namespace corral::platform", ""]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
