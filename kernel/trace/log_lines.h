// The log's lines, one by one: what /dev/kmsg reads and writes. Any context except an NMI; takes the log's lock.
//
// A line has a number, and a priority as syslog has it: eight times who said it (0: the kernel, 1: a program), and how serious it is
// (3: error … 7: debug). The ring keeps the last 64 KiB; a place that it has gone past is moved to the oldest line that is left.
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral::log {

// Where a reader is.
struct Place {
  u64 number = 0;  // of the next line
  u64 at = 0;  // bytes of the log before it
};

struct Line {
  u32 priority = 0;
  i64 microseconds = 0;  // of the clock, when it was written
  std::string_view text;
};

enum class Reading : u8 { line, nothing_more, lost };  // lost: lines from there on; the place is that of the oldest now

inline constexpr size_t longest_line = 344;

[[nodiscard]] Place oldest_line();
[[nodiscard]] Place behind_last_line();
// The line at that place, in `memory`; then the place is that of the next one.
[[nodiscard]] Reading next_line(Place& place, std::span<char, longest_line> memory, Line& line);
// A program's.
void write_line(u32 priority, std::string_view text);

}  // namespace corral::log
