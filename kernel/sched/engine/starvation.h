// When somebody who waits in a timeline starves. Time is counted that the core gave to the timeline's entities, so that those
// above it (the real-time class) starve nobody. The patience grows with how many share the core, and with how little somebody's
// weight is beside theirs, so that no fair policy exceeds it, however many wait, whether weights play a part in it or none. A
// policy that holds somebody back for longer beside each of the others, by its turns or on purpose, says so
// (AlgorithmDescriptor::holds_back). Pure.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::sched {

// For an entity that has the core's whole weight; sched.patience=. 0: nobody looks. Boot.
inline constinit Atomic<i64> patience_ns{seconds(10).ns};

class StarvationWatch {
 public:
  static constexpr u32 most_looked_at = 32;  // of those that wait, the longest first

  // A policy that holds nobody back for longer than `holds_back` for each share, beside what is fair, is in use from now on.
  void begin(Duration holds_back) {
    const i64 patience = patience_ns.load(Order::relaxed);
    const bool watches = patience > 0 && holds_back != forever;
    limit_ = watches ? Duration{patience + holds_back.ns} : forever;
    longest_turn_ = watches ? Duration{patience / 4} : forever;
  }
  // After how long a turn beside others is looked at, whatever the policy says.
  [[nodiscard]] Duration longest_turn() const { return longest_turn_; }
  [[nodiscard]] bool is_on() const { return limit_ != forever; }
  // An entity of the timeline ran.
  void charge(Duration used) { clock_ = clock_ + used; }
  // Of the timeline's entities together, since start.
  [[nodiscard]] Duration clock() const { return clock_; }
  // Who waits since then with this weight, among `competitors` that have `all_weights`, itself counted with both.
  [[nodiscard]] bool starves(Duration waits_since, u32 weight, u64 all_weights, u32 competitors) const {
    return exceeds(clock_ - waits_since, shares_of(weight, all_weights, competitors));
  }
  // How many entities of this weight the others' weights are worth, or how many there are, and itself.
  [[nodiscard]] static u64 shares_of(u32 weight, u64 all_weights, u32 competitors) {
    const u64 worth = all_weights / (weight == 0 ? 1 : weight);
    return (worth > competitors ? worth : competitors) + 1;
  }
  // Others ran for `time`, which is too long for somebody who was to have one of `shares` of it, at least one.
  [[nodiscard]] bool exceeds(Duration time, u64 shares) const {
    return limit_ != forever && time.ns / static_cast<i64>(shares) > limit_.ns;
  }

 private:
  static constexpr Duration forever{INT64_MAX};
  Duration clock_{};
  Duration limit_ = forever;
  Duration longest_turn_ = forever;
};

}  // namespace corral::sched
