// Locks that programs put on files: record locks of a process (fcntl), record locks of an open file (F_OFD_…), and flock. They
// keep out others that ask for them, not those that just read and write.
//
// One lock (rank file) protects all of them, so that cycles of waiting processes are seen. An inode has a table only after
// somebody has locked it. Who finds its range taken waits for the next change of that inode's locks, and looks again.
// Source: Linux man-pages fcntl(2), flock(2); POSIX.1-2017 fcntl().
#pragma once

#include "fs/inode.h"
#include "lib/errno.h"
#include "lib/result.h"

namespace corral::fs {

class FileTable;

namespace file_locks {

enum class Kind : u8 { of_process, of_open_file, whole };  // `whole`: flock

// Bytes first … last, both included; last is last_byte for "to the end, wherever that will be".
inline constexpr u64 last_byte = INT64_MAX;
struct Range {
  u64 first = 0, last = last_byte;
};

struct Found {
  Range range;
  bool exclusive = false;
  i32 process = 0;  // -1: an open file's
};

// `owner`: the FileTable (of_process) or the OpenFile. blocked: run the step again, with the same arguments; give_up() must be called
// if the call ends otherwise. eagain: taken, and `wait` is false; edeadlk: it would wait for itself; enomem; restart.
Result<void> lock(Thread& thread, Inode& inode, Kind kind, const void* owner, const Range& range, bool exclusive, bool wait);
Result<void> unlock(Inode& inode, Kind kind, const void* owner, const Range& range);  // enomem: would have to be split
// The first lock that keeps this one out; false: none.
[[nodiscard]] bool find(Inode& inode, Kind kind, const void* owner, const Range& range, bool exclusive, Found& found);

// The call ends: it waits for nobody.
void give_up(Thread& thread);

// A process closed a descriptor of this file, or an open file has ended: its locks go. Cheap when there were never any.
void closed(Inode& inode, const void* owner);
// The inode ends.
void forget(Inode& inode);

}  // namespace file_locks
}  // namespace corral::fs
