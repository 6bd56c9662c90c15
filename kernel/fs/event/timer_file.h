// A timer as a file (timerfd): reads give how often it has expired, and wait while it has not.
// Source: Linux man-pages timerfd_create(2).
#pragma once

#include "fs/open_file.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs {

inline constexpr Instant latest_expiry{never.ns - 1};  // of a timer that is on

struct TimerSetting {
  Duration left{};      // until the next expiry; 0: off
  Duration interval{};  // between the following ones; 0: only once
};

// `flags`: o_nonblock or 0; `wall`: it goes by wall time; `clock`: its number, for those who ask /proc. enomem.
Result<Ref<OpenFile>> make_timer_file(bool wall, i32 clock, u32 flags);
[[nodiscard]] bool is_timer_file(const OpenFile& file);
// It goes by wall time. For files that are timers, as what follows.
[[nodiscard]] bool goes_by_wall_time(OpenFile& file);
// Expires at `first` (never: off) and then every `interval` (0: only once). `cancel_on_set`: for one that goes by wall time; when
// the wall clock is set, whoever waits for it is told so by ecanceled, once. What was set before, also if `cancelled`: the clock
// was set since an earlier setting, and nobody was told. `flags`: the program's, for those who ask /proc.
TimerSetting set_timer_file(OpenFile& file, Deadline first, Duration interval, u32 flags, bool cancel_on_set, bool& cancelled);
[[nodiscard]] TimerSetting timer_file_setting(OpenFile& file);

}  // namespace corral::fs
