// What the policies of a kernel decided, decided once more: the calls that a recording has (kernel/sched/recorded_calls.h), made
// again to new objects of the same policies, and the answers compared. Time, cores and threads are the recording's; nothing is
// simulated but the policies, which come to the same answers or are not the same.
#pragma once

#include <cstring>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "sched/recorded_calls.h"
#include "trace/record.h"

namespace corral::sim {

template <class Data>
Data data_of(const trace::Record& record) {
  Data data;
  std::memcpy(&data, record.data, sizeof data);
  return data;
}
inline std::string name_of(const sched::PolicyMade& made) {
  return {made.name, ::strnlen(made.name, sizeof made.name)};
}

// The decisions of one policy.
struct Compared {
  std::string kind, name;
  u64 cores = 0;  // that decided by it
  u64 calls = 0;
  u64 decisions = 0;  // calls with an answer
  u64 different = 0;
  std::string first_difference;
};

// std::invalid_argument: records are missing, contradict each other or name what there is not.
std::vector<Compared> replay(std::span<const trace::Record> records);

// The same as JSON.
void write_replay(std::ostream& to, std::span<const Compared> compared);

}  // namespace corral::sim
