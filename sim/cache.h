// The cache of one simulated core, as a list of whose pages are in it, the last used first. Pages that do not fit drive out those of
// whoever has not run for the longest time.
#pragma once

#include <algorithm>
#include <list>

#include "lib/types.h"

namespace corral::sim {

class CoreCache {
 public:
  // `thread` uses its `pages` on this core, whose cache holds `capacity`. Answers how many of them had to be fetched: what does not
  // fit is fetched each time.
  u64 use(u32 thread, u64 pages, u64 capacity) {
    const auto found = std::ranges::find(parts_, thread, &Part::thread);
    const u64 had = found == parts_.end() ? 0 : std::min(found->pages, pages);
    if (found != parts_.end()) {
      held_ -= found->pages;
      parts_.erase(found);
    }
    parts_.push_front({thread, std::min(pages, capacity)});
    held_ += parts_.front().pages;
    while (held_ > capacity) {
      Part& oldest = parts_.back();
      const u64 goes = std::min(oldest.pages, held_ - capacity);
      oldest.pages -= goes;
      held_ -= goes;
      if (oldest.pages == 0) parts_.pop_back();
    }
    return pages - had;
  }

 private:
  struct Part {
    u32 thread;
    u64 pages;
  };
  std::list<Part> parts_;
  u64 held_ = 0;  // the sum of all parts
};

}  // namespace corral::sim
