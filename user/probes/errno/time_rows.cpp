// Clocks, sleeping, timers.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>

namespace errnotest {

namespace {

const timespec no_time = {0, 0};
const timespec bad_time = {0, 1'000'000'000};
const timespec negative_time = {-1, 0};
const itimerspec no_timer = {};
const itimerspec bad_timer = {{0, 0}, {0, 1'000'000'000}};
const itimerspec bad_interval = {{0, -1}, {1, 0}};
const itimerval no_interval = {};
const itimerval bad_value = {{0, 0}, {0, 1'000'000}};

Argument clock_number() {
  return choice(1, 0, 2, 3, 4, 5, 6, 7, 10, 11, 12, 15, 16, -1, INT_MAX);
}

}  // namespace

void add_time_rows(Table& table) {
  table.add(SYS_clock_gettime, "clock_gettime", clock_number(), out());
  table.add(SYS_clock_getres, "clock_getres", clock_number(), out_or_null());
  for (const timespec* time : {&no_time, &bad_time, &negative_time}) {
    table.add(SYS_clock_settime, "clock_settime", choice(1, 2, 3, 4, 5, 6, 7, 11, 12, 16, -1), in(time)).harmless = false;
    table.add(SYS_nanosleep, "nanosleep", in(time), out_or_null());
    table.add(SYS_clock_nanosleep, "clock_nanosleep", clock_number(), bits(0), in(time), out_or_null());
  }
  table.add(SYS_gettimeofday, "gettimeofday", out_or_null(), out_or_null());
  table.add(SYS_time, "time", out_or_null());
  table.add(SYS_times, "times", out_or_null());
  table.add(SYS_alarm, "alarm", choice(100, 20));
  table.add(SYS_getitimer, "getitimer", choice(0, 1, 2, 3, -1), out());
  for (const itimerval* value : {&no_interval, &bad_value}) {
    table.add(SYS_setitimer, "setitimer", choice(1, 2, 3, -1), in(value), out_or_null());
  }
  table.add(SYS_timerfd_create, "timerfd_create", clock_number(), bits(0));
  for (const itimerspec* value : {&no_timer, &bad_timer, &bad_interval}) {
    table.add(SYS_timerfd_settime, "timerfd_settime", fd(fd_timer), bits(0), in(value), out_or_null());
  }
  table.add(SYS_timerfd_gettime, "timerfd_gettime", fd(fd_timer), out());
}

}  // namespace errnotest
