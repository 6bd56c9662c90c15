// /proc/schedstat, and schedstat and sched of a process and its tasks: how long threads ran and waited, and how often.
// Source: Linux Documentation/scheduler/sched-stats (version 15), proc(5); kernel/sched/debug.c for the form of "sched".
#include "core/core.h"
#include "device/clock.h"
#include "fs/proc/proc.h"
#include "sched/engine/counting.h"
#include "sched/engine/manager.h"
#include "task/process.h"

namespace corral::fs::proc {

namespace {

// Each turn ended, or is under way.
u64 turns_of(const Thread& thread) {
  return thread.voluntary_switches.load(Order::relaxed) + thread.involuntary_switches.load(Order::relaxed) +
         (thread.state() == ThreadState::running ? 1 : 0);
}

Duration waited(const Thread& thread) {
  return sched::Turns::waited(thread.entity, clock::now());
}

// When its run time was brought up to date: while it runs just now, else when it left its core.
Instant last_seen_running(const Thread& thread) {
  const i64 charged = __atomic_load_n(&thread.entity.charged.ns, __ATOMIC_RELAXED);
  if (charged != 0) return charged == never.ns ? clock::now() : Instant{charged};
  return Instant{__atomic_load_n(&thread.entity.last_ran.ns, __ATOMIC_RELAXED)};
}

void number(TextBuffer& to, std::string_view key, i64 value) {
  to.print("{-45}:{21}\n", key, value);
}

void milliseconds_line(TextBuffer& to, const char* key, i64 ns) {
  to.print("{-45}:{14}.{06}\n", key, ns / 1'000'000, ns % 1'000'000);
}

// As Linux counts them: 0 … 99 real-time, the most urgent first; 120 at nice 0; -1 with a deadline.
i32 priority_of(const Thread& thread) {
  const u32 urgent = thread.effective_priority();
  if (urgent == 0) return 120 + thread.nice();
  return static_cast<i32>(sched::real_time_highest) - static_cast<i32>(urgent);
}

// What was counted; without a source that counts there are no such lines.
void add_resources(TextBuffer& to, const Thread& thread) {
  const sched::ResourceUse use = thread.entity.resources.load(Order::relaxed);
  const sched::CounterSource* source = sched::counting::chosen();
  if (source == nullptr || !use.known()) return;
  for (u32 i = 0; i < sched::figures; ++i) {
    const auto figure = static_cast<sched::Figure>(i);
    if (!source->counts().has(figure)) continue;
    char key[40];
    const u64 in_kernel = thread.counted_in_kernel[i].load(Order::relaxed);
    const u64 all = thread.counted_figures[i].load(Order::relaxed);
    number(to, format_to(key, "counters.{}", sched::name_of(figure)), static_cast<i64>(all));
    if (!source->tells_modes_apart().has(figure)) continue;
    number(to, format_to(key, "counters.user.{}", sched::name_of(figure)), static_cast<i64>(all - in_kernel));
    number(to, format_to(key, "counters.kernel.{}", sched::name_of(figure)), static_cast<i64>(in_kernel));
  }
  number(to, "resources.pages", use.pages());
  number(to, "resources.memory_bound", use.memory_bound());
}

}  // namespace

// What the first six numbers of a core count, a Linux counts too only while kernel.sched_schedstats is set: 0 here. There are
// no lines of domains, which are Linux's levels of balancing.
Result<void> schedstat(TextBuffer& to, const Subject&) {
  const Instant now = clock::now();
  to.print("version 15\ntimestamp {}\n", now.ns / scheduling().tick().ns);
  scheduling().cores().for_each([&](CoreId core) {
    const sched::Turns& turns = scheduling().scheduler(core)->turns();
    const i64 idle = scheduling().statistics(core).idle_time(now).ns;
    to.print("cpu{} 0 0 0 0 0 0 {} {} {}\n", core, now.ns > idle ? now.ns - idle : 0, turns.waited(), turns.taken());
  });
  return {};
}

// Of a process: its main thread's, as in Linux. Of one that has ended nothing is kept.
Result<void> process_schedstat(TextBuffer& to, const Subject& subject) {
  const Result<Ref<Thread>> found = thread_of(subject);
  if (!found.ok()) {
    (void)TRY(process_of(subject));
    to.append("0 0 0\n");
    return {};
  }
  const Thread& thread = *found.value();
  to.print("{} {} {}\n", thread.run_ns(), waited(thread), turns_of(thread));
  return {};
}

Result<void> process_sched(TextBuffer& to, const Subject& subject) {
  const Ref<Thread> found = TRY(thread_of(subject));
  const Thread& thread = *found;
  const u64 voluntary = thread.voluntary_switches.load(Order::relaxed);
  const u64 involuntary = thread.involuntary_switches.load(Order::relaxed);
  const u32 policy = thread.policy() & ~Thread::reset_on_fork;
  constexpr u32 unit = 1024;  // of Linux's weights: 1,048,576 at nice 0
  to.print("{} ({}, #threads: {})\n", static_cast<const char*>(thread.name), thread.id().value,
           found->process().thread_count());
  to.append("-------------------------------------------------------------------\n");
  milliseconds_line(to, "se.exec_start", last_seen_running(thread).ns);
  milliseconds_line(to, "se.sum_exec_runtime", thread.run_ns());
  number(to, "se.nr_migrations", static_cast<i64>(thread.migrations.load(Order::relaxed)));
  milliseconds_line(to, "wait_sum", waited(thread).ns);
  number(to, "nr_switches", static_cast<i64>(voluntary + involuntary));
  number(to, "nr_voluntary_switches", static_cast<i64>(voluntary));
  number(to, "nr_involuntary_switches", static_cast<i64>(involuntary));
  number(to, "se.load.weight", i64{sched::weight_of(thread.nice(), static_cast<sched::SchedulingPolicy>(policy))} * unit);
  number(to, "policy", policy);
  number(to, "prio", priority_of(thread));
  add_resources(to, thread);
  return {};
}

}  // namespace corral::fs::proc
