// The settings of a terminal, as Linux's x86-64 ABI has them (uapi asm-generic/termbits.h: struct termios of the kernel,
// 36 bytes, not the C library's). Plain values.
#pragma once

#include "lib/types.h"

namespace corral::fs::tty {

struct Termios {
  u32 input, output, control, local;
  u8 line;
  u8 characters[19];
};
static_assert(sizeof(Termios) == 36);

struct WindowSize {
  u16 rows, columns, width_pixels, height_pixels;
  constexpr bool operator==(const WindowSize&) const = default;
};
static_assert(sizeof(WindowSize) == 8);

// input (c_iflag)
inline constexpr u32 parmrk = 8, istrip = 0x20, inlcr = 0x40, igncr = 0x80, icrnl = 0x100, iuclc = 0x200, ixon = 0x400,
                     ixany = 0x800, imaxbel = 0x2000, iutf8 = 0x4000;
// output (c_oflag)
inline constexpr u32 opost = 1, olcuc = 2, onlcr = 4, ocrnl = 8, onocr = 0x10, onlret = 0x20, tab_mask = 0x1800;
// control (c_cflag)
inline constexpr u32 baud_38400 = 0xf, character_size_8 = 0x30, cread = 0x80, hupcl = 0x400, clocal = 0x800;
// local (c_lflag)
inline constexpr u32 isig = 1, icanon = 2, echo = 8, echoe = 0x10, echok = 0x20, echonl = 0x40, noflsh = 0x80, tostop = 0x100,
                     echoctl = 0x200, echoke = 0x800, iexten = 0x8000;

// Places in `characters` (c_cc)
enum Place : u8 {
  vintr = 0,
  vquit = 1,
  verase = 2,
  vkill = 3,
  veof = 4,
  vtime = 5,
  vmin = 6,
  vstart = 8,
  vstop = 9,
  vsusp = 10,
  veol = 11,
  vreprint = 12,
  vdiscard = 13,
  vwerase = 14,
  vlnext = 15,
  veol2 = 16
};

// What a Linux pseudo-terminal starts with: canonical, echo, signals; ^C ^\ DEL ^U ^D ^Z ^W ^V.
inline constexpr Termios initial{icrnl | ixon,
                                 opost | onlcr,
                                 baud_38400 | character_size_8 | cread,
                                 isig | icanon | echo | echoe | echok | echoctl | echoke | iexten,
                                 0,
                                 {3, 0x1c, 0x7f, 0x15, 4, 0, 1, 0, 0x11, 0x13, 0x1a, 0, 0x12, 0xf, 0x17, 0x16, 0, 0, 0}};

// And what the consoles start with.
constexpr Termios console_settings() {
  Termios settings = initial;
  settings.input |= iutf8;
  settings.control |= hupcl;
  return settings;
}

}  // namespace corral::fs::tty
