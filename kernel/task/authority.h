// What one thread may do to another process: signals, priorities, limits, looking into it. Source: Linux kill(2), setpriority(2),
// sched(7), prlimit(2), ptrace(2) ("Ptrace access mode checking"). Context: a step of the thread that acts, no lock held.
#pragma once

#include "task/process.h"

namespace corral::authority {

// eperm.
Result<void> may_signal(const Thread& thread, Process& target, int signal);
Result<void> may_limit(const Thread& thread, Process& target);
// The thread runs as its user, or has `power` over all.
[[nodiscard]] bool owns(const Thread& thread, const Thread& target, Capability power);

// A nice value: eperm where it is somebody else's, eacces where it gets a better one than RLIMIT_NICE allows.
Result<void> may_change_nice(const Thread& thread, const Thread& target, i32 nice);
// A policy and what belongs to it: eperm.
struct Schedule {
  u32 policy = 0;  // without reset_on_fork
  u32 priority = 0;  // real-time
  i32 nice = 0;
  bool reset_on_fork = false;
};
Result<void> may_schedule(const Thread& thread, const Thread& target, const Schedule& wanted);

// Which of the thread's own users counts: /proc goes by the one for files, calls by the real one.
enum class As : u8 { files, real };
// Its memory and its open files: eperm.
Result<void> may_look_into(const Thread& thread, Process& target, As as);

}  // namespace corral::authority
