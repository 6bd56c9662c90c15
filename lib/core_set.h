// Sets of cores, up to max_cores: CoreSet is a value; AtomicCoreSet is shared, each core adding and removing itself.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

class CoreSet {
 public:
  static constexpr u32 words = max_cores / 64;

  constexpr CoreSet() = default;
  static constexpr CoreSet of(CoreId core) {
    CoreSet set;
    set.add(core);
    return set;
  }
  // The cores 0 … count-1.
  static constexpr CoreSet first(u32 count) {
    CoreSet set;
    for (u32 i = 0; i < count; ++i) set.add(CoreId{i});
    return set;
  }
  static constexpr CoreSet all() {
    CoreSet set;
    for (u64& w : set.words_) w = ~u64{0};
    return set;
  }

  constexpr void add(CoreId core) { words_[core.value / 64] |= u64{1} << (core.value % 64); }
  constexpr void remove(CoreId core) { words_[core.value / 64] &= ~(u64{1} << (core.value % 64)); }
  [[nodiscard]] constexpr bool contains(CoreId core) const {
    return core.value < max_cores && (words_[core.value / 64] >> (core.value % 64) & 1) != 0;
  }
  [[nodiscard]] constexpr bool empty() const {
    for (u64 w : words_) {
      if (w != 0) return false;
    }
    return true;
  }
  [[nodiscard]] constexpr u32 count() const {
    u32 n = 0;
    for (u64 w : words_) n += static_cast<u32>(__builtin_popcountll(w));
    return n;
  }
  [[nodiscard]] constexpr CoreSet operator&(const CoreSet& other) const {
    CoreSet r;
    for (u32 i = 0; i < words; ++i) r.words_[i] = words_[i] & other.words_[i];
    return r;
  }
  [[nodiscard]] constexpr CoreSet operator|(const CoreSet& other) const {
    CoreSet r;
    for (u32 i = 0; i < words; ++i) r.words_[i] = words_[i] | other.words_[i];
    return r;
  }
  [[nodiscard]] constexpr CoreSet without(const CoreSet& other) const {
    CoreSet r;
    for (u32 i = 0; i < words; ++i) r.words_[i] = words_[i] & ~other.words_[i];
    return r;
  }
  constexpr bool operator==(const CoreSet&) const = default;

  // The smallest member that is at least `from`, or CoreId{max_cores}.
  [[nodiscard]] constexpr CoreId next(u32 from) const {
    for (u32 w = from / 64; w < words; ++w) {
      u64 bits = words_[w];
      if (w == from / 64) bits &= ~u64{0} << (from % 64);
      if (bits != 0) return CoreId{w * 64 + static_cast<u32>(__builtin_ctzll(bits))};
    }
    return CoreId{max_cores};
  }
  [[nodiscard]] constexpr CoreId lowest() const { return next(0); }

  template <class Visitor>
  constexpr void for_each(Visitor&& visit) const {
    for (CoreId core = next(0); core.value < max_cores; core = next(core.value + 1)) visit(core);
  }

  // visit(first, last) for each run of neighbours.
  template <class Visitor>
  constexpr void for_each_range(Visitor&& visit) const {
    for (CoreId first = next(0); first.value < max_cores;) {
      CoreId last = first;
      while (contains(CoreId{last.value + 1})) ++last.value;
      visit(first, last);
      first = next(last.value + 1);
    }
  }

  [[nodiscard]] constexpr u64 word(u32 index) const { return words_[index]; }
  // How many words there are up to the last one with a member.
  [[nodiscard]] constexpr u32 used_words() const {
    u32 n = words;
    while (n != 0 && words_[n - 1] == 0) --n;
    return n;
  }
  constexpr void set_word(u32 index, u64 value) { words_[index] = value; }

 private:
  u64 words_[words] = {};
};

class AtomicCoreSet {
 public:
  void add(CoreId core, Order order) { word(core).fetch_or(bit(core), order); }
  void remove(CoreId core, Order order) { word(core).fetch_and(~bit(core), order); }
  // Removes it; false: it was not in, or another core removed it.
  [[nodiscard]] bool take(CoreId core, Order order) { return (word(core).fetch_and(~bit(core), order) & bit(core)) != 0; }
  [[nodiscard]] bool contains(CoreId core, Order order) const { return (words_[core.value / 64].load(order) & bit(core)) != 0; }
  // Word by word: a reader at the same moment may see some words old and some new.
  void assign(const CoreSet& set, Order order) {
    for (u32 i = 0; i < CoreSet::words; ++i) words_[i].store(set.word(i), order);
  }
  [[nodiscard]] CoreSet snapshot(Order order) const {
    CoreSet set;
    for (u32 i = 0; i < CoreSet::words; ++i) set.set_word(i, words_[i].load(order));
    return set;
  }

 private:
  static constexpr u64 bit(CoreId core) { return u64{1} << (core.value % 64); }
  Atomic<u64>& word(CoreId core) { return words_[core.value / 64]; }
  Atomic<u64> words_[CoreSet::words] = {};
};

}  // namespace corral
