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
#include "sync/spin_lock.h"
#include "trace/panic.h"

namespace corral::clock {

namespace {

struct Parameters {
  const ClockSource* source = nullptr;  // null: there is no clock yet
  ClockScale scale;
  bool by_cycles = false;  // the source is the cycle counter: read without asking it
  u32 bits = 64;
  u64 start_ticks = 0;
  i64 start_ns = 0;
  mutable NarrowCounter<> extension;  // shared by all readers; atomic inside
};

constexpr u32 most_sources = 8;
constinit Parameters parameters[most_sources];
constinit u32 used = 0;  // bootstrap core only
constinit const Parameters none;
constinit Atomic<const Parameters*> current{&none};
constinit SpinLock publishing{Rank::clock_page, "clock-page"};
constinit Atomic<i64> wall_time_at_boot{0};  // written under the lock
constinit ClockPage* published GUARDED_BY(publishing) = nullptr;

u64 ticks_of(const Parameters& p) {
  if (p.bits >= 64) return p.source->read();
  return p.extension.extend(p.bits, [&p] { return p.source->read(); });
}

Instant time_of(const Parameters& p, u64 ticks) {
  const i64 elapsed = static_cast<i64>(ticks - p.start_ticks);
  // Another core's counter may lag by a few ticks just after the start: that is the start.
  if (elapsed <= 0) [[unlikely]]
    return {p.start_ns};
  return {p.start_ns + p.scale.to_ns(static_cast<u64>(elapsed))};
}

// It keeps all registers, so that it costs nothing where nobody calls it.
[[gnu::noinline, clang::preserve_most]] Instant now_by_source(const Parameters& p) {
  return p.source == nullptr ? Instant{} : time_of(p, ticks_of(p));
}

void publish() REQUIRES(publishing) {
  const Parameters* p = current.load(Order::relaxed);
  if (published == nullptr || p->source == nullptr) return;
  ClockFacts facts;
  facts.by_counter = p->by_cycles ? 1 : 0;
  facts.start_ticks = p->start_ticks;
  facts.start_ns = p->start_ns;
  facts.scale = p->scale;
  facts.wall_time_at_boot = wall_time_at_boot.load(Order::relaxed);
  published->write(facts);
}

}  // namespace

Instant now() {
  const Parameters& p = *current.load(Order::acquire);
  return p.by_cycles ? time_of(p, arch::ordered_cycle_counter()) : now_by_source(p);
}

Instant time_at(u64 ticks) {
  const Parameters* p = current.load(Order::acquire);
  KERNEL_ASSERT(p->source != nullptr && p->bits >= 64);
  return time_of(*p, ticks);
}

void spin(Duration time) {
  KERNEL_ASSERT(current.load(Order::relaxed)->source != nullptr);
  const Instant end = now() + time;
  while (now() < end) arch::pause();
}

i64 boot_wall_time_ns() {
  return wall_time_at_boot.load(Order::relaxed);
}

void set_boot_wall_time(i64 ns) {
  const LockGuard guard{publishing};
  wall_time_at_boot.store(ns, Order::relaxed);
  publish();
}

i64 wall_time_ns() {
  return boot_wall_time_ns() + now().ns;
}

Instant instant_of(Deadline deadline) {
  return {deadline.by_wall() ? deadline.ns() - boot_wall_time_ns() : deadline.ns()};
}

void use(const ClockSource& source) {
  KERNEL_ASSERT(used < most_sources && source.frequency() != 0);
  Parameters& p = parameters[used++];
  p.source = &source;
  p.scale = ClockScale{source.frequency()};
  p.by_cycles = source.is_cycle_counter();
  p.bits = source.bits();
  p.start_ticks = ticks_of(p);
  p.start_ns = now().ns;
  current.store(&p, Order::release);
  const LockGuard guard{publishing};
  publish();
}

void publish_to(ClockPage& page) {
  const LockGuard guard{publishing};
  published = &page;
  publish();
}

const ClockSource& source() {
  const Parameters* p = current.load(Order::acquire);
  KERNEL_ASSERT(p->source != nullptr);
  return *p->source;
}

Duration longest_quiet() {
  const Parameters* p = current.load(Order::acquire);
  if (p->bits >= 64) return {never.ns};
  return {p->scale.to_ns(u64{1} << (p->bits - 2))};
}

}  // namespace corral::clock
