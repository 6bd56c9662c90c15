// What follows from a change of users, and from executing a program. Pure: credentials in, credentials out; nothing is allocated.
// Source: Linux capabilities(7), "Effect of user ID changes on capabilities", "Transformation of capabilities during execve()".
#pragma once

#include "task/credentials.h"

namespace corral::credential_rules {

// `fresh` has the changed users; its capabilities follow. By setuid and its relatives, or by setfsuid.
void users_changed(const Credentials& old, Credentials& fresh);
void file_user_changed(const Credentials& old, Credentials& fresh);

// What of a file counts when it is executed.
struct ExecutedFile {
  u32 permissions;  // the low 12 bits of its mode
  u32 user, group;
};
// Makes `fresh`, a copy of `old`, what a program runs with. Answers AT_SECURE: it got rights that its caller had not.
[[nodiscard]] bool program_executed(const Credentials& old, Credentials& fresh, const ExecutedFile& file,
                                    bool no_new_privileges);

// The thread with `fresh` in the place of `old` may know something that its user may not (dumpable is taken away).
[[nodiscard]] bool gained(const Credentials& old, const Credentials& fresh);

}  // namespace corral::credential_rules
