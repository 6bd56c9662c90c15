// See credential_rules.h.
#include "task/credential_rules.h"

namespace corral::credential_rules {

void users_changed(const Credentials& old, Credentials& fresh) {
  if ((old.secure_bits & secure_no_setuid_fixup) != 0) return;
  if (old.user.any_is(0) && !fresh.user.any_is(0)) {
    if ((old.secure_bits & secure_keep_capabilities) == 0) fresh.permitted = fresh.effective = {};
    fresh.ambient = {};
  }
  if (old.user.effective == 0 && fresh.user.effective != 0) fresh.effective = {};
  if (old.user.effective != 0 && fresh.user.effective == 0) fresh.effective = fresh.permitted;
}

void file_user_changed(const Credentials& old, Credentials& fresh) {
  if ((old.secure_bits & secure_no_setuid_fixup) != 0) return;
  if (old.user.files == 0 && fresh.user.files != 0) fresh.effective = fresh.effective.without(file_capabilities);
  if (old.user.files != 0 && fresh.user.files == 0) fresh.effective = fresh.effective | (file_capabilities & fresh.permitted);
}

bool program_executed(const Credentials& old, Credentials& fresh, const ExecutedFile& file, bool no_new_privileges) {
  constexpr u32 set_user = 04000, set_group = 02000, group_executes = 010;
  if (!no_new_privileges) {
    if ((file.permissions & set_user) != 0) fresh.user.effective = file.user;
    if ((file.permissions & (set_group | group_executes)) == (set_group | group_executes)) fresh.group.effective = file.group;
  }
  // No file has capabilities of its own; root's programs have all of those that are not bounded away.
  const bool root_counts = (old.secure_bits & secure_no_root) == 0;
  fresh.permitted = {};
  bool all_effective = false;
  if (root_counts && (fresh.user.effective == 0 || fresh.user.real == 0)) {
    fresh.permitted = old.bounding | old.inheritable;
    all_effective = fresh.user.effective == 0;
  }
  const bool other_user = fresh.user.effective != old.user.real || fresh.group.effective != old.group.real;
  if ((other_user || !old.permitted.contains(fresh.permitted)) && no_new_privileges) {
    fresh.user.effective = fresh.user.real;
    fresh.group.effective = fresh.group.real;
    fresh.permitted = fresh.permitted & old.permitted;
  }
  fresh.user.saved = fresh.user.files = fresh.user.effective;
  fresh.group.saved = fresh.group.files = fresh.group.effective;
  if (other_user) fresh.ambient = {};
  fresh.permitted = fresh.permitted | fresh.ambient;
  fresh.effective = all_effective ? fresh.permitted : fresh.ambient;
  fresh.secure_bits &= ~secure_keep_capabilities;
  if (other_user) return true;
  return fresh.user.real != 0 && (all_effective || !fresh.ambient.contains(fresh.permitted));
}

bool gained(const Credentials& old, const Credentials& fresh) {
  return old.user.effective != fresh.user.effective || old.group.effective != fresh.group.effective ||
         old.user.files != fresh.user.files || old.group.files != fresh.group.files || !old.permitted.contains(fresh.permitted);
}

}  // namespace corral::credential_rules
