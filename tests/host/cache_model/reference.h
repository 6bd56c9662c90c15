// The caches of a machine once more, written to be obvious and nothing else: each set is a list of lines with the time of their last
// use, and who has what is looked up where it is. What the model does is compared with it, access by access.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "lab/plugin/shape.h"

namespace corral::test {

class ReferenceCache {
 public:
  explicit ReferenceCache(const cache_model::CacheShape& shape) : shape_{shape} {}
  bool has(u64 line) const { return ages_.contains(line); }
  void touch(u64 line, u64 now) { ages_[line] = now; }
  void drop(u64 line) { ages_.erase(line); }
  // What has to go for `line`; false: there is room.
  bool oldest_in_the_way(u64 line, u64& victim) const {
    u64 lines_of_set = 0;
    u64 oldest = ~u64{0};
    for (const auto& [each, age] : ages_) {
      if (each % shape_.sets() != line % shape_.sets()) continue;
      ++lines_of_set;
      if (age >= oldest) continue;
      oldest = age;
      victim = each;
    }
    return lines_of_set == shape_.ways;
  }

 private:
  cache_model::CacheShape shape_;
  std::map<u64, u64> ages_;
};

class ReferenceMachine {
 public:
  ReferenceMachine(u32 cores, const cache_model::CacheShape& l1, const cache_model::CacheShape& l2)
      : shared_{l2}, writable_(cores) {
    for (u32 i = 0; i < cores; ++i) own_.emplace_back(l1);
  }

  struct Outcome {
    bool refill = false, l2_refill = false, snooped = false;
    bool operator==(const Outcome&) const = default;
  };
  Outcome access(u32 core, u64 line, bool store) {
    ++now_;
    Outcome outcome;
    const bool here = own_[core].has(line);
    if (here && (!store || writable_[core][line])) {
      own_[core].touch(line, now_);
      return outcome;
    }
    if (!shared_.has(line)) {
      outcome.l2_refill = true;
      if (u64 victim = 0; shared_.oldest_in_the_way(line, victim)) {
        shared_.drop(victim);
        for (ReferenceCache& each : own_) each.drop(victim);
      }
    }
    shared_.touch(line, now_);
    bool alone = true;
    for (u32 other = 0; other < own_.size(); ++other) {
      if (other == core || !own_[other].has(line)) continue;
      alone = false;
      outcome.snooped |= store || writable_[other][line];
      writable_[other][line] = false;
      if (store) own_[other].drop(line);
    }
    if (!own_[core].has(line)) {
      outcome.refill = true;
      if (u64 victim = 0; own_[core].oldest_in_the_way(line, victim)) own_[core].drop(victim);
    }
    own_[core].touch(line, now_);
    writable_[core][line] = store || alone;
    return outcome;
  }

 private:
  ReferenceCache shared_;
  std::vector<ReferenceCache> own_;
  std::vector<std::map<u64, bool>> writable_;  // of each core, meaningful for lines that it has
  u64 now_ = 0;
};

}  // namespace corral::test
