// See permission.h.
#include "fs/permission.h"

namespace corral::fs::permission {

namespace {

constexpr u32 set_user_bit = 04000, set_group_bit = 02000, sticky_bit = 01000, group_executes = 010, anybody_executes = 0111;

// The three bits of the mode that are for this user.
u32 bits_for(const Attributes& a, const Credentials& credentials) {
  if (a.user == credentials.user.files) return a.permissions >> 6 & 7;
  if (credentials.in_group(a.group)) return a.permissions >> 3 & 7;
  return a.permissions & 7;
}

// A file that gets another owner no longer runs as its owner, or as its group if that may execute it.
void drop_rights_of_owner(const Attributes& now, AttributeChange& wanted) {
  if (!wanted.of_owner || now.type != FileType::regular) return;
  u32 drop = now.permissions & set_user_bit;
  if ((now.permissions & group_executes) != 0) drop |= now.permissions & set_group_bit;
  if (drop == 0) return;
  wanted.set_permissions = true;
  wanted.permissions = now.permissions & ~drop;
}

}  // namespace

Result<void> check_mode(Inode& file, const Credentials& credentials, u32 wanted) {
  const Attributes a = file.attributes();
  if ((wanted & ~bits_for(a, credentials)) == 0) return {};
  const bool overrides = credentials.may(Capability::dac_override);
  const bool reads = credentials.may(Capability::dac_read_search);
  if (a.type == FileType::directory) return overrides || (reads && (wanted & may_write) == 0) ? Result<void>{} : Errno::eacces;
  if (reads && wanted == may_read) return {};
  if (overrides && ((wanted & may_execute) == 0 || (a.permissions & anybody_executes) != 0)) return {};
  return Errno::eacces;
}

bool owns(Inode& file, const Credentials& credentials) {
  return credentials.may(Capability::fowner) || file.attributes().user == credentials.user.files;
}

Result<void> check_remove(Inode& directory, Inode& file, const Credentials& credentials) {
  TRY(check_add(directory, credentials));
  if (directory.has_flag(flag_append) || file.is_protected()) return Errno::eperm;
  if (credentials.may(Capability::fowner)) return {};
  const Attributes above = directory.attributes();
  if ((above.permissions & sticky_bit) == 0 || above.user == credentials.user.files) return {};
  return file.attributes().user == credentials.user.files ? Result<void>{} : Errno::eperm;
}

void set_owner(Creation& creation, Inode& directory, const Credentials& credentials, u32 umask) {
  creation.user = credentials.user.files;
  creation.group = credentials.group.files;
  const Attributes above = directory.attributes();
  if ((above.permissions & set_group_bit) != 0) {
    creation.group = above.group;
    constexpr u32 runs_as_group = set_group_bit | group_executes;
    if (creation.type == FileType::directory) {
      creation.permissions |= set_group_bit;
    } else if ((creation.permissions & runs_as_group) == runs_as_group && !credentials.in_group(above.group) &&
               !credentials.may(Capability::fsetid)) {
      creation.permissions &= ~set_group_bit;  // also when the umask takes away the right to execute: it can be given back
    }
  }
  if (creation.type != FileType::symlink) creation.permissions &= ~umask;
}

Result<AttributeChange> check_change(Inode& file, const Credentials& credentials, AttributeChange wanted) {
  const bool present_only = wanted.to_present && !wanted.set_permissions && !wanted.set_user && !wanted.set_group;
  if (file.has_flag(present_only ? flag_immutable : flag_immutable | flag_append)) return Errno::eperm;
  const Attributes now = file.attributes();
  const bool own = now.user == credentials.user.files;
  const bool chowns = credentials.may(Capability::chown);
  if (wanted.set_user && !chowns && !(own && wanted.user == now.user)) return Errno::eperm;
  if (wanted.set_group && !chowns && !(own && (wanted.group == now.group || credentials.in_group(wanted.group)))) {
    return Errno::eperm;
  }
  const bool as_owner = own || credentials.may(Capability::fowner);
  if (wanted.set_permissions) {
    if (!as_owner) return Errno::eperm;
    if (!credentials.in_group(now.group) && !credentials.may(Capability::fsetid)) wanted.permissions &= ~set_group_bit;
  }
  if ((wanted.set_accessed || wanted.set_modified) && !as_owner) {
    if (!wanted.to_present) return Errno::eperm;
    TRY(check(file, credentials, may_write));
  }
  drop_rights_of_owner(now, wanted);
  if (wanted.set_permissions && !as_owner) return Errno::eperm;
  return wanted;
}

Result<Ref<Credentials>> with_real_ids(const Credentials& credentials) {
  Ref<Credentials> real = TRY(credentials.copy());
  real->user.files = real->user.real;
  real->group.files = real->group.real;
  if ((credentials.secure_bits & secure_no_setuid_fixup) == 0) {
    real->effective = real->user.real == 0 ? real->permitted : CapabilitySet{};
  }
  return real;
}

}  // namespace corral::fs::permission
