// The vDSO: a shared library that the kernel maps into every process (AT_SYSINFO_EHDR), so that reading the clock costs
// no system call. It has no data and no relocations; the clock's page lies right in front of it (vdso.ld).
// Where the time-stamp counter is not the machine's clock, and for clocks that only the kernel knows, it calls the kernel.
// Source: Linux vdso(7): names, version LINUX_2.6, arguments and results.
#include "device/clock_page.h"

extern "C" {

// The linker script puts it in front of the image.
[[gnu::visibility("hidden")]] extern const corral::ClockPage corral_clock_page;

struct TimeSpec {
  long seconds, nanoseconds;
};
struct TimeValue {
  long seconds, microseconds;
};
struct TimeZone {
  int minutes_west, daylight_saving;
};
}

namespace {

using corral::i64;
using corral::u32;
using corral::u64;

enum Clock : int {
  realtime = 0,
  monotonic = 1,
  monotonic_raw = 4,
  realtime_coarse = 5,
  monotonic_coarse = 6,
  boot = 7,
  tai = 11
};
enum SystemCall : long {
  call_gettimeofday = 96,
  call_time = 201,
  call_clock_gettime = 228,
  call_clock_getres = 229,
  call_getcpu = 309
};
constexpr i64 billion = 1'000'000'000;

long ask_kernel(long number, long first, long second) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(0) : "rcx", "r11", "memory");
  return result;
}
template <class T>
long number_of(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// As the kernel reads it: not before what the program did before (Intel SDM vol. 2, RDTSC).
u64 counter() {
  u32 low;
  u32 high;
  asm volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
  return u64{high} << 32 | low;
}

// False: ask the kernel.
bool read_clock(bool wall, i64& ns) {
  corral::ClockFacts facts;
  while (!corral_clock_page.read(facts)) asm volatile("pause");
  if (facts.by_counter == 0) return false;
  const i64 elapsed = static_cast<i64>(counter() - facts.start_ticks);
  ns = facts.start_ns + (elapsed > 0 ? facts.scale.to_ns(static_cast<u64>(elapsed)) : 0);
  if (wall) ns += facts.wall_time_at_boot;
  return true;
}

bool is_wall(int clock) {
  return clock == realtime || clock == realtime_coarse || clock == tai;
}
bool is_here(int clock) {
  return is_wall(clock) || clock == monotonic || clock == monotonic_raw || clock == monotonic_coarse || clock == boot;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] long __vdso_clock_gettime(int clock, TimeSpec* time) {
  i64 ns;
  if (!is_here(clock) || !read_clock(is_wall(clock), ns)) return ask_kernel(call_clock_gettime, clock, number_of(time));
  *time = {ns / billion, ns % billion};
  return 0;
}

[[gnu::visibility("default")]] long __vdso_clock_getres(int clock, TimeSpec* resolution) {
  if (!is_here(clock)) return ask_kernel(call_clock_getres, clock, number_of(resolution));
  if (resolution != nullptr) *resolution = {0, 1};
  return 0;
}

[[gnu::visibility("default")]] long __vdso_gettimeofday(TimeValue* time, TimeZone* zone) {
  i64 ns;
  if (!read_clock(true, ns)) return ask_kernel(call_gettimeofday, number_of(time), number_of(zone));
  if (time != nullptr) *time = {ns / billion, ns % billion / 1000};
  if (zone != nullptr) *zone = {0, 0};
  return 0;
}

[[gnu::visibility("default")]] long __vdso_time(long* seconds) {
  i64 ns;
  if (!read_clock(true, ns)) return ask_kernel(call_time, number_of(seconds), 0);
  if (seconds != nullptr) *seconds = ns / billion;
  return ns / billion;
}

// The third argument, a cache, has been ignored since Linux 2.6.24.
[[gnu::visibility("default")]] long __vdso_getcpu(unsigned* core, unsigned* node, void*) {
  if (!corral_clock_page.core_by_instruction()) return ask_kernel(call_getcpu, number_of(core), number_of(node));
  u32 low;
  u32 high;
  u32 number;
  asm volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(number));
  if (core != nullptr) *core = number;
  if (node != nullptr) *node = 0;
  return 0;
}

// The same without the prefix, as Linux offers them.
[[gnu::weak, gnu::visibility("default"), gnu::alias("__vdso_clock_gettime")]] long clock_gettime(int, TimeSpec*);
[[gnu::weak, gnu::visibility("default"), gnu::alias("__vdso_clock_getres")]] long clock_getres(int, TimeSpec*);
[[gnu::weak, gnu::visibility("default"), gnu::alias("__vdso_gettimeofday")]] long gettimeofday(TimeValue*, TimeZone*);
[[gnu::weak, gnu::visibility("default"), gnu::alias("__vdso_time")]] long time(long*);
[[gnu::weak, gnu::visibility("default"), gnu::alias("__vdso_getcpu")]] long getcpu(unsigned*, unsigned*, void*);
}
