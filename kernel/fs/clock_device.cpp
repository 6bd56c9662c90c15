// /dev/rtc0 and /dev/rtc: the battery-backed clock, read and set. It wakes nobody: no alarms, no interrupts, and so no read().
// Source: Linux man-pages rtc(4).
#include "device/real_time_clock.h"
#include "fs/device_files.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

enum : u32 { read_time = 0x80247009, set_time = 0x4024700a };

struct BrokenDownTime {  // struct rtc_time
  i32 second, minute, hour, day, month, year;  // month from 0, year from 1900
  i32 day_of_week, day_of_year, summer_time;
};
static_assert(sizeof(BrokenDownTime) == 36);

BrokenDownTime broken_down(const CalendarTime& time) {
  i64 seconds = 0;
  (void)calendar_to_unix(time, seconds);
  const u32 day_of_year = days_before_month(time.year, time.month) + time.day - 1;
  constexpr i64 first_day = 4;  // 1970 began on a Thursday
  return {.second = static_cast<i32>(time.second),
          .minute = static_cast<i32>(time.minute),
          .hour = static_cast<i32>(time.hour),
          .day = static_cast<i32>(time.day),
          .month = static_cast<i32>(time.month) - 1,
          .year = static_cast<i32>(time.year) - 1900,
          .day_of_week = static_cast<i32>((seconds / seconds_of_day + first_day) % 7),
          .day_of_year = static_cast<i32>(day_of_year),
          .summer_time = 0};
}

CalendarTime calendar(const BrokenDownTime& time) {  // negative numbers come out as ones that no date has
  return {.year = static_cast<u32>(time.year) + 1900,
          .month = static_cast<u32>(time.month) + 1,
          .day = static_cast<u32>(time.day),
          .hour = static_cast<u32>(time.hour),
          .minute = static_cast<u32>(time.minute),
          .second = static_cast<u32>(time.second)};
}

class ClockFile final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  // einval: no date; eacces: for the privileged only; eio: it holds none.
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) override {
    switch (request) {
      case read_time: {
        const Result<CalendarTime> time = real_time_clock::read();
        if (!time.ok()) return time.error() == Errno::eagain ? pause_step(thread) : time.error();
        TRY(vm::write_user(space, thread.caller, {argument}, broken_down(time.value())));
        return 0;
      }
      case set_time: {
        if (!thread.may(Capability::sys_time)) return Errno::eacces;
        const auto time = TRY(vm::read_user<BrokenDownTime>(space, thread.caller, {argument}));
        TRY(real_time_clock::set(calendar(time)));
        return 0;
      }
      default: return Errno::enotty;
    }
  }
};

}  // namespace

Result<Ref<OpenFile>> open_clock(Inode& node, const OpenRequest& request) {
  if (const Result<CalendarTime> time = real_time_clock::read(); !time.ok() && time.error() == Errno::enodev)
    return Errno::enodev;
  return Ref<OpenFile>{Ref<ClockFile>::adopt(TRY(memory::make<ClockFile>(Ref<Inode>::share(node), request.flags)))};
}

}  // namespace corral::fs
