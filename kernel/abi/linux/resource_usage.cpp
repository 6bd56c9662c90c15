// See resource_usage.h. A thread's run time is exact (charged by its scheduler); its division into user and system time follows
// the cycles counted at kernel entry and exit.
#include "abi/linux/resource_usage.h"

#include "core/core.h"

namespace corral::abi {

Times times_of(const Thread& thread) {
  return {thread.user_ns(), thread.system_ns()};
}

Times times_of(Process& process) {
  LockGuard guard{process.lock()};
  return cpu_time_of(process);
}

Times times_of_children(const Process& process) {
  return {process.children_user_ns.load(Order::relaxed), process.children_system_ns.load(Order::relaxed)};
}

namespace {

constexpr i64 kib_of_page = page_size / 1024;

ResourceUsage usage_from(const Times& times, u64 faults, u64 voluntary, u64 involuntary, u64 peak_pages) {
  ResourceUsage usage{};
  usage.user = time_value(times.user_ns);
  usage.system = time_value(times.system_ns);
  usage.largest_resident_kib = static_cast<i64>(peak_pages) * kib_of_page;
  usage.minor_faults = static_cast<i64>(faults);
  usage.voluntary_switches = static_cast<i64>(voluntary);
  usage.involuntary_switches = static_cast<i64>(involuntary);
  return usage;
}

struct Sums {
  u64 faults, voluntary, involuntary, peak_pages;
};

Sums sums_of(const Process::Counts& counts) {
  return {counts.faults.load(Order::relaxed), counts.voluntary.load(Order::relaxed), counts.involuntary.load(Order::relaxed),
          counts.peak_pages.load(Order::relaxed)};
}

Sums sums_of(Process& process) {
  process.note_peak();
  LockGuard guard{process.lock()};
  Sums sums = sums_of(process.counts);
  process.for_each_thread_locked([&](Thread& thread) {
    if (thread.times_counted.load(Order::acquire)) return;
    sums.faults += thread.faults.load(Order::relaxed);
    sums.voluntary += thread.voluntary_switches.load(Order::relaxed);
    sums.involuntary += thread.involuntary_switches.load(Order::relaxed);
  });
  return sums;
}

Sums together(const Sums& a, const Sums& b) {
  return {a.faults + b.faults, a.voluntary + b.voluntary, a.involuntary + b.involuntary,
          a.peak_pages > b.peak_pages ? a.peak_pages : b.peak_pages};
}

ResourceUsage usage_from(const Times& times, const Sums& s) {
  return usage_from(times, s.faults, s.voluntary, s.involuntary, s.peak_pages);
}

}  // namespace

ResourceUsage usage_of(Thread& thread) {
  thread.process().note_peak();
  return usage_from(times_of(thread), thread.faults.load(Order::relaxed), thread.voluntary_switches.load(Order::relaxed),
                    thread.involuntary_switches.load(Order::relaxed), sums_of(thread.process().counts).peak_pages);
}

ResourceUsage usage_of(Process& process) {
  return usage_from(times_of(process), sums_of(process));
}

ResourceUsage usage_of_children(const Process& process) {
  return usage_from(times_of_children(process), sums_of(process.children_counts));
}

ResourceUsage usage_of_ended(Process& process) {
  Times all = times_of(process);
  const Times children = times_of_children(process);
  all.user_ns += children.user_ns;
  all.system_ns += children.system_ns;
  return usage_from(all, together(sums_of(process), sums_of(process.children_counts)));
}

void add_children_usage(Process& parent, Process& child) {
  Times all = times_of(child);
  const Times children = times_of_children(child);
  parent.children_user_ns.fetch_add(all.user_ns + children.user_ns, Order::relaxed);
  parent.children_system_ns.fetch_add(all.system_ns + children.system_ns, Order::relaxed);
  const Sums sums = together(sums_of(child), sums_of(child.children_counts));
  Process::Counts& counts = parent.children_counts;
  counts.faults.fetch_add(sums.faults, Order::relaxed);
  counts.voluntary.fetch_add(sums.voluntary, Order::relaxed);
  counts.involuntary.fetch_add(sums.involuntary, Order::relaxed);
  if (sums.peak_pages > counts.peak_pages.load(Order::relaxed)) counts.peak_pages.store(sums.peak_pages, Order::relaxed);
}

}  // namespace corral::abi
