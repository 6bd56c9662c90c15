// See name_history.h.
#include "trace/name_history.h"

namespace corral::trace {

void NameHistory::add(i32 thread, u64 until, const Name& name) {
  u64& newest = newest_[static_cast<u32>(thread) % chains];
  const u64 number = ++noted_;
  const u64 back = has(newest) ? number - newest : 0;
  entry(number) = {until, name, thread, static_cast<u32>(back)};
  newest = number;
}

Name NameHistory::find(i32 thread, u64 then, const Name* present) const {
  const Entry* right = nullptr;
  u64 number = newest_[static_cast<u32>(thread) % chains];
  while (has(number)) {
    const Entry& found = entry(number);
    if (found.thread == thread) {
      const bool too_old = found.until < then;
      if (!too_old || (right == nullptr && present == nullptr)) right = &found;
      if (too_old) break;
    }
    if (found.back == 0) break;
    number -= found.back;
  }
  if (right != nullptr) return right->name;
  return present != nullptr ? *present : unknown;
}

}  // namespace corral::trace
