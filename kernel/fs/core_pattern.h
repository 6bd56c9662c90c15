// How the file is called that a process leaves when a signal ends it with a dump: /proc/sys/kernel/core_pattern. Source: Linux core(5).
//
// Expanding is pure; the pattern in force has a lock of its own, which is a leaf. Any thread.
#pragma once

#include <span>
#include <string_view>

#include "lib/result.h"
#include "lib/setting.h"
#include "lib/types.h"

namespace corral::fs::core_pattern {

inline constexpr u64 longest = 127;  // characters of a pattern

struct Text {
  char bytes[longest + 1] = {};  // NUL-terminated
};
[[nodiscard]] Text get();
// einval: a program that would read the dump ("|program"), which is not done here.
Result<void> set(std::string_view pattern);
// /proc/sys/kernel/core_uses_pid: a pattern without %p is given the process's number at its end.
extern constinit Setting with_process;

// What a name may tell.
struct Circumstances {
  i32 process = 0, thread = 0;
  u32 user = 0, group = 0;  // real
  i32 signal = 0;
  u64 limit = 0;  // RLIMIT_CORE
  u64 seconds = 0;  // since 1970
  u32 core = 0;  // on which the thread runs
  std::string_view host = {};
  std::string_view command = {};  // of the thread
  std::string_view program = {};  // path
};
// A prefix of `to`. A slash in what is told becomes "!"; `numbered`: as by with_process. enametoolong.
Result<std::string_view> expand(std::string_view pattern, bool numbered, const Circumstances& told, std::span<char> to);

}  // namespace corral::fs::core_pattern
