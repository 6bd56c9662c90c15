// What a process says about itself by prctl(2) and personality(2). Any thread reads and writes each word by itself.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

struct ProcessManners {
  Atomic<i32> death_signal{0};  // it gets this signal when its parent ends; 0: none
  Atomic<bool> parent_gone{false};     // it is still to be told so
  Atomic<bool> adopts_orphans{false};  // it gets the children of its descendants that end
  Atomic<bool> dumpable{true};
  Atomic<bool> no_huge_pages{false};
  // Which memory a core file holds, in bits as /proc/[pid]/coredump_filter has them.
  static constexpr u32 dump_private = 1, dump_shared = 2, dump_private_files = 4, dump_shared_files = 8, dump_headers = 16;
  static constexpr u32 usual_dump = dump_private | dump_shared | dump_headers | 32, dump_kinds = 0x1ff;
  Atomic<u32> dump_filter{usual_dump};
  Atomic<u32> personality{0};

  // Of a child; what is about its kin is not inherited.
  void inherit(const ProcessManners& from) {
    dumpable.store(from.dumpable.load(Order::relaxed), Order::relaxed);
    dump_filter.store(from.dump_filter.load(Order::relaxed), Order::relaxed);
    no_huge_pages.store(from.no_huge_pages.load(Order::relaxed), Order::relaxed);
    personality.store(from.personality.load(Order::relaxed), Order::relaxed);
  }
};

}  // namespace corral
