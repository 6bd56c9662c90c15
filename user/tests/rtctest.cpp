// /dev/rtc0, the battery-backed clock: reading, setting, errors, many readers at once.

#include "tests/check.h"
#include "tests/children.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

namespace {

constexpr int read_time = static_cast<int>(0x80247009), set_time = 0x4024700a;

int clock_file;

time_t now() {
  struct tm time = {};
  CHECK_EQ(ioctl(clock_file, read_time, &time), 0);
  return timegm(&time);
}

int set(int year, int month, int day, int hour, int minute, int second) {
  struct tm time = {};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = hour;
  time.tm_min = minute;
  time.tm_sec = second;
  return ioctl(clock_file, set_time, &time);
}

void check_errors() {
  char byte;
  CHECK_ERRNO(ioctl(clock_file, read_time, nullptr), EFAULT);
  CHECK_ERRNO(ioctl(clock_file, set_time, nullptr), EFAULT);
  CHECK_ERRNO(ioctl(clock_file, 0x5401, &byte), ENOTTY);
  CHECK_ERRNO(set(2023, 2, 29, 0, 0, 0), EINVAL);
  CHECK_ERRNO(set(2023, 13, 1, 0, 0, 0), EINVAL);
  CHECK_ERRNO(set(2023, 0, 1, 0, 0, 0), EINVAL);
  CHECK_ERRNO(set(2023, 1, 0, 0, 0, 0), EINVAL);
  CHECK_ERRNO(set(2023, 1, 1, 24, 0, 0), EINVAL);
  CHECK_ERRNO(set(2023, 1, 1, 0, -1, 0), EINVAL);
  CHECK_ERRNO(set(2023, 1, 1, 0, 0, 60), EINVAL);
  CHECK_ERRNO(set(1969, 12, 31, 23, 59, 59), EINVAL);
  CHECK_ERRNO(set(-1, 1, 1, 0, 0, 0), EINVAL);
  const pid_t other = children::spawn([] {
    CHECK_EQ(setuid(1000), 0);
    CHECK_ERRNO(open("/dev/rtc0", O_RDONLY), EACCES);
    CHECK_ERRNO(set(2023, 1, 1, 0, 0, 0), EACCES);
    CHECK(now() != 0);
    return 0;
  });
  children::expect_exit(other, 0);
}

void check_setting() {
  struct Case {
    int year, month, day, hour, minute, second;
    time_t expected;
    int day_of_week, day_of_year;
  };
  constexpr Case cases[] = {
      {2024, 2, 28, 23, 59, 57, 1709164797, 3, 58},  // counts on into a leap day
      {1999, 12, 31, 11, 59, 58, 946641598, 5, 364},
      {2000, 1, 1, 0, 0, 0, 946684800, 6, 0},
      {2069, 12, 31, 12, 0, 0, 3155716800, 2, 364},
  };
  for (const Case& wanted : cases) {
    CHECK_EQ(set(wanted.year, wanted.month, wanted.day, wanted.hour, wanted.minute, wanted.second), 0);
    struct tm told = {};
    CHECK_EQ(ioctl(clock_file, read_time, &told), 0);
    CHECK_EQ(told.tm_year, wanted.year - 1900);
    CHECK_EQ(told.tm_mon, wanted.month - 1);
    CHECK_EQ(told.tm_mday, wanted.day);
    CHECK_EQ(told.tm_wday, wanted.day_of_week);
    CHECK_EQ(told.tm_yday, wanted.day_of_year);
    const time_t at = timegm(&told);
    CHECK(at >= wanted.expected && at <= wanted.expected + 2);
  }
  // It counts on, and every reader sees a date that is one, never earlier than the one before.
  CHECK_EQ(set(2024, 2, 28, 23, 59, 59), 0);
  pid_t readers[4];
  for (pid_t& reader : readers) {
    reader = children::spawn([] {
      const time_t leap_day = 1709164800;
      time_t before = leap_day - 1;
      while (before < leap_day + 1) {
        const time_t at = now();
        CHECK(at >= before && at < leap_day + 60);
        before = at;
      }
      return 0;
    });
  }
  for (pid_t reader : readers) children::expect_exit(reader, 0);
  char text[32] = {};
  FILE* file = fopen("/sys/class/rtc/rtc0/date", "r");
  CHECK(file != nullptr);
  CHECK(fgets(text, sizeof text, file) != nullptr);
  CHECK_EQ(strcmp(text, "2024-02-29\n"), 0);
  CHECK_EQ(fclose(file), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("rtctest", argc, argv);
  clock_file = open("/dev/rtc0", O_RDONLY);
  CHECK(clock_file >= 0);
  check_errors();
  const time_t before = now();
  check_setting();
  const time_t system = time(nullptr);
  CHECK(system >= before - 60 && system <= before + 600);  // the system's time is another
  struct tm back = {};
  gmtime_r(&system, &back);
  CHECK_EQ(ioctl(clock_file, set_time, &back), 0);
  return check_done();
}
