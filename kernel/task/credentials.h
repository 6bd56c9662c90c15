// Credentials: who a thread is, and what it may do. Source: Linux credentials(7), capabilities(7).
//
// An object is written only by the thread that makes it, before it is given to a thread; from then on nobody changes it: a
// change is a changed copy. So the thread itself reads its own without a lock, and others by Thread::credentials_of_another().
// Owners: the threads, the open files and sockets that remember by whom they were made.
#pragma once

#include <span>

#include "lib/ref.h"
#include "lib/result.h"
#include "task/capabilities.h"
#include "task/user_account.h"

namespace corral {

inline constexpr u32 most_groups = 65536;      // NGROUPS_MAX
inline constexpr u32 no_id = ~u32{0};          // -1: leave it as it is
inline constexpr u32 overflow_id = 65534;

struct Ids {
  u32 real = 0, effective = 0, saved = 0;
  u32 files = 0;  // counts for access to files: follows `effective` unless setfsuid(2) or setfsgid(2) changed it
  constexpr bool operator==(const Ids&) const = default;
  [[nodiscard]] constexpr bool any_is(u32 id) const { return real == id || effective == id || saved == id; }
};

// Supplementary groups, in ascending order.
class GroupList final : public RefCounted<GroupList> {
 public:
  // With room for `count` (1 … most_groups), all 0. enomem.
  static Result<Ref<GroupList>> create(u32 count);
  [[nodiscard]] std::span<u32> groups() { return {groups_, count_}; }
  void sort();  // before it is given away
  [[nodiscard]] bool contains(u32 group) const;
  void last_reference_gone();  // hides RefCounted's

 private:
  explicit GroupList(u32 count) : count_{count} {}
  const u32 count_;
  u32 groups_[];
};

class Credentials final : public RefCounted<Credentials> {
 public:
  constexpr Credentials() = default;  // root's, with all capabilities
  // Those of the first process, which are there for ever.
  [[nodiscard]] static Credentials& of_root();
  // A copy that the caller may change. enomem.
  [[nodiscard]] Result<Ref<Credentials>> copy() const;

  [[nodiscard]] bool may(Capability capability) const { return effective.has(capability); }
  // As one of its groups for access to files; or as a supplementary one alone.
  [[nodiscard]] bool in_group(u32 id) const { return group.files == id || in_supplementary(id); }
  [[nodiscard]] bool in_supplementary(u32 id) const { return groups && groups->contains(id); }
  // Where threads with these credentials are counted. find_account() is to follow each change of user.real. enomem.
  [[nodiscard]] UserAccount& account() const { return account_ ? *account_ : UserAccount::root(); }
  Result<void> find_account();

  Ids user, group;
  CapabilitySet permitted = CapabilitySet::all(), effective = CapabilitySet::all(), bounding = CapabilitySet::all();
  CapabilitySet inheritable, ambient;
  u32 secure_bits = 0;
  Ref<GroupList> groups;  // null: none

 private:
  Ref<UserAccount> account_;  // null: root's
};

}  // namespace corral
