// Who may do what with System V's objects. Source: Linux man-page sysvipc(7); POSIX.1-2017, 2.7.2. Under the lock of the object's table.
#pragma once

#include "ipc/sysv/ids.h"
#include "task/credentials.h"

namespace corral::ipc {

inline constexpr u32 access_read = 4, access_write = 2, access_execute = 1;

// eacces.
inline Result<void> check_access(const Ownership& owner, const Credentials& credentials, u32 wanted) {
  const u32 user = credentials.user.effective;
  u32 granted = owner.mode;
  if (user == owner.creator_user || user == owner.user) {
    granted >>= 6;
  } else if (credentials.in_group(owner.creator_group) || credentials.in_group(owner.group)) {
    granted >>= 3;
  }
  if ((wanted & ~granted & 7) == 0 || credentials.may(Capability::ipc_owner)) return {};
  return Errno::eacces;
}

// Change it, remove it. eperm.
inline Result<void> check_owner(const Ownership& owner, const Credentials& credentials) {
  const u32 user = credentials.user.effective;
  if (user == owner.creator_user || user == owner.user || credentials.may(Capability::sys_admin)) return {};
  return Errno::eperm;
}

// What the get calls ask for by the mode in their flags: of whichever class.
inline u32 access_of_mode(u32 mode) {
  return (mode >> 6 | mode >> 3 | mode) & 7;
}

inline void own(Ownership& owner, const Credentials& credentials) {
  owner.user = owner.creator_user = credentials.user.effective;
  owner.group = owner.creator_group = credentials.group.effective;
}

// What the get calls do: the number of the object with this key, or of a new one. `fits(T&)`: may the one that is there be
// used (Result<void>); `make()`: a new one (Result<Ref<T>>), whose reference the table takes over.
// enoent, eexist, eacces, enospc, enomem, or as `fits` and `make`.
template <class T, class Fits, class Make>
Result<i32> get(IdTable<T>& table, const Credentials& credentials, i32 key, u32 flags, Fits&& fits, Make&& make) {
  const auto use = [&](T& there) -> Result<i32> {
    if ((flags & (flag_create | flag_exclusive)) == (flag_create | flag_exclusive)) return Errno::eexist;
    TRY(fits(there));
    TRY(check_access(there.ownership, credentials, access_of_mode(flags)));
    return there.number;
  };
  if (key != key_private) {
    LockGuard guard{table.lock()};
    if (T* there = table.find_key(key)) return use(*there);
    if ((flags & flag_create) == 0) return Errno::enoent;
  }
  auto made = TRY(make());
  made->ownership.key = key;
  made->ownership.mode = flags & 0777;
  own(made->ownership, credentials);
  LockGuard guard{table.lock()};
  if (key != key_private) {
    if (T* there = table.find_key(key)) return use(*there);  // another thread was faster
  }
  TRY(table.add(*made));
  return made.release()->number;
}

// What the remove commands do: nobody finds it any more. Answers the table's reference, for what is left to do without the lock.
// einval: there is none; eperm.
template <class T>
Result<Ref<T>> take_out(IdTable<T>& table, const Credentials& credentials, i32 number) {
  LockGuard guard{table.lock()};
  T* there = table.find(number);
  if (there == nullptr) return Errno::einval;
  TRY(check_owner(there->ownership, credentials));
  table.remove(*there);
  return Ref<T>::adopt(there);
}

}  // namespace corral::ipc
