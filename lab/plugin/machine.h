// The model of the whole machine.
#pragma once

#include <deque>
#include <string>

#include "core.h"
#include "turns.h"

namespace corral::cache_model {

class Machine {
 public:
  Machine(u32 cores, const Parameters& parameters);

  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] u32 cores() const { return static_cast<u32>(cores_.size()); }
  [[nodiscard]] Core& core(u32 number) { return cores_[number]; }
  [[nodiscard]] Turns& turns() { return turns_; }

  // The mark `seat` on a core: answers in the page, if it is of this version, and counts there.
  void seat(u32 core, Page& page);
  // All sums of the report are 0.
  void reset_report();
  // While no core runs: the state of the beginning, but for what was counted.
  void forget();
  // A line of JSON about all cores and threads.
  [[nodiscard]] std::string report(std::string_view label);

 private:
  Parameters parameters_;
  std::vector<Inbox> inboxes_;
  SharedCache shared_;
  std::deque<Core> cores_;
  Turns turns_;
};

}  // namespace corral::cache_model
