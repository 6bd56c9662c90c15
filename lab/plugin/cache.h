// A set-associative cache that replaces the least recently used line. Lines are known by their number, the address divided by their
// size. Not synchronised: sets share nothing, so that a lock for some sets is enough.
//
// Line: a small trivially copyable type with is(number), empty() and clear().
#pragma once

#include <algorithm>
#include <vector>

#include "shape.h"

namespace corral::cache_model {

template <class Line>
class Cache {
 public:
  explicit Cache(const CacheShape& shape)
      : ways_{shape.ways}, last_set_{shape.sets() - 1}, lines_(size_t{shape.sets()} * shape.ways) {}

  [[nodiscard]] u64 set_of(u64 number) const { return number & last_set_; }

  // The line, most recently used from now on; null: it is not there.
  [[nodiscard]] Line* use(u64 number) {
    Line* const set = first_of(number);
    if (set->is(number)) [[likely]]
      return set;
    for (u32 way = 1; way < ways_; ++way) {
      if (set[way].is(number)) return to_front(set, way);
    }
    return nullptr;
  }

  // The line, and no use of it.
  [[nodiscard]] Line* find(u64 number) {
    Line* const set = first_of(number);
    Line* const end = set + ways_;
    Line* const found = std::find_if(set, end, [&](const Line& line) { return line.is(number); });
    return found != end ? found : nullptr;
  }

  // The place for a line that is not there: an empty one, or that of the least recently used. It holds what has to go until the
  // caller writes the line there, most recently used.
  [[nodiscard]] Line& make_room(u64 number) {
    Line* const set = first_of(number);
    u32 way = 0;
    while (way < ways_ - 1 && !set[way].empty()) ++way;
    return *to_front(set, way);
  }

  void clear() {
    for (Line& line : lines_) line.clear();
  }

 private:
  [[nodiscard]] Line* first_of(u64 number) { return &lines_[set_of(number) * ways_]; }
  // What is in front moves back by one: a set is in the order of use.
  Line* to_front(Line* set, u32 way) {
    const Line moved = set[way];
    std::copy_backward(set, set + way, set + way + 1);
    *set = moved;
    return set;
  }

  u32 ways_;
  u64 last_set_;
  std::vector<Line> lines_;
};

}  // namespace corral::cache_model
