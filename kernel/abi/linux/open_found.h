// Opening a file that has been found, by its name or by its handle.
#pragma once

#include "abi/linux/file_handlers.h"

namespace corral::abi {

// As open(2) with these flags; `created` by this call, so that nothing is to be checked. Can answer blocked. fs::abandon_fifo_open() is
// to follow when the call ends.
Result<Ref<fs::OpenFile>> open_found(Call& call, fs::Inode& inode, u32 flags, bool created);

}  // namespace corral::abi
