// Bringing dirty pages of files to where the files are: which files have some, and when it is done.
// A timer on one core looks every second while any file is dirty. Any context.
#pragma once

#include "fs/cache/file_pages.h"

namespace corral::fs::write_back {

// The file has pages that need to be written: it is looked at later, and kept alive until it has none. Its lock is held.
void note(FilePages& file);
// So many pages more (or fewer) are dirty, in all files.
void count(i64 change);
[[nodiscard]] u64 dirty_pages();
// Writers must wait for pages to be written before they make more of them dirty.
[[nodiscard]] bool too_many();

// Lets go of files that are abandoned and that nobody uses but this list. A step or timer, no lock held.
void drop_abandoned();
// Lets go of this file system's files that are clean by now. A step, no lock held.
void drop_clean(const FileSystem& of);
// sync: as FilePages::flush, for all files. blocked; errors of single files are theirs. Of `only`, when given: enomem, too, where a file could
// not be written for that, and is later.
Result<void> flush_all(std::span<u64, 3> progress, Waiter& waiter, const FileSystem* only = nullptr);
// The machine is about to be switched off, and no thread runs any more: writes everything, calling `poll`, which lets devices
// finish, until nothing is under way or `limit` has passed. False: something is left.
bool finish(void (*poll)(), Duration limit);

}  // namespace corral::fs::write_back
