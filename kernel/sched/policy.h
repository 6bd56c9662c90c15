// What every policy says of itself, a timeline's algorithm as well as a placement: its name, one line for people, and its
// tunables. A user interface needs nothing else: the command line, error messages, /proc/sched and the tables in
// docs/boot-options.md come from this. Pure, any context.
#pragma once

#include <span>
#include <string_view>

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::sched {

// What the number of a tunable counts.
enum class Unit : u8 { number, microseconds, percent_of_tick };

struct Tunable {
  const char* name;
  Unit unit;
  i64 low, high, standard;  // in that unit, both ends included; standard: the default
  const char* description;

  // `value`, in the unit, as a policy gets it: times in ns.
  [[nodiscard]] constexpr i64 in_effect(i64 value, Duration tick) const {
    switch (unit) {
      case Unit::number: break;
      case Unit::microseconds: return value * 1'000;
      case Unit::percent_of_tick: return value * tick.ns / 100;
    }
    return value;
  }
  // The way back.
  [[nodiscard]] constexpr i64 as_shown(i64 value, Duration tick) const {
    switch (unit) {
      case Unit::number: break;
      case Unit::microseconds: return value / 1'000;
      case Unit::percent_of_tick: return (value * 100 + tick.ns / 2) / tick.ns;
    }
    return value;
  }
};

struct PolicyDescription {
  const char* name;         // as on the command line
  const char* description;  // one line for people
  std::span<const Tunable> tunables = {};
};

// The values of one policy's tunables, in the order of its table. Each may be read and written by any core at any moment.
class TunableValues {
 public:
  static constexpr size_t most = 8;

  constexpr TunableValues() = default;
  TunableValues(const PolicyDescription& policy, Duration tick) {
    for (size_t i = 0; i < policy.tunables.size(); ++i) set(i, policy.tunables[i].in_effect(policy.tunables[i].standard, tick));
  }
  TunableValues(const TunableValues& other) { *this = other; }
  TunableValues& operator=(const TunableValues& other) {
    if (this == &other) return *this;
    for (size_t i = 0; i < most; ++i) set(i, other.number(i));
    return *this;
  }
  ~TunableValues() = default;

  [[nodiscard]] i64 number(size_t index) const { return values_[index].load(Order::relaxed); }
  [[nodiscard]] Duration time(size_t index) const { return Duration{number(index)}; }
  void set(size_t index, i64 value) { values_[index].store(value, Order::relaxed); }

 private:
  Atomic<i64> values_[most] = {};
};

// A table is in order: for the registrations.
consteval bool are_right(std::span<const Tunable> tunables) {
  for (const Tunable& tunable : tunables) {
    if (tunable.low < 0 || tunable.low > tunable.standard || tunable.standard > tunable.high) return false;
  }
  return tunables.size() <= TunableValues::most;
}

}  // namespace corral::sched
