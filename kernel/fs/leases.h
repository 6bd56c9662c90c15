// Leases: who holds one of a regular file is told, by a signal, before somebody else opens or cuts it in a way that goes against
// it, and has some time to finish with the file; the other one waits. Source: Linux man-pages fcntl(2), "Leases".
//
// A lease belongs to an open file and ends with it. The lock of all locks of files protects them (fs/file_locks.h). An open
// counts itself at the inode (writers, opens) before it looks for leases; a new lease is in the table before its maker looks at
// those counts: so one of the two sees the other.
#pragma once

#include "fs/inode.h"
#include "lib/errno.h"
#include "lib/result.h"
#include "lib/setting.h"

namespace corral::fs {

class FileSignals;

namespace leases {

enum class Kind : u8 { read = 0, write = 1, none = 2 };  // F_RDLCK, F_WRLCK, F_UNLCK

// How long a holder has, in seconds; 0: for ever.
inline constinit Setting break_seconds{45, 0, 0x7fff'ffff};

// `kind` none: gives it up. eagain: others use the file, or there is none to give up; enomem.
Result<void> set(OpenFile& file, FileSignals& signals, Kind kind);
// What the holder has, or is to make of it.
[[nodiscard]] Kind get(OpenFile& file);

// Waits until nobody has a lease that goes against opening the file, with `writes` for writing. eagain: `wait` is false, the holders are
// told all the same; blocked; restart.
Result<void> break_all(Thread& thread, Inode& inode, bool writes, bool wait);
// The same for an open with these flags. Cheap when there were never any.
inline Result<void> break_for_open(Thread& thread, Inode& inode, u32 flags) {
  if (inode.locks.load(Order::seq_cst) == nullptr) [[likely]]
    return {};
  const bool writes = (flags & o_accmode) != o_rdonly || (flags & o_trunc) != 0;
  return break_all(thread, inode, writes, (flags & o_nonblock) == 0);
}

}  // namespace leases
}  // namespace corral::fs
