#include "arch/performance_counters.h"

#include "arch/port_io.h"
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

}  // namespace

const char* find_event_counters() {
  constexpr u32 leaf = 0xa;
  const CpuidResult found = cpuid(0).a >= leaf ? cpuid(leaf) : CpuidResult{};
  unit = PerformanceUnit::from_cpuid(found.a, found.b, found.d);
  return unit.missing;
}

bool has_cache_events() {
  return unit.cache_events;
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
