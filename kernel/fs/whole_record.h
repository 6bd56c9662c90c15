// A record of a ring, as programs get it from /dev/trace: with a time, its core, and the names that rings do without.
#pragma once

#include "trace/record.h"

namespace corral::fs {

// `record`: a copy of what stands in the ring of `core`. A step, no lock.
[[nodiscard]] trace::Record whole_record(const trace::Record& record, CoreId core);

}  // namespace corral::fs
