// /sys/class/rtc: the battery-backed clock. See proc.h. Source: Linux Documentation/ABI/testing/sysfs-class-rtc.
#include "device/real_time_clock.h"
#include "fs/proc/proc.h"
#include "fs/step_memory.h"
#include "fs/transfer.h"

namespace corral::fs::proc {

namespace {

Result<CalendarTime> present() {
  Result<CalendarTime> time = real_time_clock::read();
  if (!time.ok() && time.error() == Errno::eagain) return pause_step(stepping_thread());
  return time;
}

Result<void> date(TextBuffer& to, const Subject&) {
  const CalendarTime time = TRY(present());
  to.print("{04}-{02}-{02}\n", time.year, time.month, time.day);
  return {};
}

Result<void> time_of_day(TextBuffer& to, const Subject&) {
  const CalendarTime time = TRY(present());
  to.print("{02}:{02}:{02}\n", time.hour, time.minute, time.second);
  return {};
}

Result<void> since_1970(TextBuffer& to, const Subject&) {
  i64 seconds = 0;
  (void)calendar_to_unix(TRY(present()), seconds);
  to.print("{}\n", seconds);
  return {};
}

// The system's time comes from it.
Result<void> sets_the_time(TextBuffer& to, const Subject&) {
  to.append("1\n");
  return {};
}

Result<void> name(TextBuffer& to, const Subject&) {
  to.append("rtc_cmos\n");
  return {};
}

constexpr Node clock_nodes[] = {{.name = "date", .text = date},
                                {.name = "hctosys", .text = sets_the_time},
                                {.name = "name", .text = name},
                                {.name = "since_epoch", .text = since_1970},
                                {.name = "time", .text = time_of_day}};
constexpr GeneratedDirectory clock{.nodes = clock_nodes};
constexpr Node clocks_nodes[] = {{.name = "rtc0", .type = FileType::directory, .permissions = 0555, .directory = &clock}};

}  // namespace

const constinit GeneratedDirectory clocks_directory{.nodes = clocks_nodes};

}  // namespace corral::fs::proc
