// What the calls about System V's objects write and read: Linux's structures for x86-64. Source: uapi asm-generic/ipcbuf.h, sembuf.h,
// msgbuf.h, shmbuf.h; linux/sem.h, msg.h, shm.h.
#pragma once

#include <span>

#include "abi/linux/call.h"
#include "fs/types.h"
#include "ipc/sysv/access.h"

namespace corral::abi {

// The lists of calls, for table.cpp.
[[nodiscard]] std::span<const Entry> semaphore_calls();
[[nodiscard]] std::span<const Entry> queue_calls();
[[nodiscard]] std::span<const Entry> segment_calls();
[[nodiscard]] std::span<const Entry> message_queue_calls();  // POSIX's

struct IpcPermissions {  // struct ipc64_perm
  i32 key;
  u32 user, group, creator_user, creator_group, mode;
  u16 sequence, padding_1;
  u32 padding_2;
  u64 unused[2];
};
static_assert(sizeof(IpcPermissions) == 48);

// What IPC_SET changes and the stat commands tell: every command number of the family has its own in the last bits.
inline IpcPermissions permissions_of(const ipc::Ownership& owner, i32 number) {
  IpcPermissions told{};
  told.key = owner.key;
  told.user = owner.user;
  told.group = owner.group;
  told.creator_user = owner.creator_user;
  told.creator_group = owner.creator_group;
  told.mode = owner.mode;
  told.sequence = static_cast<u16>(static_cast<u32>(number) / 32768);
  return told;
}

inline void change_owner(ipc::Ownership& owner, const IpcPermissions& wanted) {
  owner.user = wanted.user;
  owner.group = wanted.group;
  owner.mode = (owner.mode & ~0777u) | (wanted.mode & 0777);
}

inline i64 present_s() {
  return fs::wall_time_ns() / 1'000'000'000;
}

}  // namespace corral::abi
