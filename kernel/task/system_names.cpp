// See system_names.h.
#include "task/system_names.h"

#include "sync/spin_lock.h"

namespace corral::system_names {

namespace {
constinit SpinLock lock{Rank::ipc_object, "system names"};
constinit Text host GUARDED_BY(lock){"corral"};
constinit Text domain GUARDED_BY(lock){"(none)"};
}  // namespace

Text get(Name name) {
  LockGuard guard{lock};
  return name == Name::host ? host : domain;
}

void set(Name name, const Text& text) {
  LockGuard guard{lock};
  (name == Name::host ? host : domain) = text;
}

}  // namespace corral::system_names
