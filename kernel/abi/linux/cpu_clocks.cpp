// See cpu_clocks.h. A number below 0 holds the inverse of a process's number in its upper bits, then: of a thread (4), what (3).
#include "abi/linux/cpu_clocks.h"

#include "core/core.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

enum : i32 { process_time = 2, thread_time = 3 };
constexpr i32 of_a_thread = 4, what_mask = 3, number_shift = 3;
enum What : i32 { user_and_system = 0, user = 1, run_time = 2 };

Result<CpuClock> clock_of_thread(Call& call, i32 number, bool user_only) {
  Ref<Thread> thread = number == 0 ? Ref<Thread>::share(call.thread) : call.process.find_thread({number});
  if (!thread) return Errno::einval;
  return CpuClock{Ref<Process>::share(call.process), std::move(thread), user_only};
}

Result<CpuClock> clock_of_process(Call& call, i32 number, bool user_only) {
  const bool own = number == 0 || number == call.thread.id().value;
  Ref<Process> process = own ? Ref<Process>::share(call.process) : processes::find({number});
  if (!process) return Errno::einval;
  return CpuClock{std::move(process), {}, user_only};
}

}  // namespace

bool is_cpu_clock(i32 id) {
  return id < 0 || id == process_time || id == thread_time;
}

Result<CpuClock> cpu_clock_of(Call& call, i32 id) {
  if (id == process_time) return clock_of_process(call, 0, false);
  if (id == thread_time) return clock_of_thread(call, 0, false);
  const i32 what = id & what_mask;
  if (id >= 0 || what > run_time) return Errno::einval;
  const i32 number = ~(id >> number_shift);
  return (id & of_a_thread) != 0 ? clock_of_thread(call, number, what == user) : clock_of_process(call, number, what == user);
}

i64 used_ns(const CpuClock& clock) {
  this_core().scheduler->update_running();
  if (clock.thread) return clock.user_only ? clock.thread->user_ns() : clock.thread->run_ns();
  LockGuard guard{clock.process->lock()};
  const CpuTime time = cpu_time_of(*clock.process);
  return time.user_ns + (clock.user_only ? 0 : time.system_ns);
}

}  // namespace corral::abi
