// The kernel's log: levels, time, core; kept in a ring (dmesg, /proc/kmsg-like) and written to the log sinks.
// Any context, any core except an NMI; takes only the log lock, and not while the sinks write. A sink gets whole lines.
// Formatting is lib/format.h's.
#pragma once

#include <string_view>

#include "lib/format.h"

namespace corral::log {

enum class Level : u8 { error, warning, notice, info, debug };

// Writes bytes at once without waiting on anything that may be broken (console devices, port 0xE9).
using Sink = void (*)(std::string_view text);
void add_sink(Sink sink);       // boot context; at most 8
void remove_sink(Sink sink);    // boot context
// Who tells the time: the clock is above this room. Lines before that say 0. Boot context; any core may call it then.
using TimeSource = Instant (*)();
void set_time_source(TimeSource now);
[[nodiscard]] Instant now();  // the time that a line written now would say
void set_level(Level console);  // what reaches the sinks; the ring takes everything
bool set_level(std::string_view name);
void write(Level level, std::string_view text);
// Copies the ring's text from the oldest on; returns bytes written.
size_t copy_ring(char* to, size_t size);

// A panic has begun: from now on no lock is taken, everything reaches the sinks.
void begin_panic();

template <class... Arguments>
void print(Level level, const char* format, const Arguments&... arguments) {
  char line[256];
  write(level, format_to(line, format, arguments...));
}
template <class... A> void error(const char* f, const A&... a) {
  print(Level::error, f, a...);
}
template <class... A> void warning(const char* f, const A&... a) {
  print(Level::warning, f, a...);
}
template <class... A> void notice(const char* f, const A&... a) {
  print(Level::notice, f, a...);
}
template <class... A> void info(const char* f, const A&... a) {
  print(Level::info, f, a...);
}
template <class... A> void debug(const char* f, const A&... a) {
  print(Level::debug, f, a...);
}

}  // namespace corral::log
