// adjtimex, clock_adjtime: how wrong the wall clock may be, as whoever keeps it right says, and setting it by an offset. It runs as fast as the
// hardware's: what would adjust its rate, or add a leap second, is EPERM. Source: Linux adjtimex(2); the order of the checks is Linux's.
#include "abi/linux/clock_setting.h"
#include "abi/linux/time_values.h"
#include "device/clock.h"
#include "sync/spin_lock.h"

namespace corral::abi {

namespace {

constexpr i64 billion = 1'000'000'000;
constexpr i64 unknown_error_us = 16'000'000, growth_us = 500;  // of the greatest error, each second
constexpr i64 usual_tick_us = 10'000;

// struct timex.
struct ClockState {
  u32 modes, pad0;
  i64 offset, frequency, most_error, estimated_error;
  i32 status, pad1;
  i64 time_constant, precision, tolerance;
  TimeValue time;
  i64 tick, pulse[2];
  i32 shift, pad2;
  i64 counts[5];
  i32 tai, unused[11];
};
static_assert(sizeof(ClockState) == 208);

enum Mode : u32 {
  set_offset = 1,
  set_frequency = 2,
  set_most_error = 4,
  set_estimated_error = 8,
  set_status = 0x10,
  set_time_constant = 0x20,
  set_tai = 0x80,
  step_time = 0x100,
  in_microseconds = 0x1000,
  in_nanoseconds = 0x2000,
  set_tick = 0x4000,
  old_adjtime = 0x8000,
  only_read = 0x2000,  // with old_adjtime
};

enum Status : i32 {
  follows_phase = 1,
  inserts_second = 0x10,
  deletes_second = 0x20,
  not_synchronised = 0x40,
  clock_failed = 0x1000,
  counts_nanoseconds = 0x2000,
  kernels_own = 0xff00,
};

struct Adjustment {
  i32 status = not_synchronised;
  i64 most_error_us = unknown_error_us, estimated_error_us = unknown_error_us;
  i64 set_ns = 0;  // when most_error_us was right, in time since boot
  i64 time_constant = 2;
};

constinit SpinLock lock{Rank::clock_page, "clock adjustment"};
constinit Adjustment now_set GUARDED_BY(lock);

i64 clamp(i64 value, i64 lowest, i64 highest) {
  return value < lowest ? lowest : value > highest ? highest : value;
}

// The greatest error by now; a clock that nobody has looked after for long is not right any more.
void grow_error(i64 now_ns) REQUIRES(lock) {
  const i64 seconds = (now_ns - now_set.set_ns) / billion;
  now_set.set_ns += seconds * billion;
  now_set.most_error_us += clamp(seconds, 0, unknown_error_us) * growth_us;
  if (now_set.most_error_us <= unknown_error_us) return;
  now_set.most_error_us = unknown_error_us;
  now_set.status |= not_synchronised;
}

// eperm: may not, or cannot; einval: out of range.
Result<void> check(const Call& call, const ClockState& wanted) {
  const u32 modes = wanted.modes;
  const bool may = call.thread.may(Capability::sys_time);
  if ((modes & old_adjtime) != 0) {
    if ((modes & set_offset) == 0) return Errno::einval;
    if ((modes & only_read) != 0) return {};
    return may && wanted.offset == 0 ? Result<void>{} : Errno::eperm;
  }
  if (modes != 0 && !may) return Errno::eperm;
  if ((modes & set_tick) != 0 && (wanted.tick < usual_tick_us * 9 / 10 || wanted.tick > usual_tick_us * 11 / 10)) {
    return Errno::einval;
  }
  if ((modes & step_time) != 0) {
    const i64 part = wanted.time.microseconds;
    if (part < 0 || part >= ((modes & in_nanoseconds) != 0 ? billion : billion / 1000)) return Errno::einval;
    if (wanted.time.seconds < -latest_wall_seconds || wanted.time.seconds > latest_wall_seconds) return Errno::einval;
  }
  constexpr i64 most_frequency = INT64_MAX / 65'536'000;
  if ((modes & set_frequency) != 0 && (wanted.frequency < -most_frequency || wanted.frequency > most_frequency)) {
    return Errno::einval;
  }
  return {};
}

// eperm: the clock would have to run faster or slower, or to jump later.
Result<void> check_rate(const ClockState& wanted, i32 status) {
  const u32 modes = wanted.modes;
  if ((modes & old_adjtime) != 0) return {};
  if ((modes & set_status) != 0) status = wanted.status;
  const bool faster = ((modes & set_frequency) != 0 && wanted.frequency != 0) ||
                      ((modes & set_tick) != 0 && wanted.tick != usual_tick_us) ||
                      ((modes & set_offset) != 0 && wanted.offset != 0 && (status & follows_phase) != 0);
  const bool jumps = (status & (inserts_second | deletes_second)) != 0 || ((modes & set_tai) != 0 && wanted.time_constant > 0);
  return faster || jumps ? Errno::eperm : Result<void>{};
}

Result<void> step_by(const Call& call, const ClockState& wanted) {
  const i64 unit = (wanted.modes & in_nanoseconds) != 0 ? 1 : 1000;
  const i64 now = clock::wall_time_ns();
  const i64 fraction = now % billion + wanted.time.microseconds * unit;
  (void)TRY(set_wall_time(call, now / billion + wanted.time.seconds + fraction / billion, fraction % billion));
  return {};
}

void change(const ClockState& wanted) REQUIRES(lock) {
  const u32 modes = wanted.modes;
  if ((modes & old_adjtime) != 0) return;
  if ((modes & set_status) != 0) now_set.status = (now_set.status & kernels_own) | (wanted.status & ~kernels_own);
  if ((modes & in_nanoseconds) != 0) now_set.status |= counts_nanoseconds;
  if ((modes & in_microseconds) != 0) now_set.status &= ~counts_nanoseconds;
  if ((modes & set_most_error) != 0) now_set.most_error_us = clamp(wanted.most_error, 0, unknown_error_us);
  if ((modes & set_estimated_error) != 0) now_set.estimated_error_us = clamp(wanted.estimated_error, 0, unknown_error_us);
  if ((modes & set_time_constant) != 0) {
    constexpr i64 longest = 10;
    const i64 in_ticks = (now_set.status & counts_nanoseconds) != 0 ? 0 : 4;
    now_set.time_constant = clamp(clamp(wanted.time_constant, 0, longest) + in_ticks, 0, longest);
  }
}

Result<i64> adjust(Call& call, VirtualAddress at) {
  constexpr i32 time_error = 5;
  ClockState state = TRY(call.read<ClockState>(at));
  TRY(check(call, state));
  TRY(vm::prepare(call.space, call.thread.caller, at, sizeof state, vm::Access::write));  // before anything changes
  const i64 since_boot = clock::now().ns;
  {
    LockGuard guard{lock};
    TRY(check_rate(state, now_set.status));
  }
  const bool steps = (state.modes & (step_time | old_adjtime)) == step_time;
  if (steps) TRY(step_by(call, state));
  Adjustment now;
  {
    LockGuard guard{lock};
    grow_error(since_boot);
    change(state);
    now = now_set;
  }
  const i64 wall = clock::wall_time_ns();
  const u32 modes = state.modes;
  state = ClockState{};
  state.modes = modes;
  state.most_error = now.most_error_us;
  state.estimated_error = now.estimated_error_us;
  state.status = now.status;
  state.time_constant = now.time_constant;
  state.precision = 1;
  state.tolerance = 32'768'000;
  state.time = {wall / billion, wall % billion / ((now.status & counts_nanoseconds) != 0 ? 1 : 1000)};
  state.tick = usual_tick_us;
  TRY(call.write(at, state));
  return (now.status & (not_synchronised | clock_failed)) != 0 ? time_error : 0;
}

Result<i64> sys_adjtimex(Call& call) {
  return adjust(call, call.address(0));
}

Result<i64> sys_clock_adjtime(Call& call) {
  constexpr i32 clock_realtime = 0, clock_tai = 11;
  const i32 clock_id = call.number(0);
  if (clock_id == clock_realtime) return adjust(call, call.address(1));
  return clock_id > 0 && clock_id <= clock_tai && clock_id != clock_tai - 1 ? Errno::eopnotsupp : Errno::einval;
}

constexpr Entry entries[] = {{159, "adjtimex", sys_adjtimex}, {305, "clock_adjtime", sys_clock_adjtime}};

}  // namespace

void forget_clock_errors() {
  LockGuard guard{lock};
  now_set.status |= not_synchronised;
  now_set.most_error_us = now_set.estimated_error_us = unknown_error_us;
}

std::span<const Entry> clock_adjustment_calls() {
  return entries;
}

}  // namespace corral::abi
