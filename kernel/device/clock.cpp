// The machine's clock: nanoseconds since boot out of a free-running counter.
//
// Invariants: a set of parameters is immutable once `current` points to it, so that readers need one load and no lock;
// a new source starts where the old one was, so time does not jump. The counter is one for all cores (or synchronised:
// platform/ checks that before it offers one), so the clock does not go back from core to core.
// Context: now() anywhere; use() on the bootstrap core. Neighbours: platform timers, trace/log (stamps), core timers.
#include "device/clock.h"

#include "arch/processor.h"
#include "device/clock_scale.h"
#include "device/narrow_counter.h"
#include "trace/panic.h"

namespace corral::clock {

namespace {

struct Parameters {
  const ClockSource* source = nullptr;
  ClockScale scale;
  u32 bits = 64;
  u64 start_ticks = 0;
  i64 start_ns = 0;
  mutable NarrowCounter<> extension;  // shared by all readers; atomic inside
};

constexpr u32 most_sources = 8;
constinit Parameters parameters[most_sources];
constinit u32 used = 0;  // bootstrap core only
constinit Atomic<const Parameters*> current{nullptr};
constinit i64 wall_time_at_boot = 0;
constinit ClockPage* published = nullptr;  // bootstrap core only

u64 ticks_of(const Parameters& p) {
  if (p.bits >= 64) return p.source->read();
  return p.extension.extend(p.bits, [&p] { return p.source->read(); });
}

Instant time_of(const Parameters& p) {
  const i64 elapsed = static_cast<i64>(ticks_of(p) - p.start_ticks);
  // Another core's counter may lag by a few ticks just after the start: that is the start.
  return {p.start_ns + (elapsed > 0 ? p.scale.to_ns(static_cast<u64>(elapsed)) : 0)};
}

void publish() {
  const Parameters* p = current.load(Order::relaxed);
  if (published == nullptr || p == nullptr) return;
  ClockFacts facts;
  facts.by_counter = p->source->readable_by_programs() ? 1 : 0;
  facts.start_ticks = p->start_ticks;
  facts.start_ns = p->start_ns;
  facts.scale = p->scale;
  facts.wall_time_at_boot = wall_time_at_boot;
  published->write(facts);
}

}  // namespace

Instant now() {
  const Parameters* p = current.load(Order::acquire);
  return p == nullptr ? Instant{} : time_of(*p);
}

void spin(Duration time) {
  KERNEL_ASSERT(current.load(Order::relaxed) != nullptr);
  const Instant end = now() + time;
  while (now() < end) arch::pause();
}

i64 boot_wall_time_ns() {
  return wall_time_at_boot;
}
void set_boot_wall_time(i64 ns) {
  wall_time_at_boot = ns;
  publish();
}

void use(const ClockSource& source) {
  KERNEL_ASSERT(used < most_sources && source.frequency() != 0);
  Parameters& p = parameters[used++];
  p.source = &source;
  p.scale = ClockScale{source.frequency()};
  p.bits = source.bits();
  p.start_ticks = ticks_of(p);
  p.start_ns = now().ns;
  current.store(&p, Order::release);
  publish();
}

void publish_to(ClockPage& page) {
  published = &page;
  publish();
}

const ClockSource& source() {
  const Parameters* p = current.load(Order::acquire);
  KERNEL_ASSERT(p != nullptr);
  return *p->source;
}

Duration longest_quiet() {
  const Parameters* p = current.load(Order::acquire);
  if (p == nullptr || p->bits >= 64) return {never.ns};
  return {p->scale.to_ns(u64{1} << (p->bits - 2))};
}

}  // namespace corral::clock
