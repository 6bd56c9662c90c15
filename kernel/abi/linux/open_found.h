// Making, opening and removing a file that has been found, by its name or by its handle.
#pragma once

#include "abi/linux/file_handlers.h"

namespace corral::abi {

// The file that the walk found, or a new one if `flags` allow it, with the umask applied to `permissions`; `created` then. Errors as
// open(2) with O_CREAT. Can answer blocked.
Result<Ref<fs::Inode>> find_or_create(Call& call, const fs::Walk& walk, u32 flags, u32 permissions, bool& created);

// As unlink(2) for the name that the walk led to. Can answer blocked.
Result<void> unlink_found(Call& call, const fs::Walk& walk);

// As open(2) with these flags; `created` by this call, so that nothing is to be checked. Can answer blocked. fs::abandon_fifo_open() is
// to follow when the call ends.
Result<Ref<fs::OpenFile>> open_found(Call& call, fs::Inode& inode, u32 flags, bool created);

}  // namespace corral::abi
