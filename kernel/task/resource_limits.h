// The limits of a process (RLIMIT_…), inherited by its children. Any thread reads them; prlimit changes them, one word at a time.
// Source: Linux getrlimit(2).
#pragma once

#include "lib/types.h"

namespace corral {

inline constexpr u64 no_limit = ~u64{0};
inline constexpr u64 most_threads_at_boot = 32767;  // at all, until it is changed (ProcessTable::most_threads)

struct ResourceLimits {
  enum Resource : u32 {
    cpu,
    file_size_limit,
    data_limit,
    stack_limit,
    core_limit,
    resident_limit,
    process_limit,
    file_limit,
    locked_limit,
    address_space_limit,
    lock_limit,
    signal_limit,
    queue_limit,
    nice_limit,
    priority_limit,
    run_time_limit,
    count
  };

  // Soft limits, in the order of their numbers.
  u64 cpu_seconds = no_limit;
  u64 file_size = no_limit;
  u64 data = no_limit;
  u64 stack = 8u << 20;
  u64 core = 0;
  u64 resident = no_limit;
  u64 processes = most_threads_at_boot / 2;  // and threads, of the user; as Linux has it
  u64 open_files = 1024;
  u64 locked_memory = 8u << 20;
  u64 address_space = no_limit;
  u64 locks = no_limit;
  u64 pending_signals = 4096;
  u64 message_queues = 819200;
  u64 nice = 0;
  u64 real_time_priority = 0;
  u64 run_time = no_limit;

  u64 hard[count] = {no_limit, no_limit, no_limit, no_limit, no_limit, no_limit, no_limit, 1u << 20,
                     8u << 20, no_limit, no_limit, no_limit, 819200,   0,        0,        no_limit};

  [[nodiscard]] u64& soft(u32 resource) {
    u64* const all[count] = {
        &cpu_seconds,   &file_size,     &data,  &stack,           &core,           &resident, &processes,          &open_files,
        &locked_memory, &address_space, &locks, &pending_signals, &message_queues, &nice,     &real_time_priority, &run_time};
    return *all[resource];
  }
};

}  // namespace corral
