// Files without a name: pipes, and memfd_create's files in memory.
#pragma once

#include "fs/inode.h"

namespace corral::fs {

// Boot context. enomem.
Result<void> initialise_anonymous_files();
// The file system that pipes belong to.
[[nodiscard]] FileSystem& anonymous_files();
[[nodiscard]] u64 next_anonymous_number();
// A regular file in memory that no directory holds. enomem.
Result<Ref<Inode>> make_memory_file(u32 permissions);

}  // namespace corral::fs
