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
inline constexpr u32 fixed_instructions = 0, fixed_cycles = 1;  // which fixed counter counts what, in all modes

// What a general counter is told to count: an event by its code and mask.
struct EventSelection {
  CountedEvent event;
  u64 code, mask;
  bool only_in_kernel;
  [[nodiscard]] constexpr u64 word() const {
    constexpr u64 in_user_mode = 1 << 16, in_kernel_mode = 1 << 17, enabled = 1 << 22;
    return code | mask << 8 | (only_in_kernel ? 0 : in_user_mode) | in_kernel_mode | enabled;
  }
};
// As far as there are general counters: four on a processor with two threads a core (eight are as common), the most wanted first.
inline constexpr EventSelection selections[] = {
    {CountedEvent::refills, 0x2e, 0x41, false},     {CountedEvent::accesses, 0x2e, 0x4f, false},
    {CountedEvent::instructions, 0xc0, 0x00, true}, {CountedEvent::refills, 0x2e, 0x41, true},
    {CountedEvent::cycles, 0x3c, 0x00, true},       {CountedEvent::accesses, 0x2e, 0x4f, true},
};
inline constexpr u32 most_selections = sizeof selections / sizeof *selections;

struct PerformanceUnit {
  const char* missing = "there is no performance monitoring of version 2 or later (CPUID leaf 0xA)";  // null: it can be used
  u32 used = 0;  // general counters
  const EventSelection* use[most_selections] = {};  // what each of them counts
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
    const auto has_event = [&](CountedEvent event) {
      constexpr u32 bit_of[counted_events] = {1, 0, 3, 4};
      const u32 bit = bit_of[static_cast<u32>(event)];
      return bit < named_events && (b >> bit & 1) == 0;
    };
    const bool has_fixed =
        fixed >= 2 && unit.fixed_width != 0 && has_event(CountedEvent::cycles) && has_event(CountedEvent::instructions);
    unit.missing =
        has_fixed ? nullptr : "performance monitoring has no fixed counters of instructions and cycles (CPUID leaf 0xA)";
    for (const EventSelection& selection : selections) {
      if (unit.used < general && unit.general_width != 0 && has_event(selection.event)) unit.use[unit.used++] = &selection;
    }
    return unit;
  }

  [[nodiscard]] constexpr CountedEvents counted() const {
    CountedEvents events;
    events.add(CountedEvent::instructions);
    events.add(CountedEvent::cycles);
    for (u32 i = 0; i < used; ++i) events.add(use[i]->event);
    return events;
  }
  [[nodiscard]] constexpr CountedEvents told_apart() const {
    CountedEvents events;
    for (u32 i = 0; i < used; ++i) {
      if (use[i]->only_in_kernel) events.add(use[i]->event);
    }
    return events;
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
    for (u32 i = 0; i < used; ++i) {
      registers.write(msr_counter_0 + i, 0);
      registers.write(msr_event_select_0 + i, use[i]->word());
      enabled |= u64{1} << i;
    }
    registers.write(msr_global_control, enabled);
  }

  // `registers`: counter(number), as RDPMC has it.
  template <class Registers>
  [[nodiscard]] EventSums read(Registers&& registers) const {
    EventSums sums;
    sums.all[static_cast<u32>(CountedEvent::instructions)] = registers.counter(fixed_counters | fixed_instructions);
    sums.all[static_cast<u32>(CountedEvent::cycles)] = registers.counter(fixed_counters | fixed_cycles);
    for (u32 i = 0; i < used; ++i) {
      (use[i]->only_in_kernel ? sums.in_kernel : sums.all)[static_cast<u32>(use[i]->event)] = registers.counter(i);
    }
    return sums;
  }

  // Counters are read one after the other, so that by a few more may seem to have been counted in kernel mode than at all.
  [[nodiscard]] constexpr EventSums between(const EventSums& before, const EventSums& after) const {
    const auto passed = [](u64 from, u64 to, u32 width) {
      return width >= 64 ? to - from : (to - from) & ((u64{1} << width) - 1);
    };
    EventSums sums;
    for (u32 i = 0; i < counted_events; ++i) {
      const bool fixed = i == static_cast<u32>(CountedEvent::instructions) || i == static_cast<u32>(CountedEvent::cycles);
      sums.all[i] = passed(before.all[i], after.all[i], fixed ? fixed_width : general_width);
      const u64 in_kernel = passed(before.in_kernel[i], after.in_kernel[i], general_width);
      sums.in_kernel[i] = in_kernel < sums.all[i] ? in_kernel : sums.all[i];
    }
    return sums;
  }
};

}  // namespace corral::arch
