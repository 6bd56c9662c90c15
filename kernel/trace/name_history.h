// Names that threads had: which thread, and until when. A ring's records have the numbers of threads only; who reads them finds here what
// a thread was called then.
//
// The present name of a thread stands in the thread. What is kept here is what would be forgotten: the name of a thread that is called
// otherwise from now on, or has ended; the oldest gives way. So nothing needs to be written when threads begin or the trace does, and
// a thread that lives long does not lose its name to many that live shortly. No lock in here: the caller has one (task/thread_names.cpp).
#pragma once

#include "lib/types.h"
#include "trace/record.h"

namespace corral::trace {

class NameHistory {
 public:
  struct Entry {
    u64 until;  // a stamp (trace/stamp.h)
    Name name;
    i32 thread;
    u32 back;  // the one before it in its chain was noted so many entries earlier; 0: there is none
  };
  struct Page {
    Entry entry[page_size / sizeof(Entry)];
  };
  static constexpr u64 entries_per_page = page_size / sizeof(Entry);

  // `count` pages, a power of two, which stay here for ever. Once.
  void give_memory(Page** pages, u64 count) {
    pages_ = pages;
    capacity_ = count * entries_per_page;
  }
  [[nodiscard]] bool has_memory() const { return pages_ != nullptr; }
  // There is memory. Of one thread in the order of time.
  void add(i32 thread, u64 until, const Name& name);
  // What the thread was called at the time `then`. `present`: what it is called now; null: there is none with this number. Of one that
  // has ended before `then`, since a core tells a little later who left it: the last name. unknown: nobody knows any more.
  [[nodiscard]] Name find(i32 thread, u64 then, const Name* present) const;

  static constexpr char unknown_text[sizeof(Name)] = "<...>";  // as Linux says it
  static constexpr Name unknown = __builtin_bit_cast(Name, unknown_text);

 private:
  static constexpr u32 chains = 1024;  // by the thread's number

  [[nodiscard]] Entry& entry(u64 number) const {
    const u64 index = number % capacity_;
    return pages_[index / entries_per_page]->entry[index % entries_per_page];
  }
  // Entries are counted from 1.
  [[nodiscard]] bool has(u64 number) const { return number != 0 && noted_ - number < capacity_; }

  Page** pages_ = nullptr;
  u64 capacity_ = 0;
  u64 noted_ = 0;  // how many there have been
  u64 newest_[chains] = {};  // of each chain; 0: none
};
static_assert(sizeof(NameHistory::Page) == page_size);

}  // namespace corral::trace
