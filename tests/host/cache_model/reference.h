// The caches of a machine once more, written to be obvious and nothing else: each set is a list of lines with the time of their last
// use, and who has what is looked up where it is. What the model does is compared with it, access by access.
#pragma once

#include <algorithm>
#include <map>
#include <set>
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
  // `cores_of_one` neighbouring cores share an l2.
  ReferenceMachine(u32 cores, const cache_model::CacheShape& l1, const cache_model::CacheShape& l2, u32 cores_of_one)
      : cores_of_one_{cores_of_one}, writable_(cores) {
    for (u32 i = 0; i < cores; ++i) own_.emplace_back(l1);
    for (u32 i = 0; i < cores; i += cores_of_one) shared_.emplace_back(l2);
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
    const u32 cluster = core / cores_of_one_;
    if (!shared_[cluster].has(line)) {
      outcome.l2_refill = true;
      if (u64 victim = 0; shared_[cluster].oldest_in_the_way(line, victim)) {
        shared_[cluster].drop(victim);
        for (u32 each = 0; each < own_.size(); ++each) {
          if (each / cores_of_one_ == cluster) own_[each].drop(victim);
        }
      }
      in_several_[cluster].erase(line);
    }
    shared_[cluster].touch(line, now_);
    for (u32 other = 0; other < shared_.size(); ++other) {
      if (other == cluster || !shared_[other].has(line)) continue;
      if (store) {
        shared_[other].drop(line);
        outcome.snooped = true;
      } else if (outcome.l2_refill) {
        in_several_[cluster].insert(line);
        in_several_[other].insert(line);
      }
    }
    if (store) in_several_[cluster].erase(line);
    bool alone = !in_several_[cluster].contains(line);
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
  u32 cores_of_one_;
  std::vector<ReferenceCache> shared_;
  std::map<u32, std::set<u64>>
      in_several_;  // by shared cache: lines that were fetched while another had them, and not written since
  std::vector<ReferenceCache> own_;
  std::vector<std::map<u64, bool>> writable_;  // of each core, meaningful for lines that it has
  u64 now_ = 0;
};

}  // namespace corral::test
