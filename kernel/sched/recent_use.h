// How much of its recent time a core was busy: an average in which what is a half-life ago counts half. It is kept in one
// word that changes only when the core begins or ends to be idle; a reader works out what it is now. Pure.
//
// While a core is idle its use halves with every half-life; while it is busy, what it lacks to the whole does. So all that is
// to be known is the instant at which what halves would have been the whole. Between half-lives a straight line stands
// for the curve (6 % off at most).
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::sched {

class RecentUse {
 public:
  static constexpr u32 whole = 1024;                  // all of the time
  static constexpr Duration half_life{i64{1} << 25};  // about 34 ms

  // Own core: busy, or idle, from now on.
  void change(bool busy, Instant now) {
    const u32 use = share(now);
    u32 halving = busy ? whole - use : use;
    u64 ago = u64{forgotten} << half_life_shift;
    if (halving != 0) {
      for (ago = 0; halving <= whole / 2; halving *= 2) ago += u64{1} << half_life_shift;
      ago += u64{whole - halving} << (half_life_shift - 9);
    }
    const u64 begin = time_of(now) - ago;
    word_.store((busy ? highest_begin - begin : begin) << 1 | (busy ? 1 : 0), Order::relaxed);
  }
  // Any core: 0 … whole.
  [[nodiscard]] u32 share(Instant now) const {
    return share_of(rank(), time_of(now), [](u64 passed) { return left_of_whole(passed); });
  }
  // The same for who asks many, from a table, up to 4 % of the whole off: time_of(now).
  [[nodiscard]] u32 share_about(u64 time) const {
    return share_of(rank(), time, [](u64 passed) -> u32 {
      const u64 step = passed >> step_shift;
      return left_after.at_step[step < steps ? step : steps];
    });
  }
  // Begins above 0, so that what is a few half-lives before the boot has a number, too.
  static constexpr u64 time_of(Instant now) {
    return (static_cast<u64>(now.ns) >> unit_shift) + (2 * u64{forgotten} << half_life_shift);
  }
  // Any core: of two idle cores, or of two busy ones, the one with the smaller rank has been more idle recently. Needs no
  // time and no arithmetic.
  [[nodiscard]] u64 rank() const { return word_.load(Order::relaxed); }
  // The order of ranks, and of numbers between them, in numbers below `whole`, as far as those tell them apart, for people: half the
  // share of a core that is idle, and above those the same of busy ones.
  static u64 coarse_rank(u64 rank, u64 time) {
    const bool busy = rank >> 1 > highest_begin / 2;  // that is after many years of a core that is idle
    const u64 word = (rank & ~u64{1}) | (busy ? 1 : 0);
    const u64 half = share_of(word, time, [](u64 passed) { return left_of_whole(passed); }) / 2;
    const u64 coarse = busy ? whole / 2 + half : half;
    return coarse < whole ? coarse : whole - 1;
  }
  // Shows what another one had at some time: its rank().
  void show(u64 rank) { word_.store(rank, Order::relaxed); }
  static constexpr u64 highest_rank = (u64{1} << 50) - 1;

 private:
  static constexpr u32 unit_shift = 10;  // times in the word are in 2^10 ns
  static constexpr u32 half_life_shift = 25 - unit_shift;
  static constexpr u32 forgotten = 16;  // half-lives after which nothing is left
  static constexpr u64 highest_begin = highest_rank >> 1;

  template <class Left>
  [[nodiscard]] static u32 share_of(u64 word, u64 time, Left&& left_after_time) {
    const u64 begin = (word & 1) != 0 ? highest_begin - (word >> 1) : word >> 1;
    const u32 left = left_after_time(time > begin ? time - begin : 0);  // the reader's clock may be a moment behind
    return (word & 1) != 0 ? whole - left : left;
  }
  static constexpr u32 left_of_whole(u64 passed) {
    const u64 halvings = passed >> half_life_shift;
    const u64 line = (u64{2} << half_life_shift) - (passed & ((u64{1} << half_life_shift) - 1));
    return halvings >= forgotten ? 0 : static_cast<u32>(line >> (halvings + half_life_shift + 1 - 10));
  }

  static constexpr u32 step_shift = half_life_shift - 4;  // a sixteenth of a half-life
  static constexpr u32 steps = forgotten << 4;
  struct Table {
    consteval Table() {
      for (u32 i = 0; i <= steps; ++i) at_step[i] = static_cast<u16>(left_of_whole(u64{i} << step_shift));
    }
    u16 at_step[steps + 1];
  };
  static const Table left_after;

  // The instant when what halves would have been the whole, while busy counted down from highest_begin; << 1 | busy.
  Atomic<u64> word_{0};
};

inline constexpr RecentUse::Table RecentUse::left_after{};

}  // namespace corral::sched
