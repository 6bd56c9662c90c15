// See credentials.h.
#include "task/credentials.h"

#include <algorithm>

#include "memory/heap.h"

namespace corral {

namespace {
[[clang::no_destroy]] constinit Credentials root_credentials;
}

Result<Ref<GroupList>> GroupList::create(u32 count) {
  void* storage = memory::allocate(sizeof(GroupList) + count * sizeof(u32));
  if (storage == nullptr) return Errno::enomem;
  auto* list = ::new (storage) GroupList(count);
  for (u32& group : list->groups()) group = 0;
  return Ref<GroupList>::adopt(list);
}

void GroupList::sort() {
  std::sort(groups_, groups_ + count_);
}

bool GroupList::contains(u32 group) const {
  return std::binary_search(groups_, groups_ + count_, group);
}

void GroupList::last_reference_gone() {
  memory::release(this);
}

Credentials& Credentials::of_root() {
  return root_credentials;
}

Result<Ref<Credentials>> Credentials::copy() const {
  Credentials* made = TRY(memory::make<Credentials>());
  made->user = user;
  made->group = group;
  made->permitted = permitted;
  made->effective = effective;
  made->bounding = bounding;
  made->inheritable = inheritable;
  made->ambient = ambient;
  made->secure_bits = secure_bits;
  made->groups = groups;
  made->account_ = account_;
  return Ref<Credentials>::adopt(made);
}

Result<void> Credentials::find_account() {
  if (account().number() == user.real) return {};
  if (user.real == 0) {
    account_ = {};
  } else {
    account_ = TRY(UserAccount::get(user.real));
  }
  return {};
}

}  // namespace corral
