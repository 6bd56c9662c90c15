// A timer as a file (timerfd): reads give how often it has expired, and wait while it has not.
// Source: Linux man-pages timerfd_create(2).
#pragma once

#include "fs/open_file.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs {

struct TimerSetting {
  Duration left{};      // until the next expiry; 0: off
  Duration interval{};  // between the following ones; 0: only once
};

// `flags`: o_nonblock or 0; `wall`: it goes by wall time. enomem.
Result<Ref<OpenFile>> make_timer_file(bool wall, u32 flags);
[[nodiscard]] bool is_timer_file(const OpenFile& file);
// It goes by wall time. For files that are timers, as what follows.
[[nodiscard]] bool goes_by_wall_time(OpenFile& file);
// Expires at `first` (never: off) and then every `interval` (0: only once). What was set before.
TimerSetting set_timer_file(OpenFile& file, Instant first, Duration interval);
[[nodiscard]] TimerSetting timer_file_setting(OpenFile& file);

}  // namespace corral::fs
