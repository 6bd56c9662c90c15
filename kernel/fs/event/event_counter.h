// A counter as a file (eventfd): writes add to it, reads take it, or one of it, and wait while it is 0.
// Source: Linux man-pages eventfd(2).
#pragma once

#include "fs/open_file.h"
#include "lib/ref.h"
#include "lib/result.h"

namespace corral::fs {

// `semaphore`: each read takes 1. `flags`: o_nonblock or 0. enomem.
Result<Ref<OpenFile>> make_event_counter(u64 start, bool semaphore, u32 flags);

}  // namespace corral::fs
