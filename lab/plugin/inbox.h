// What other cores want of a core's own cache. Any thread posts; the core's own reads before it goes on.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "lib/types.h"
#include "spin_lock.h"

namespace corral::cache_model {

struct Wish {
  enum class Kind : u8 {
    drop,  // the line goes
    share,  // the line stays, but writing to it needs to be asked for again
  };
  u64 line;
  Kind kind;
};

class Inbox {
 public:
  void post(const Wish& wish) {
    const std::lock_guard guard{lock_};
    wishes_.push_back(wish);
    waiting_.store(true, std::memory_order_release);
  }

  [[nodiscard]] bool waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // Owner.
  template <class Each>
  void read(Each&& each) {
    {
      const std::lock_guard guard{lock_};
      std::swap(wishes_, reading_);
      waiting_.store(false, std::memory_order_relaxed);
    }
    for (const Wish& wish : reading_) each(wish);
    reading_.clear();
  }

 private:
  std::atomic<bool> waiting_{false};
  SpinLock lock_;
  std::vector<Wish> wishes_;  // lock_
  std::vector<Wish> reading_;  // owner
};

}  // namespace corral::cache_model
