// The ring in which one core keeps the last of what happened on it.
//
// The core alone writes, with interrupts off, and never waits: the oldest record gives way. Any core reads at any time: a record
// that was written over meanwhile is noticed, and those that are gone are counted, as with a sequence lock. A ring without memory
// (before give_memory()) takes nothing. What a record costs is what the trace costs: its words go straight to their place, and only
// those that it has; the rest of the place keeps what an older record left there.
//
// Why a reader never takes half of one record and half of another: a word of a newer record is stored with release, after the number
// of those that are complete; who has loaded it, with acquire, sees that number when he looks again, and tries once more.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"
#include "trace/record.h"

namespace corral::trace {

template <template <class> class AtomicT = Atomic, u64 Words = sizeof(Record) / sizeof(u64),
          u64 PageRecords = page_size / sizeof(Record)>
class Ring {
 public:
  static constexpr u64 words = Words;
  static constexpr u64 records_per_page = PageRecords;
  struct Page {
    AtomicT<u64> word[records_per_page][words];
  };

  // `pages` of them, a power of two, which stay with the ring for ever. Once; any core.
  void give_memory(Page** pages, u64 count) {
    mask_.store(count * records_per_page - 1, Order::relaxed);
    pages_.store(pages, Order::release);
  }
  [[nodiscard]] bool has_memory() const { return pages_.load(Order::relaxed) != nullptr; }
  [[nodiscard]] u64 capacity() const { return has_memory() ? mask_.load(Order::relaxed) + 1 : 0; }
  // How many there have been, kept or not.
  [[nodiscard]] u64 written() const { return written_.load(Order::relaxed); }

  // The core itself. The first words of a record; the others are those of an older one.
  template <class... Word>
  void write(Word... word) {
    static_assert(sizeof...(Word) <= words);
    AtomicT<u64>* to = next_;
    if (to == nullptr) [[unlikely]] {
      to = first();
      if (to == nullptr) return;
    }
    u64 index = 0;
    (to[index++].store(word, Order::release), ...);
    const u64 number = written_.load(Order::relaxed) + 1;
    written_.store(number, Order::release);
    next_ = number % records_per_page != 0 ? to + words : place(pages_.load(Order::relaxed), number);
  }

  // Copies record `next`, or, when that is gone, the oldest there is; `next` is the number of the copy then. False: there is none yet.
  [[nodiscard]] bool read(u64& next, u64 (&record)[words]) const {
    Page** pages = pages_.load(Order::acquire);
    if (pages == nullptr) return false;
    const u64 mask = mask_.load(Order::relaxed);
    for (;;) {
      const u64 end = written_.load(Order::acquire);
      if (next >= end) return false;
      if (end - next > mask) next = end - mask;  // not the oldest one: it is being written over, perhaps
      const AtomicT<u64>* from = place(pages, next);
      for (u64 i = 0; i < words; ++i) record[i] = from[i].load(Order::acquire);
      if (written_.load(Order::relaxed) - next <= mask) return true;
    }
  }

 private:
  AtomicT<u64>* place(Page** pages, u64 number) const {
    const u64 index = number & mask_.load(Order::relaxed);
    return pages[index / records_per_page]->word[index % records_per_page];
  }
  // Null: there is no memory yet. It keeps all registers, as it is called once.
  [[gnu::noinline, clang::preserve_most]] AtomicT<u64>* first() const {
    Page** pages = pages_.load(Order::acquire);
    return pages == nullptr ? nullptr : pages[0]->word[0];
  }

  alignas(cache_line) AtomicT<u64> written_{0};
  AtomicT<u64>* next_ = nullptr;  // where the core writes the next one; null: it does not know of memory yet. Its own
  AtomicT<Page**> pages_{nullptr};
  AtomicT<u64> mask_{0};  // stored before pages_
};

}  // namespace corral::trace
