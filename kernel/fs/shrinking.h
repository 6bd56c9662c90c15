// Files that become shorter while they are mapped: whoever touches a page behind the end is to get a SIGBUS, as on Linux.
//
// First the file is shorter, so that no fault finds a page behind the end any more (one that has found a page before sees from Inode::cuts
// that it must ask again). Then each address space takes out what it has mapped of it, one after the other, and its cores forget it; for
// that the step waits. What was begun has to be finished: a call that makes files shorter calls finish_shrinking() before
// anything else.
// Context: the calling thread's step, no lock held.
#pragma once

#include "fs/inode.h"

namespace corral::fs {

// The file gets this size. As Inode::resize, or OpenFile::resize when `open` is given; blocked.
Result<void> resize_mapped(Thread& thread, Inode& file, OpenFile* open, u64 size);
// True: a file was made shorter by an earlier run of this step, and that is finished now. blocked.
Result<bool> finish_shrinking(Thread& thread);

}  // namespace corral::fs
