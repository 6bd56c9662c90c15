// The first process: number 1, parent of orphans; when it ends, the machine ends with its status.
#pragma once

#include "boot/options.h"
#include "lib/result.h"

namespace corral::boot {

// Boot context, everything else being ready. Makes the process; its thread starts with a step that executes init=, or with
// the kernel's own tests (test=). `options` must live for ever. enomem.
Result<void> start_first_process(const Options& options);

}  // namespace corral::boot
