// See user_account.h. The table holds no references: an account whose last reference has gone is not found any more.
#include "task/user_account.h"

#include "memory/heap.h"
#include "sync/spin_lock.h"

namespace corral {

namespace {

struct ByNumber {
  bool operator()(const UserAccount& a, const UserAccount& b) const { return a.number() < b.number(); }
};

constinit SpinLock lock{Rank::users, "users"};
constinit RedBlackTree<UserAccount, &UserAccount::link, ByNumber> accounts GUARDED_BY(lock);
constinit UserAccount root_account{0};  // in no table

// Null: there is none, or it is about to go.
UserAccount* find(u32 number) REQUIRES(lock) {
  UserAccount* found = accounts.first_where([number](const UserAccount& a) { return a.number() >= number; });
  for (; found != nullptr && found->number() == number; found = accounts.next(*found)) {
    if (found->retain_if_alive()) return found;
  }
  return nullptr;
}

}  // namespace

UserAccount& UserAccount::root() {
  return root_account;
}

Result<Ref<UserAccount>> UserAccount::get(u32 number) {
  if (number == 0) return Ref<UserAccount>::share(root_account);
  {
    LockGuard guard{lock};
    if (UserAccount* found = find(number)) return Ref<UserAccount>::adopt(found);
  }
  UserAccount* made = TRY(memory::make<UserAccount>(number));
  UserAccount* faster = nullptr;
  {
    LockGuard guard{lock};
    faster = find(number);
    if (faster == nullptr) accounts.insert(*made);
  }
  if (faster == nullptr) return Ref<UserAccount>::adopt(made);
  delete made;
  return Ref<UserAccount>::adopt(faster);
}

void UserAccount::last_reference_gone() {
  {
    LockGuard guard{lock};
    accounts.remove(*this);
  }
  delete this;
}

}  // namespace corral
