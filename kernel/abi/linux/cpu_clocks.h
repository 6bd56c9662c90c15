// Clocks of processor time by number: CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, and those that clock_getcpuclockid() and
// pthread_getcpuclockid() make of a process's or a thread's number. Source: Linux clock_getres(2).
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

struct CpuClock {
  Ref<Process> process;
  Ref<Thread> thread;  // null: the whole process
  bool user_only = false;  // CPUCLOCK_VIRT
};

[[nodiscard]] bool is_cpu_clock(i32 id);
// einval: no such process, or a thread of another one.
Result<CpuClock> cpu_clock_of(Call& call, i32 id);
[[nodiscard]] i64 used_ns(const CpuClock& clock);

}  // namespace corral::abi
