// Signals as a file (signalfd): a read takes those of a set that are pending for the thread that reads, or for its process.
// Source: Linux man-pages signalfd(2).
#pragma once

#include "fs/open_file.h"
#include "task/signals.h"

namespace corral::fs {

// `flags`: o_nonblock or 0. enomem.
Result<Ref<OpenFile>> make_signal_file(SignalSet set, u32 flags);
// Another set for it. einval: it is another file.
Result<void> change_signal_file(OpenFile& file, SignalSet set);

}  // namespace corral::fs
