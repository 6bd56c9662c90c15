// What a run was like, as JSON for lab/simulate.py.
#pragma once

#include <ostream>

#include "machine.h"

namespace corral::sim {

// `host_seconds`: how long the simulation took.
void write_report(std::ostream& to, const Machine& machine, const Experiment& experiment, const PolicyNames& names, u64 seed,
                  double host_seconds);

}  // namespace corral::sim
