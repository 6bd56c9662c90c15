// See invariants.h.
#include "trace/invariants.h"

#include "lib/atomic.h"
#include "lib/format.h"
#include "trace/log.h"
#include "trace/panic.h"

namespace corral::invariants {

namespace {

constexpr u32 kinds = static_cast<u32>(Invariant::end_of_invariants);

struct Record {
  Violation violation{};
  Instant when{};
  Atomic<bool> complete{false};
};

constinit Record records[kept];
constinit Atomic<u64> total{0};
constinit Atomic<u64> of_kind[kinds] = {};
constinit bool panics = false;

}  // namespace

std::string_view name_of(Invariant invariant) {
  constexpr std::string_view names[] = {
      "one place",      "one queue",           "affinity",           "numbers",          "time",        "timer",
      "idle with work", "idle beside waiting", "starvation",         "real-time budget", "reservation", "lost wake-up",
      "lost message",   "lost arrival",        "unannounced message"};
  static_assert(std::size(names) == kinds);
  return names[static_cast<u8>(invariant)];
}

std::string_view name_of(During during) {
  constexpr std::string_view names[] = {"enqueue", "pick", "review", "leave", "hand over", "arming", "tick", "sleep", "round"};
  return names[static_cast<u8>(during)];
}

void report(const Violation& violation) {
  const bool first = of_kind[static_cast<u8>(violation.invariant)].fetch_add(1, Order::relaxed) == 0;
  const u64 number = total.fetch_add(1, Order::relaxed);
  if (number < kept) {
    Record& record = records[number];
    record.violation = violation;
    record.when = log::now();
    record.complete.store(true, Order::release);
  }
  if (first) {
    log::error("sched: invariant violated: {}, core {} thread {} at {}, decision {} (/proc/sched-dump)",
               name_of(violation.invariant), violation.core, violation.thread, name_of(violation.during), violation.decision);
  }
  if (panics) panic("an invariant of scheduling is violated");
}

void panic_at_the_first() {
  panics = true;
}

u64 count() {
  return total.load(Order::relaxed);
}

size_t describe(char* to, size_t size) {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  line("violations {}\n", count());
  for (u32 kind = 0; kind < kinds; ++kind) {
    if (const u64 n = of_kind[kind].load(Order::relaxed); n != 0) line("  {}: {}\n", name_of(static_cast<Invariant>(kind)), n);
  }
  for (const Record& record : records) {
    if (!record.complete.load(Order::acquire)) continue;
    const Violation& violation = record.violation;
    line("violation at {} core {} thread {} during {} decision {}: {}\n", record.when.ns, violation.core, violation.thread,
         name_of(violation.during), violation.decision, name_of(violation.invariant));
  }
  return used;
}

}  // namespace corral::invariants
