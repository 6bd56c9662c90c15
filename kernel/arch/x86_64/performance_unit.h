// Architectural performance monitoring, version 2 and later: what CPUID says of it, how it is set up and read. Source: SDM vol. 3,
// chapter "Performance Monitoring", section "Architectural Performance Monitoring". Pure: registers are reached through the
// caller's object, so that the host can test it.
#pragma once

#include "arch/performance_counters.h"
#include "lib/types.h"

namespace corral::arch {

// IA32_… of table 2-2 in SDM vol. 4.
inline constexpr u32 msr_event_select_0 = 0x186;
inline constexpr u32 msr_counter_0 = 0xc1;
inline constexpr u32 msr_fixed_counter_0 = 0x309;
inline constexpr u32 msr_fixed_control = 0x38d;
inline constexpr u32 msr_global_control = 0x38f;

// RDPMC's number of a fixed counter is this and its own.
inline constexpr u32 fixed_counters = 1u << 30;
inline constexpr u32 fixed_instructions = 0, fixed_cycles = 1;  // which fixed counter counts what
inline constexpr u32 general_accesses = 0, general_refills = 1;  // which general one is used for what

constexpr u64 select_event(u64 event, u64 mask) {
  constexpr u64 in_user_mode = 1 << 16, in_kernel_mode = 1 << 17, enabled = 1 << 22;
  return event | mask << 8 | in_user_mode | in_kernel_mode | enabled;
}
inline constexpr u64 last_level_references = select_event(0x2e, 0x4f);
inline constexpr u64 last_level_misses = select_event(0x2e, 0x41);

struct PerformanceUnit {
  const char* missing = "there is no performance monitoring of version 2 or later (CPUID leaf 0xA)";  // null: it can be used
  bool cache_events = false;
  u32 general_width = 0, fixed_width = 0;  // bits of a counter

  // From leaf 0xA; all zero on a processor without it.
  [[nodiscard]] static constexpr PerformanceUnit from_cpuid(u32 a, u32 b, u32 d) {
    const u32 version = a & 0xff, general = a >> 8 & 0xff, named_events = a >> 24;
    const u32 fixed = d & 0x1f;
    PerformanceUnit unit;
    if (version < 2) return unit;
    unit.general_width = a >> 16 & 0xff;
    unit.fixed_width = d >> 5 & 0xff;
    // A bit that is set, or beyond how many there are: the event is not there.
    const auto has_event = [&](u32 bit) { return bit < named_events && (b >> bit & 1) == 0; };
    constexpr u32 cycles = 0, instructions = 1, references = 3, misses = 4;
    const bool has_fixed = fixed >= 2 && unit.fixed_width != 0 && has_event(cycles) && has_event(instructions);
    unit.missing =
        has_fixed ? nullptr : "performance monitoring has no fixed counters of instructions and cycles (CPUID leaf 0xA)";
    unit.cache_events = general >= 2 && unit.general_width != 0 && has_event(references) && has_event(misses);
    return unit;
  }

  // `registers`: write(msr, value).
  template <class Registers>
  void start(Registers&& registers) const {
    constexpr u64 all_modes = 3, of_each = 4;  // bits of a fixed counter's control
    registers.write(msr_global_control, 0);
    registers.write(msr_fixed_counter_0 + fixed_instructions, 0);
    registers.write(msr_fixed_counter_0 + fixed_cycles, 0);
    registers.write(msr_fixed_control, all_modes << fixed_instructions * of_each | all_modes << fixed_cycles * of_each);
    u64 enabled = (u64{1} << fixed_instructions | u64{1} << fixed_cycles) << 32;
    if (cache_events) {
      registers.write(msr_counter_0 + general_accesses, 0);
      registers.write(msr_counter_0 + general_refills, 0);
      registers.write(msr_event_select_0 + general_accesses, last_level_references);
      registers.write(msr_event_select_0 + general_refills, last_level_misses);
      enabled |= u64{1} << general_accesses | u64{1} << general_refills;
    }
    registers.write(msr_global_control, enabled);
  }

  // `registers`: counter(number), as RDPMC has it.
  template <class Registers>
  [[nodiscard]] EventSums read(Registers&& registers) const {
    EventSums sums;
    sums.instructions = registers.counter(fixed_counters | fixed_instructions);
    sums.cycles = registers.counter(fixed_counters | fixed_cycles);
    if (cache_events) {
      sums.accesses = registers.counter(general_accesses);
      sums.refills = registers.counter(general_refills);
    }
    return sums;
  }

  [[nodiscard]] constexpr EventSums between(const EventSums& before, const EventSums& after) const {
    const auto passed = [](u64 from, u64 to, u32 width) {
      return width >= 64 ? to - from : (to - from) & ((u64{1} << width) - 1);
    };
    return {passed(before.instructions, after.instructions, fixed_width), passed(before.cycles, after.cycles, fixed_width),
            passed(before.accesses, after.accesses, general_width), passed(before.refills, after.refills, general_width)};
  }
};

}  // namespace corral::arch
