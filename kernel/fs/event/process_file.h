// A process as a file (pidfd): readable from its end on. The number may be given to another process meanwhile; the file still means
// the one that it was made for. Source: Linux man-pages pidfd_open(2).
#pragma once

#include "fs/open_file.h"
#include "task/process.h"

namespace corral::fs {

// `flags`: o_nonblock or 0. enomem.
Result<Ref<OpenFile>> make_process_file(Process& process, u32 flags);
// The process that the file stands for, which may have ended. ebadf: it is another file.
Result<Ref<Process>> process_of_file(OpenFile& file);

}  // namespace corral::fs
