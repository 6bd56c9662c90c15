// See resource_usage.h. A thread's run time is exact (charged by its scheduler); its division into user and system time follows
// the cycles counted at kernel entry and exit.
#include "abi/linux/resource_usage.h"

#include "core/core.h"

namespace corral::abi {

namespace {

TimeValue time_value(i64 ns) {
  return {ns / 1'000'000'000, ns % 1'000'000'000 / 1000};
}

}  // namespace

Times times_of(const Thread& thread) {
  return {thread.user_ns(), thread.system_ns()};
}

Times times_of(Process& process) {
  Times sum{process.user_ns.load(Order::relaxed), process.system_ns.load(Order::relaxed)};
  process.for_each_thread([&](Thread& thread) {
    if (thread.times_counted.load(Order::acquire)) return;
    const Times t = times_of(thread);
    sum.user_ns += t.user_ns;
    sum.system_ns += t.system_ns;
  });
  return sum;
}

Times times_of_children(const Process& process) {
  return {process.children_user_ns.load(Order::relaxed), process.children_system_ns.load(Order::relaxed)};
}

ResourceUsage usage_of(const Times& times) {
  ResourceUsage usage{};
  usage.user = time_value(times.user_ns);
  usage.system = time_value(times.system_ns);
  return usage;
}

ResourceUsage usage_of_ended(Process& process) {
  Times all = times_of(process);
  const Times children = times_of_children(process);
  all.user_ns += children.user_ns;
  all.system_ns += children.system_ns;
  return usage_of(all);
}

void add_children_times(Process& parent, Process& child) {
  Times all = times_of(child);
  const Times children = times_of_children(child);
  parent.children_user_ns.fetch_add(all.user_ns + children.user_ns, Order::relaxed);
  parent.children_system_ns.fetch_add(all.system_ns + children.system_ns, Order::relaxed);
}

}  // namespace corral::abi
