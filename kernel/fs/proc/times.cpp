// /proc/stat, uptime, loadavg: where the time of the cores goes.
#include "arch/traps.h"
#include "core/core.h"
#include "device/clock.h"
#include "device/interrupts.h"
#include "fs/proc/load_average.h"
#include "fs/proc/proc.h"
#include "lib/multiply_divide.h"
#include "sched/engine/manager.h"
#include "task/process.h"

namespace corral::fs::proc {

namespace {

constexpr i64 ns_per_tick = 10'000'000;  // USER_HZ is 100

// A core's time since boot, in ticks. What is not idle is divided as its cycles were between programs and kernel.
struct CoreTimes {
  i64 user, system, idle;
};

CoreTimes times_of(CoreId id, Instant now) {
  const i64 idle = scheduling().statistics(id).idle_time(now).ns;
  const i64 busy = now.ns > idle ? now.ns - idle : 0;
  const Core::Counters& counters = cores::get(id).counters;
  const u64 user = counters.user_cycles.load(Order::relaxed);
  const u64 all = user + counters.system_cycles.load(Order::relaxed);
  const i64 user_ns = all == 0 ? 0 : static_cast<i64>(multiply_divide(static_cast<u64>(busy), user, all));
  return {user_ns / ns_per_tick, (busy - user_ns) / ns_per_tick, idle / ns_per_tick};
}

void line(TextBuffer& to, const CoreTimes& t) {
  to.print(" {} 0 {} {} 0 0 0 0 0 0\n", t.user, t.system, t.idle);
}

u32 running_now() {
  u32 running = scheduling().global_queue().waiting();
  cores::online().for_each([&](CoreId id) { running += scheduling().statistics(id).runnable(); });
  return running;
}

i64 idle_of_all(Instant now) {
  i64 idle = 0;
  cores::online().for_each([&](CoreId id) { idle += scheduling().statistics(id).idle_time(now).ns; });
  return idle;
}

}  // namespace

Result<void> stat(TextBuffer& to, const Subject&) {
  const Instant now = clock::now();
  CoreTimes sum{};
  u64 switches = 0;
  u64 interrupts = 0;
  cores::online().for_each([&](CoreId id) {
    const CoreTimes t = times_of(id, now);
    sum = {sum.user + t.user, sum.system + t.system, sum.idle + t.idle};
    switches += scheduling().statistics(id).switches.load(Order::relaxed);
    for (u32 vector = arch::exception_count; vector <= arch::vector_spurious; ++vector) {
      interrupts += corral::interrupts::count(vector, id);
    }
  });
  to.append("cpu ");
  line(to, sum);
  cores::online().for_each([&](CoreId id) {
    to.print("cpu{}", id.value);
    line(to, times_of(id, now));
  });
  to.print("intr {}\nctxt {}\nbtime {}\nprocesses {}\n", interrupts, switches, clock::boot_wall_time_ns() / 1'000'000'000,
           processes::created_total());
  to.print("procs_running {}\nprocs_blocked 0\n", running_now());
  return {};
}

Result<void> uptime(TextBuffer& to, const Subject&) {
  const Instant now = clock::now();
  const i64 up = now.ns / ns_per_tick;
  const i64 idle = idle_of_all(now) / ns_per_tick;
  to.print("{}.{02} {}.{02}\n", up / 100, up % 100, idle / 100, idle % 100);
  return {};
}

Result<void> loadavg(TextBuffer& to, const Subject&) {
  const LoadAverages load = load_averages();
  const auto number = [&](u64 fixed) {
    const u64 hundredths = (fixed * 100 + LoadAverages::one / 2) / LoadAverages::one;
    to.print("{}.{02} ", hundredths / 100, hundredths % 100);
  };
  number(load.minutes_1);
  number(load.minutes_5);
  number(load.minutes_15);
  i32 last = 0;
  processes::for_each([&](Process& process) {
    last = process.id().value;
    return true;
  });
  to.print("{}/{} {}\n", running_now(), processes::thread_count(), last);
  return {};
}

}  // namespace corral::fs::proc
