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
enum class Unit : u8 {
  number,
  microseconds,
  percent_of_tick,
  choice,  // one of some names, by its place among them
  ratio,   // of two numbers, written 1:3; as packed_ratio() has it
};

// Two numbers as one.
[[nodiscard]] constexpr i64 packed_ratio(u32 first, u32 second) {
  return static_cast<i64>(u64{first} << 32 | second);
}
[[nodiscard]] constexpr u32 first_of(i64 ratio) {
  return static_cast<u32>(static_cast<u64>(ratio) >> 32);
}
[[nodiscard]] constexpr u32 second_of(i64 ratio) {
  return static_cast<u32>(ratio);
}

struct Tunable {
  const char* name;
  Unit unit;
  i64 low, high, standard;  // in that unit, both ends included; standard: the default; of a ratio: each number's ends
  const char* description;
  std::span<const char* const> choices = {};  // the names of a choice

  // `value`, in the unit, as a policy gets it: times in ns.
  [[nodiscard]] constexpr i64 in_effect(i64 value, Duration tick) const {
    switch (unit) {
      case Unit::number:
      case Unit::choice:
      case Unit::ratio: break;
      case Unit::microseconds: return value * 1'000;
      case Unit::percent_of_tick: return value * tick.ns / 100;
    }
    return value;
  }
  // The way back.
  [[nodiscard]] constexpr i64 as_shown(i64 value, Duration tick) const {
    switch (unit) {
      case Unit::number:
      case Unit::choice:
      case Unit::ratio: break;
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
  bool operator==(const TunableValues& other) const {
    for (size_t i = 0; i < most; ++i) {
      if (number(i) != other.number(i)) return false;
    }
    return true;
  }

  [[nodiscard]] i64 number(size_t index) const { return values_[index].load(Order::relaxed); }
  [[nodiscard]] Duration time(size_t index) const { return Duration{number(index)}; }
  void set(size_t index, i64 value) { values_[index].store(value, Order::relaxed); }

 private:
  Atomic<i64> values_[most] = {};
};

// A table is in order: for the registrations.
consteval bool are_right(std::span<const Tunable> tunables) {
  for (const Tunable& tunable : tunables) {
    if (tunable.unit == Unit::ratio) {
      for (const i64 number : {i64{first_of(tunable.standard)}, i64{second_of(tunable.standard)}}) {
        if (tunable.low < 1 || tunable.low > number || number > tunable.high) return false;
      }
      continue;
    }
    if (tunable.low < 0 || tunable.low > tunable.standard || tunable.standard > tunable.high) return false;
    if (tunable.unit == Unit::choice && tunable.high + 1 != static_cast<i64>(tunable.choices.size())) return false;
  }
  return tunables.size() <= TunableValues::most;
}

}  // namespace corral::sched
