// The caches that neighbouring cores share, usually one for all, and their directory: which cores have a line in their own caches,
// and which of them may write it. A shared cache holds every line that one of its cores holds (inclusive). A line may be in several
// of them while nobody writes it. Any thread; sets are under several locks, each for the same sets of all shared caches.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "cache.h"
#include "inbox.h"

namespace corral::cache_model {

class SharedCache {
 public:
  // One of this shape for each `cores_of_one` neighbouring cores (at least 1). An inbox for each core, up to 64.
  SharedCache(const CacheShape& shape, u32 cores_of_one, std::span<Inbox> inboxes)
      : cores_of_one_{cores_of_one},
        caches_{(inboxes.size() + cores_of_one - 1) / cores_of_one, Cache<Line>{shape}},
        inboxes_{inboxes} {}

  struct Answer {
    bool refill = false;  // it had to be fetched from memory, or from another shared cache
    bool snooped = false;  // another core, or another shared cache, had to give something up
    bool writable = false;  // nobody else has it
  };
  // `core` has not got the line, or may not write it and wants to.
  [[nodiscard]] Answer fetch(u32 core, u64 line, bool store);
  // `core` has made room for another line.
  void let_go(u32 core, u64 line);
  // While no core runs.
  void clear() {
    for (Cache<Line>& each : caches_) each.clear();
  }

 private:
  struct Line {
    static constexpr u64 none = ~u64{0};
    u64 number = none;
    u64 sharers = 0;  // a bit for each core, of those that share this cache
    u32 writer = 0;  // the only sharer, and may write: its core + 1; 0: none may
    bool elsewhere = false;  // other shared caches may have it too; not taken back when they drop it

    [[nodiscard]] bool is(u64 other) const { return number == other; }
    [[nodiscard]] bool empty() const { return number == none; }
    void clear() { *this = {}; }
  };
  static constexpr u64 locks = 64;

  [[nodiscard]] SpinLock& lock_of(u64 line) { return locks_[caches_.front().set_of(line) % locks].lock; }
  [[nodiscard]] Cache<Line>& cache_of(u32 core) { return caches_[core / cores_of_one_]; }
  // Takes the line (`store`), or the right to write it, from all other shared caches. Under the line's lock.
  void take_from_others(const Cache<Line>& own, Line& here, bool store, Answer& answer);
  void tell(u64 cores, const Wish& wish);

  struct alignas(64) OwnLine {
    SpinLock lock;
  };
  std::array<OwnLine, locks> locks_;
  u32 cores_of_one_;
  std::vector<Cache<Line>> caches_;
  std::span<Inbox> inboxes_;
};

}  // namespace corral::cache_model
