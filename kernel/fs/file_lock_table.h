// What is kept of an inode's locks and leases; for file_locks.cpp and leases.cpp alone. One lock guards all tables.
#pragma once

#include "fs/file_locks.h"
#include "fs/leases.h"
#include "sync/waiter.h"

namespace corral::fs {

struct FileLock {
  ListLink link;
  file_locks::Kind kind;
  const void* owner;
  file_locks::Range range;
  bool exclusive;
  i32 process;
  void set(file_locks::Kind new_kind, const void* new_owner, const file_locks::Range& new_range, bool is_exclusive,
           i32 new_process) {
    kind = new_kind;
    owner = new_owner;
    range = new_range;
    exclusive = is_exclusive;
    process = new_process;
  }
};

struct Lease {
  ListLink link;
  const OpenFile* holder = nullptr;
  FileSignals* signals = nullptr;  // the holder's, which stay as long as it does
  leases::Kind kind = leases::Kind::none;
  leases::Kind wanted = leases::Kind::none;  // what it is to become; as `kind`: nobody wants it changed
  Instant until = never;                     // then it becomes that by itself; never: not at all
};

// From the first lock to the inode's end.
struct FileLockTable {
  explicit FileLockTable(SpinLock& lock) : changed{lock} {}
  IntrusiveList<FileLock, &FileLock::link> locks;
  IntrusiveList<Lease, &Lease::link> leases;
  WaitQueue changed;  // of both
};

namespace file_locks {

extern constinit SpinLock all_locks;
// Made when there is none. Null: no memory.
[[nodiscard]] FileLockTable* table_of(Inode& inode) REQUIRES(all_locks);

}  // namespace file_locks

namespace leases {
// The open file `holder`, if it is one, has ended.
void closed(FileLockTable& table, const void* holder) REQUIRES(file_locks::all_locks);
}  // namespace leases

}  // namespace corral::fs
