// Who may do what with a file: the mode's bits against the credentials of the thread that acts. Source: Linux path_resolution(7),
// capabilities(7). Context: a step of that thread; nothing waits.
//
// Root's way is a load and a compare: only without the capability are the file's attributes looked at.
#pragma once

#include "fs/inode.h"
#include "task/credentials.h"

namespace corral::fs {

inline constexpr u32 may_execute = 1, may_write = 2, may_read = 4;  // may_execute of a directory: to search it

namespace permission {

Result<void> check_mode(Inode& file, const Credentials& credentials, u32 wanted);

// `wanted`: bits of the above. eacces; eperm: it is immutable, whoever asks.
inline Result<void> check(Inode& file, const Credentials& credentials, u32 wanted) {
  if ((wanted & may_write) != 0 && file.has_flag(flag_immutable)) [[unlikely]]
    return Errno::eperm;
  if (credentials.may(Capability::dac_override) && ((wanted & may_execute) == 0 || file.is_directory())) [[likely]]
    return {};
  return check_mode(file, credentials, wanted);
}

// Making a name in a directory. eacces.
inline Result<void> check_add(Inode& directory, const Credentials& credentials) {
  return check(directory, credentials, may_write | may_execute);
}

// Taking the name of `file` out of a directory. eacces; eperm: the directory is sticky, and neither is the user's; or flags forbid it.
Result<void> check_remove(Inode& directory, Inode& file, const Credentials& credentials);

// The thread acts as the file's owner. True, or the answer is EPERM.
[[nodiscard]] bool owns(Inode& file, const Credentials& credentials);

// Whose what is made in `directory` is, and what its mode becomes by that and then by the umask.
void set_owner(Creation& creation, Inode& directory, const Credentials& credentials, u32 umask);

// `wanted` as far as the thread may change it, and with what follows from it. eperm, eacces.
Result<AttributeChange> check_change(Inode& file, const Credentials& credentials, AttributeChange wanted);

// access(2) goes by the real user's rights: a copy of the credentials that has those. enomem. Mostly none is needed.
[[nodiscard]] inline bool acts_as_real(const Credentials& c) {
  return c.user.files == c.user.real && c.group.files == c.group.real &&
         (c.user.real == 0 ? c.effective.bits() == c.permitted.bits() : c.effective.empty());
}
Result<Ref<Credentials>> with_real_ids(const Credentials& credentials);

}  // namespace permission
}  // namespace corral::fs
