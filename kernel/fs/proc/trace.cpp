// /proc/trace: which events are traced. "on" (all but those on demand), "off", or names of groups ("switch wake"). See trace/trace.h, docs/tracing.md.
//
// The rings, and the history of names, get their memory when tracing is switched on for the first time, and keep it: a core may be writing
// at any moment.
#include "trace/trace.h"
#include "arch/page_table.h"
#include "core/core.h"
#include "fs/proc/proc.h"
#include "lib/text.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "sched/engine/manager.h"
#include "sync/spin_lock.h"
#include "task/thread_names.h"
#include "trace/panic.h"

namespace corral::fs::proc {

namespace {

using Ring = trace::Ring<>;

constexpr u64 most_pages = 512;  // of a ring: 2 MiB, 32,768 records; as many as one page lists
constexpr u64 fewest_pages = 8;
// All rings together take at most one page in this many.
constexpr u64 share = 16;

constinit SpinLock switching{Rank::file_end, "switching the trace"};

u64 pages_of_a_ring() {
  const u64 most = memory::page_statistics().total / share / cores::count();
  u64 pages = fewest_pages;
  while (pages < most_pages && pages * 2 <= most) pages *= 2;
  return pages;
}

// Pages, and one that lists them.
template <class Page>
class Pages {
 public:
  ~Pages() {
    for (u64 i = 0; i < count_; ++i) memory::release_page(memory::frame_of(arch::physical_of_direct(list_[i])));
    if (list_ != nullptr) memory::release_page(memory::frame_of(arch::physical_of_direct(list_)));
  }
  // Once; enomem.
  Result<void> allocate(u64 count) {
    KERNEL_ASSERT(count * sizeof(Page*) <= page_size);
    list_ = reinterpret_cast<Page**>(memory::contents(*TRY(memory::allocate_page(memory::Zero::no))));
    for (; count_ < count; ++count_)
      list_[count_] = reinterpret_cast<Page*>(memory::contents(*TRY(memory::allocate_page(memory::Zero::no))));
    return {};
  }
  [[nodiscard]] Page** list() const { return list_; }
  // Somebody has them now, for ever.
  void let_go() {
    list_ = nullptr;
    count_ = 0;
  }

 private:
  Page** list_ = nullptr;
  u64 count_ = 0;
};

Result<void> provide(CoreId core) {
  Ring& ring = trace::ring_of(core);
  if (ring.has_memory()) return {};
  const u64 wanted = pages_of_a_ring();
  Pages<Ring::Page> pages;
  TRY(pages.allocate(wanted));
  LockGuard guard{switching};
  if (ring.has_memory()) return {};  // somebody else was quicker
  ring.give_memory(pages.list(), wanted);
  pages.let_go();
  return {};
}

// For the names of threads that end: one for each eight records that the rings have room for.
Result<void> provide_for_names() {
  using Page = trace::NameHistory::Page;
  if (thread_names::kept()) return {};
  const u64 wanted = pages_of_a_ring() * cores::count() * Ring::records_per_page / 8 / trace::NameHistory::entries_per_page;
  u64 count = 1;
  while (count < most_pages && count * 2 <= wanted) count *= 2;
  Pages<Page> pages;
  TRY(pages.allocate(count));
  if (thread_names::keep(pages.list(), count)) pages.let_go();
  return {};
}

// einval: an unknown word.
Result<u32> events_of(std::string_view words) {
  u32 events = 0;
  const auto is_gap = [](char c) { return c == ',' || is_space(c); };
  for (std::string_view word = take_word(words, is_gap); !word.empty(); word = take_word(words, is_gap)) {
    if (word == "off") continue;
    bool known = false;
    for (const trace::Group& group : trace::groups()) {
      if (word != group.name && (word != "on" || group.on_demand)) continue;
      events |= group.events;
      known = true;
    }
    if (!known) return Errno::einval;
  }
  return events;
}

}  // namespace

Result<void> trace_text(TextBuffer& to, const Subject&) {
  const u32 wanted = trace::wanted_events.load(Order::relaxed);
  for (const trace::Group& group : trace::groups()) {
    to.print("{} {}: {}\n", (wanted & group.events) == group.events ? "[x]" : "[ ]", group.name, group.description);
  }
  to.append(" core      written   capacity\n");
  for (u32 i = 0; i < cores::count(); ++i) {
    const Ring& ring = trace::ring_of(CoreId{i});
    to.print("{5} {12} {10}\n", i, ring.written(), ring.capacity());
  }
  return {};
}

Result<void> set_trace(std::string_view text, const Subject&) {
  const u32 events = TRY(events_of(text));
  for (u32 i = 0; events != 0 && i < cores::count(); ++i) TRY(provide(CoreId{i}));
  if (events != 0) TRY(provide_for_names());
  constexpr u32 decisions = 1u << static_cast<u32>(trace::Event::timeline_called);
  u32 before = 0;
  {
    LockGuard guard{switching};
    before = trace::wanted_events.load(Order::relaxed);
    trace::want(events);
  }
  if (((events | before) & decisions) == 0) return {};
  const bool records = (events & decisions) != 0;
  const Result<void> changed = scheduling().record_decisions(records);
  if (!changed.ok() && records) {  // no memory: all is as it was
    LockGuard guard{switching};
    trace::want(before);
  }
  return changed;
}

}  // namespace corral::fs::proc
