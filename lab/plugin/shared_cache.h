// The cache that all cores share, and its directory: which cores have a line in their own caches, and which of them may write it.
// It holds every line that a core holds (inclusive). Any thread; sets are under several locks.
#pragma once

#include <array>
#include <span>

#include "cache.h"
#include "inbox.h"

namespace corral::cache_model {

class SharedCache {
 public:
  // An inbox for each core, up to 64.
  SharedCache(const CacheShape& shape, std::span<Inbox> inboxes) : lines_{shape}, inboxes_{inboxes} {}

  struct Answer {
    bool refill = false;  // it had to be fetched from memory
    bool snooped = false;  // another core had to give something up
    bool writable = false;  // nobody else has it
  };
  // `core` has not got the line, or may not write it and wants to.
  [[nodiscard]] Answer fetch(u32 core, u64 line, bool store);
  // `core` has made room for another line.
  void let_go(u32 core, u64 line);
  // While no core runs.
  void clear() { lines_.clear(); }

 private:
  struct Line {
    static constexpr u64 none = ~u64{0};
    u64 number = none;
    u64 sharers = 0;  // a bit for each core
    u32 writer = 0;  // the only sharer, and may write: its core + 1; 0: none may

    [[nodiscard]] bool is(u64 other) const { return number == other; }
    [[nodiscard]] bool empty() const { return number == none; }
    void clear() { *this = {}; }
  };
  static constexpr u64 locks = 64;

  [[nodiscard]] SpinLock& lock_of(u64 line) { return locks_[lines_.set_of(line) % locks].lock; }
  void tell(u64 cores, const Wish& wish);

  struct alignas(64) OwnLine {
    SpinLock lock;
  };
  std::array<OwnLine, locks> locks_;
  Cache<Line> lines_;
  std::span<Inbox> inboxes_;
};

}  // namespace corral::cache_model
