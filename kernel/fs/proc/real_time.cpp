// /proc/sys/kernel/sched_rt_*: the bounds of the real-time class. Source: Linux Documentation/scheduler/sched-rt-group, sched(7).
#include "fs/proc/proc.h"
#include "sched/real_time/budget.h"
#include "sched/scheduling_entity.h"

namespace corral::fs::proc {

namespace {

constexpr i64 longest_us = 0x7fff'ffff;

Result<i64> microseconds_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  if (text.empty()) return Errno::einval;
  i64 value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return Errno::einval;
    value = value * 10 + (digit - '0');
    if (value > longest_us) return Errno::einval;
  }
  return negative ? -value : value;
}

}  // namespace

Result<void> real_time_runtime(TextBuffer& to, const Subject&) {
  const i64 ns = sched::real_time_limits().runtime_ns.load(Order::relaxed);
  to.print("{}\n", ns < 0 ? -1 : ns / 1000);
  return {};
}

// -1: no limit.
Result<void> set_real_time_runtime(std::string_view text, const Subject&) {
  const i64 us = TRY(microseconds_of(text));
  if (us < -1 || us * 1000 > sched::real_time_limits().period_ns.load(Order::relaxed)) return Errno::einval;
  sched::real_time_limits().runtime_ns.store(us * 1000, Order::relaxed);
  return {};
}

Result<void> real_time_period(TextBuffer& to, const Subject&) {
  to.print("{}\n", sched::real_time_limits().period_ns.load(Order::relaxed) / 1000);
  return {};
}

Result<void> set_real_time_period(std::string_view text, const Subject&) {
  const i64 us = TRY(microseconds_of(text));
  if (us <= 0 || us * 1000 < sched::real_time_limits().runtime_ns.load(Order::relaxed)) return Errno::einval;
  sched::real_time_limits().period_ns.store(us * 1000, Order::relaxed);
  return {};
}

Result<void> real_time_quantum(TextBuffer& to, const Subject&) {
  to.print("{}\n", sched::real_time_quantum.ns / 1'000'000);
  return {};
}

}  // namespace corral::fs::proc
