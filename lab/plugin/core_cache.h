// A core's own cache of data. One thread: the core's own; others ask by the inbox.
#pragma once

#include "cache.h"
#include "inbox.h"
#include "shared_cache.h"

namespace corral::cache_model {

class CoreCache {
 public:
  CoreCache(u32 core, const CacheShape& shape, Inbox& inbox, SharedCache& shared)
      : core_{core}, lines_{shape}, inbox_{inbox}, shared_{shared} {}

  struct Outcome {
    bool refill = false;  // the line was not here
    bool l2_refill = false;  // nor in the shared cache
    bool snooped = false;  // another core had to give something up
  };
  Outcome access(u64 line, bool store) {
    const Line* const found = lines_.use(line);
    if (found != nullptr && (!store || found->writable())) [[likely]]
      return {};
    return ask(line, store);
  }

  // Does what other cores want. Before the core goes on.
  void read_inbox() {
    if (inbox_.waiting()) [[unlikely]]
      do_wishes();
  }
  // While no core runs.
  void clear() {
    do_wishes();
    lines_.clear();
  }

 private:
  class Line {
   public:
    Line() = default;
    Line(u64 number, bool writable) : word_{number << 1 | (writable ? 1 : 0)} {}
    [[nodiscard]] u64 number() const { return word_ >> 1; }
    [[nodiscard]] bool writable() const { return (word_ & 1) != 0; }
    [[nodiscard]] bool is(u64 other) const { return number() == other; }
    [[nodiscard]] bool empty() const { return word_ == none; }
    void clear() { word_ = none; }

   private:
    static constexpr u64 none = ~u64{0};
    u64 word_ = none;
  };

  Outcome ask(u64 line, bool store);
  void do_wishes();
  void apply(const Wish& wish);

  u32 core_;
  Cache<Line> lines_;
  Inbox& inbox_;
  SharedCache& shared_;
};

}  // namespace corral::cache_model
