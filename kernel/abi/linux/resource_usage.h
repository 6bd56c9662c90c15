// Times and counts of threads and processes in the forms of getrusage(2), wait4(2) and times(2).
#pragma once

#include "abi/linux/time_values.h"
#include "task/process.h"

namespace corral::abi {

struct ResourceUsage {  // struct rusage
  TimeValue user, system;
  i64 largest_resident_kib;
  i64 unused_1[3];
  i64 minor_faults, major_faults;
  i64 unused_2[6];
  i64 voluntary_switches, involuntary_switches;
};
static_assert(sizeof(ResourceUsage) == 144);

using Times = CpuTime;
[[nodiscard]] Times times_of(const Thread& thread);
[[nodiscard]] Times times_of(Process& process);           // living threads and those that ended
[[nodiscard]] Times times_of_children(const Process& process);
[[nodiscard]] ResourceUsage usage_of(Thread& thread);
[[nodiscard]] ResourceUsage usage_of(Process& process);
[[nodiscard]] ResourceUsage usage_of_children(const Process& process);
[[nodiscard]] ResourceUsage usage_of_ended(Process& process);  // its children's included, as wait4 tells it
// The child's usage, and its children's, count for the parent from now on.
void add_children_usage(Process& parent, Process& child);

}  // namespace corral::abi
