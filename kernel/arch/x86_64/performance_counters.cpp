#include "arch/performance_counters.h"

#include "arch/guarded_call.h"
#include "arch/port_io.h"
#include "arch/processor.h"
#include "performance_unit.h"

namespace corral::arch {

namespace {

constinit PerformanceUnit unit;  // boot writes, then constant

struct OwnRegisters {
  static void write(u32 msr, u64 value) { write_msr(msr, value); }
  static u64 counter(u32 number) {
    u32 low;
    u32 high;
    asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    return u64{high} << 32 | low;
  }
};

// How many instructions are counted while some hundreds are executed.
u64 count_a_loop() {
  unit.start(OwnRegisters{});
  const EventSums before = unit.read(OwnRegisters{});
  for (u32 i = 0; i < 100; ++i) pause();
  return unit.between(before, unit.read(OwnRegisters{})).all[static_cast<u32>(CountedEvent::instructions)];
}

// Machines that are made of software announce counters that they do not have.
const char* try_event_counters() {
  u64 counted = 0;
  if (!ask_guarded(counted, count_a_loop))
    return "performance monitoring is announced (CPUID leaf 0xA), and its registers fault";
  return counted != 0 ? nullptr : "performance monitoring is announced (CPUID leaf 0xA), and counts nothing";
}

}  // namespace

const char* find_event_counters() {
  constexpr u32 leaf = 0xa;
  const CpuidResult found = cpuid(0).a >= leaf ? cpuid(leaf) : CpuidResult{};
  unit = PerformanceUnit::from_cpuid(found.a, found.b, found.d);
  if (unit.missing == nullptr) unit.missing = try_event_counters();
  return unit.missing;
}

CountedEvents events_counted() {
  return unit.counted();
}

CountedEvents events_told_apart() {
  return unit.told_apart();
}

void start_event_counters() {
  unit.start(OwnRegisters{});
}

EventSums read_event_counters() {
  return unit.read(OwnRegisters{});
}

EventSums events_between(const EventSums& before, const EventSums& after) {
  return unit.between(before, after);
}

}  // namespace corral::arch
