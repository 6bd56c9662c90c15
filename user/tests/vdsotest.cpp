// The vDSO: found as every C library finds it, its functions answer what the system calls answer, time never goes back
// between the two nor from core to core, and what lies beside it cannot be written.

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <stdint.h>
#include <string.h>

#include "check.h"

namespace {

constexpr int fine_clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI};
constexpr int coarse_clocks[] = {CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE};

struct Functions {
  long (*clock_gettime)(int clock, timespec* time);
  long (*clock_getres)(int clock, timespec* resolution);
  long (*gettimeofday)(timeval* time, struct timezone* zone);
  long (*time)(long* seconds);
  long (*getcpu)(unsigned* core, unsigned* node, void* unused);
} vdso;

const char* image() {
  return reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
}

const Elf64_Phdr* segment(uint32_t type) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image());
  const auto* programs = reinterpret_cast<const Elf64_Phdr*>(image() + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (programs[i].p_type == type) return &programs[i];
  }
  return nullptr;
}

// Where the image is, compared with where it was linked for.
uint64_t displacement() {
  const Elf64_Phdr* load = segment(PT_LOAD);
  CHECK(load != nullptr);
  return reinterpret_cast<uint64_t>(image()) + load->p_offset - load->p_vaddr;
}

const char* dynamic(int64_t tag) {
  const Elf64_Phdr* part = segment(PT_DYNAMIC);
  CHECK(part != nullptr);
  for (const auto* entry = reinterpret_cast<const Elf64_Dyn*>(displacement() + part->p_vaddr); entry->d_tag != DT_NULL;
       ++entry) {
    if (entry->d_tag == tag) return reinterpret_cast<const char*>(displacement() + entry->d_un.d_ptr);
  }
  return nullptr;
}

void* function(const char* name) {
  const auto* symbols = reinterpret_cast<const Elf64_Sym*>(dynamic(DT_SYMTAB));
  const char* names = dynamic(DT_STRTAB);
  CHECK(symbols != nullptr && names != nullptr);
  // The symbols end where the next table begins, in this library as in Linux's: the names, or a table of hashes behind them.
  for (const Elf64_Sym* symbol = symbols + 1; reinterpret_cast<const char*>(symbol) < names; ++symbol) {
    if (strcmp(names + symbol->st_name, name) == 0) return reinterpret_cast<void*>(displacement() + symbol->st_value);
  }
  return nullptr;
}

template <class F>
void find(F& to, const char* name) {
  to = reinterpret_cast<F>(function(name));
  CHECK(to != nullptr);
}

void test_it_is_found() {
  CHECK(image() != nullptr);
  CHECK_EQ(memcmp(image(), ELFMAG, SELFMAG), 0);
  find(vdso.clock_gettime, "__vdso_clock_gettime");
  find(vdso.clock_getres, "__vdso_clock_getres");
  find(vdso.gettimeofday, "__vdso_gettimeofday");
  find(vdso.time, "__vdso_time");
  find(vdso.getcpu, "__vdso_getcpu");
  CHECK(function("clock_gettime") != nullptr);
  CHECK(function("no_such_function") == nullptr);
}

int64_t ns_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}
int64_t by_vdso(int clock) {
  timespec time{};
  CHECK_EQ(vdso.clock_gettime(clock, &time), 0);
  CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000);
  return ns_of(time);
}
int64_t by_call(int clock) {
  timespec time{};
  CHECK_EQ(syscall(SYS_clock_gettime, clock, &time), 0);
  return ns_of(time);
}

void test_clocks_agree_with_the_kernel() {
  for (const int clock : fine_clocks) {
    for (int round = 0; round < 200; ++round) {
      const int64_t before = by_call(clock);
      const int64_t between = by_vdso(clock);
      const int64_t after = by_call(clock);
      CHECK(before <= between);
      CHECK(between <= after);
    }
  }
  // The coarse ones may be as old as a tick.
  constexpr int64_t tick = 20'000'000;
  for (const int clock : coarse_clocks) {
    const int fine = clock == CLOCK_REALTIME_COARSE ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    const int64_t earliest = by_call(fine) - tick;
    const int64_t coarse = by_vdso(clock);
    CHECK(coarse >= earliest);
    CHECK(coarse <= by_call(fine));
  }
}

void test_clocks_that_only_the_kernel_knows() {
  const int64_t process = by_vdso(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t thread = by_vdso(CLOCK_THREAD_CPUTIME_ID);
  CHECK(process > 0 && thread > 0);
  CHECK(by_call(CLOCK_PROCESS_CPUTIME_ID) >= process);
  timespec time{};
  CHECK_EQ(vdso.clock_gettime(99, &time), -EINVAL);
  CHECK_EQ(vdso.clock_getres(99, &time), -EINVAL);
}

void test_resolutions() {
  for (const int clock : fine_clocks) {
    timespec here{};
    timespec there{};
    CHECK_EQ(vdso.clock_getres(clock, &here), 0);
    CHECK_EQ(syscall(SYS_clock_getres, clock, &there), 0);
    CHECK_EQ(ns_of(here), ns_of(there));
    CHECK_EQ(vdso.clock_getres(clock, nullptr), 0);
  }
}

void test_the_time_of_day() {
  timeval now{};
  struct timezone zone{77, 77};
  const int64_t before = by_call(CLOCK_REALTIME) / 1000;
  CHECK_EQ(vdso.gettimeofday(&now, &zone), 0);
  const int64_t after = by_call(CLOCK_REALTIME) / 1000;
  const int64_t us = now.tv_sec * 1'000'000 + now.tv_usec;
  CHECK(before <= us && us <= after);
  CHECK(now.tv_usec >= 0 && now.tv_usec < 1'000'000);
  CHECK_EQ(zone.tz_minuteswest, 0);
  CHECK_EQ(zone.tz_dsttime, 0);
  CHECK_EQ(vdso.gettimeofday(nullptr, nullptr), 0);

  long seconds = 0;
  const long answer = vdso.time(&seconds);
  CHECK_EQ(answer, seconds);
  CHECK_EQ(vdso.time(nullptr) - answer <= 1, 1);
  CHECK(answer >= after / 1'000'000 - 1 && answer <= after / 1'000'000 + 1);
}

void stay_on(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  CHECK_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

void test_the_core_is_known() {
  cpu_set_t all;
  CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    stay_on(core);
    unsigned here = ~0u;
    unsigned node = ~0u;
    CHECK_EQ(vdso.getcpu(&here, &node, nullptr), 0);
    CHECK_EQ(here, core);
    CHECK_EQ(node, 0);
    CHECK_EQ(vdso.getcpu(nullptr, nullptr, nullptr), 0);
  }
  CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

// Two threads on two cores hand the time to each other, each read by a function and by the call in turn.
struct Handover {
  int64_t time = 0;
  int turn = 0;
} handover;

void* relay(void* argument) {
  const int own = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  for (int round = 0; round < 400; ++round) {
    for (long spins = 0; __atomic_load_n(&handover.turn, __ATOMIC_ACQUIRE) != own; ++spins) {
      if (spins > 1000) sched_yield();
    }
    const int64_t now = round % 2 == 0 ? by_vdso(CLOCK_MONOTONIC) : by_call(CLOCK_MONOTONIC);
    CHECK(now >= handover.time);
    handover.time = now;
    __atomic_store_n(&handover.turn, 1 - own, __ATOMIC_RELEASE);
  }
  return nullptr;
}

void test_time_never_goes_back_between_cores() {
  pthread_t threads[2];
  for (intptr_t i = 0; i < 2; ++i) CHECK_EQ(pthread_create(&threads[i], nullptr, relay, reinterpret_cast<void*>(i)), 0);
  for (const pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
}

void test_a_child_has_it_too() {
  const pid_t child = fork();
  if (child == 0) {
    const int64_t before = by_call(CLOCK_MONOTONIC);
    _exit(by_vdso(CLOCK_MONOTONIC) >= before ? 0 : 1);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

// The page in front of the library belongs to all processes.
void test_the_kernel_s_page_cannot_be_written() {
  auto* page = const_cast<char*>(image()) - 4096;
  CHECK_ERRNO(mprotect(page, 4096, PROT_READ | PROT_WRITE), EACCES);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("vdsotest", argc, argv);
  test_it_is_found();
  test_clocks_agree_with_the_kernel();
  test_clocks_that_only_the_kernel_knows();
  test_resolutions();
  test_the_time_of_day();
  test_the_core_is_known();
  test_time_never_goes_back_between_cores();
  test_a_child_has_it_too();
  test_the_kernel_s_page_cannot_be_written();
  return check_done();
}
