// The ring in which one core keeps the last of what happened on it.
//
// The core alone writes, with interrupts off, and never waits: the oldest record gives way. Any core reads at any time: a record
// that was written over meanwhile is noticed, and those that are gone are counted, as with a sequence lock. What a record costs is what
// the trace costs: its words go straight to their place, and only those that it has; the rest of the place keeps what an older record
// left there. One number, how many words there have been, says where the next record goes and, to readers, which are complete.
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
    AtomicT<u64> word[records_per_page * words];
  };

  // `pages` of them, a power of two, which stay with the ring for ever. Once, and before the core is told to write; any core.
  void give_memory(Page** pages, u64 count) {
    mask_.store(count * records_per_page - 1, Order::relaxed);
    origin_ = reinterpret_cast<u64>(pages[0]->word);
    pages_.store(pages, Order::release);
  }
  [[nodiscard]] bool has_memory() const { return pages_.load(Order::relaxed) != nullptr; }
  [[nodiscard]] u64 capacity() const { return has_memory() ? mask_.load(Order::relaxed) + 1 : 0; }
  // How many there have been, kept or not.
  [[nodiscard]] u64 written() const { return end_.load(Order::relaxed) / words; }

  // The core itself, when there is memory. The first words of a record; the others are those of an older one.
  template <class... Word>
  void write(Word... word) {
    static_assert(sizeof...(Word) <= words);
    const u64 at = end_.load(Order::relaxed);
    auto* to = reinterpret_cast<AtomicT<u64>*>(origin_ + at * sizeof(AtomicT<u64>));
    u64 index = 0;
    (to[index++].store(word, Order::release), ...);
    end_.store(at + words, Order::release);
    if ((at + words) % words_per_page == 0) [[unlikely]]
      turn_page();
  }

  // Copies record `next`, or, when that is gone, the oldest there is; `next` is the number of the copy then. False: there is none yet.
  [[nodiscard]] bool read(u64& next, u64 (&record)[words]) const {
    Page** pages = pages_.load(Order::acquire);
    if (pages == nullptr) return false;
    const u64 mask = mask_.load(Order::relaxed);
    for (;;) {
      const u64 end = end_.load(Order::acquire) / words;
      if (next >= end) return false;
      if (end - next > mask) next = end - mask;  // not the oldest one: it is being written over, perhaps
      const AtomicT<u64>* from = page_of(pages, next)->word + next % records_per_page * words;
      for (u64 i = 0; i < words; ++i) record[i] = from[i].load(Order::acquire);
      if (written() - next <= mask) return true;
    }
  }

 private:
  static constexpr u64 words_per_page = records_per_page * words;

  Page* page_of(Page** pages, u64 record) const { return pages[(record & mask_.load(Order::relaxed)) / records_per_page]; }

  // The next record is the first one of a page. It keeps all registers, so that it costs nothing where nobody calls it.
  [[gnu::noinline, clang::preserve_most]] void turn_page() {
    const u64 at = end_.load(Order::relaxed);
    const Page* page = page_of(pages_.load(Order::relaxed), at / words);
    origin_ = reinterpret_cast<u64>(page->word) - at * sizeof(AtomicT<u64>);
  }

  alignas(cache_line) AtomicT<u64> end_{0};  // words that there have been, those that were left out among them
  u64 origin_ = 0;  // own: where word 0 would be if all were in a row with those of the page in which the core writes
  AtomicT<Page**> pages_{nullptr};
  AtomicT<u64> mask_{0};  // stored before pages_
};

}  // namespace corral::trace
