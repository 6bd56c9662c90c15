// The stack that a thread has set aside for its signal handlers. Source: Linux sigaltstack(2). Thread: only the thread itself
// reads and changes it.
#pragma once

#include "lib/errno.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral {

struct UserStack {  // stack_t
  u64 base;
  i32 flags;
  u32 padding;
  u64 size;
};
static_assert(sizeof(UserStack) == 24);

class AlternateStack {
 public:
  static constexpr u32 on_stack = 1, disabled = 2, auto_disarm = 1u << 31;
  static constexpr u64 smallest = 2048;  // MINSIGSTKSZ

  // A handler runs on it, judging by the stack pointer. One that disarms itself never counts as in use.
  [[nodiscard]] bool in_use(VirtualAddress sp) const { return (flags_ & auto_disarm) == 0 && contains(sp); }
  [[nodiscard]] bool contains(VirtualAddress sp) const { return sp.value > base_ && sp.value - base_ <= size_; }
  [[nodiscard]] bool exists() const { return size_ != 0; }
  [[nodiscard]] VirtualAddress top() const { return {base_ + size_}; }

  // What sigaltstack tells.
  [[nodiscard]] UserStack state(VirtualAddress sp) const {
    const u32 use = !exists() ? disabled : in_use(sp) ? on_stack : 0;
    return {base_, static_cast<i32>(use | (flags_ & auto_disarm)), 0, size_};
  }
  // What a signal frame keeps of it.
  [[nodiscard]] UserStack kept() const { return {base_, static_cast<i32>(flags_), 0, size_}; }

  // eperm: a handler runs on it. einval: flags. enomem: too small.
  Result<void> set(const UserStack& wanted, VirtualAddress sp) {
    const u32 flags = static_cast<u32>(wanted.flags);
    const u32 mode = flags & ~auto_disarm;
    if (in_use(sp)) return Errno::eperm;
    if (mode != disabled && mode != on_stack && mode != 0) return Errno::einval;
    if (mode == disabled) {
      base_ = 0;
      size_ = 0;
    } else {
      if (wanted.size < smallest) return Errno::enomem;
      base_ = wanted.base;
      size_ = wanted.size;
    }
    flags_ = flags;
    return {};
  }
  void forget() { *this = AlternateStack{}; }
  // A handler is about to run on it or elsewhere.
  void disarm() {
    if ((flags_ & auto_disarm) != 0) forget();
  }

 private:
  u64 base_ = 0;
  u64 size_ = 0;  // 0: none
  u32 flags_ = disabled;
};

}  // namespace corral
