// Strong types for the quantities that kernels confuse: addresses, cores, instants and durations.
// None converts to another or to an integer by itself; `.value` is the way out.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace corral {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using std::size_t;

inline constexpr u64 page_shift = 12;
inline constexpr u64 page_size = u64{1} << page_shift;

constexpr u64 round_down(u64 value, u64 alignment) {
  return value & ~(alignment - 1);
}
constexpr u64 round_up(u64 value, u64 alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Index of a core in Corral's own numbering, dense from 0 (the bootstrap core). Not the APIC id.
struct CoreId {
  u32 value = 0;
  constexpr auto operator<=>(const CoreId&) const = default;
};
#ifdef CORRAL_MAX_CORES  // the simulator has larger machines
inline constexpr u32 max_cores = CORRAL_MAX_CORES;
#else
inline constexpr u32 max_cores = 256;
#endif

struct ThreadId {
  i32 value = 0;
  constexpr auto operator<=>(const ThreadId&) const = default;
};
struct ProcessId {
  i32 value = 0;
  constexpr auto operator<=>(const ProcessId&) const = default;
};

struct PhysicalAddress {
  u64 value = 0;
  constexpr auto operator<=>(const PhysicalAddress&) const = default;
  constexpr PhysicalAddress operator+(u64 offset) const { return {value + offset}; }
};

struct VirtualAddress {
  u64 value = 0;
  constexpr auto operator<=>(const VirtualAddress&) const = default;
  constexpr VirtualAddress operator+(u64 offset) const { return {value + offset}; }
  constexpr u64 operator-(VirtualAddress other) const { return value - other.value; }
  [[nodiscard]] constexpr VirtualAddress page() const { return {round_down(value, page_size)}; }
};

// A length of time in nanoseconds; may be negative.
struct Duration {
  i64 ns = 0;
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const { return {ns + other.ns}; }
  constexpr Duration operator-(Duration other) const { return {ns - other.ns}; }
};
constexpr Duration nanoseconds(i64 n) {
  return {n};
}
constexpr Duration microseconds(i64 n) {
  return {n * 1'000};
}
constexpr Duration milliseconds(i64 n) {
  return {n * 1'000'000};
}
constexpr Duration seconds(i64 n) {
  return {n * 1'000'000'000};
}

// Nanoseconds since boot on the machine's one clock.
struct Instant {
  i64 ns = 0;
  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const { return {ns + d.ns}; }
  constexpr Instant operator-(Duration d) const { return {ns - d.ns}; }
  constexpr Duration operator-(Instant other) const { return {ns - other.ns}; }
};
inline constexpr Instant never{INT64_MAX};

// When a wait is to end: at an instant, or at a moment of wall time, which may be set meanwhile. One word, so that it travels in a
// register: an instant is not negative, and a moment of wall time is kept as -1 - nanoseconds since 1970.
class Deadline {
 public:
  constexpr Deadline() = default;  // never
  constexpr Deadline(Instant when) : word_{when.ns} {}  // implicit: most waits go by instants
  // `ns` since 1970, from 0 on.
  [[nodiscard]] static constexpr Deadline at_wall_time(i64 ns) { return Deadline{Instant{-1 - ns}}; }
  [[nodiscard]] constexpr bool is_never() const { return word_ == never.ns; }
  [[nodiscard]] constexpr bool by_wall() const { return word_ < 0; }
  // Since boot, or since 1970.
  [[nodiscard]] constexpr i64 ns() const { return word_ < 0 ? -1 - word_ : word_; }

 private:
  i64 word_ = never.ns;
};

}  // namespace corral
