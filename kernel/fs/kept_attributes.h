// What a file that is only in memory keeps of its attributes. Any core reads and changes them at any time, each by itself.
#pragma once

#include "fs/types.h"
#include "lib/atomic.h"

namespace corral::fs {

class KeptAttributes {
 public:
  explicit KeptAttributes(u32 permissions);  // root's; all times are now
  void tell(Attributes& to) const;
  void change(const AttributeChange& change);
  void set_owner(u32 user, u32 group);
  void set_times(i64 ns);  // of the last read and of the last write
  void touch_modified();   // contents changed: mtime and ctime
  void touch_changed();    // ctime

 private:
  const i64 born_ns_;
  Atomic<i64> accessed_ns_, modified_ns_, changed_ns_;
  Atomic<u32> permissions_, user_{0}, group_{0};
};

}  // namespace corral::fs
