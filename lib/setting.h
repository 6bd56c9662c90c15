// A number that the owner of the machine may change while it runs (/proc/sys). It belongs to whoever goes by it. Any core, any time.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

class Setting {
 public:
  constexpr Setting(u64 standard, u64 lowest, u64 highest) : lowest_{lowest}, highest_{highest}, value_{standard} {}
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  [[nodiscard]] u64 value() const { return value_.load(Order::relaxed); }
  [[nodiscard]] bool may_be(u64 value) const { return value >= lowest_ && value <= highest_; }
  void set(u64 value) { value_.store(value, Order::relaxed); }  // one that it may be

 private:
  const u64 lowest_, highest_;
  Atomic<u64> value_;
};

}  // namespace corral
