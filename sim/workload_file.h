// Reads a workload: rt-app's JSON as far as it applies (docs/simulation.md says how far), with what the machine is like beside it.
#pragma once

#include <stdexcept>
#include <string>

#include "hardware.h"
#include "program.h"

namespace corral::sim {

// What is wrong, and where in the file.
struct WorkloadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Experiment {
  Workload workload;
  Hardware hardware;
};

// `cores`: instead of what the file says; 0: as it says. WorkloadError: it is not JSON, or says what cannot be simulated.
[[nodiscard]] Experiment read_workload(const std::string& text, u32 cores = 0);

}  // namespace corral::sim
