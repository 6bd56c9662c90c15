// Memory of a process: mmap, munmap, mprotect, madvise and brk, their errors, and the faults that they must cause
// (with the right address and code). Then consistency between cores: after munmap, mprotect or mmap over an old
// mapping has returned, no thread on any core may still use the old translation.

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using Sizes = const size_t[];

constexpr size_t page = 4096;
constexpr int read_write = PROT_READ | PROT_WRITE;

char* map(size_t size, int protection = read_write, int flags = 0, void* where = nullptr) {
  void* result = mmap(where, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  CHECK(result != MAP_FAILED);
  return static_cast<char*>(result);
}

// Faults: the handler notes what the kernel said and jumps back.

thread_local sigjmp_buf recovery;
thread_local volatile int fault_signal;
thread_local volatile int fault_code;
thread_local void* volatile fault_address;

void on_fault(int signal, siginfo_t* info, void*) {
  fault_signal = signal;
  fault_code = info->si_code;
  fault_address = info->si_addr;
  siglongjmp(recovery, 1);
}

// Runs the access; true if it faulted.
template <typename Access>
bool faults(Access access) {
  fault_signal = 0;
  if (sigsetjmp(recovery, 1) == 0) {
    access();
    return false;
  }
  return true;
}

void expect_read_fault(const volatile char* at, int code) {
  CHECK(faults([at] { (void)*at; }));
  CHECK_EQ(fault_signal, SIGSEGV);
  CHECK_EQ(fault_code, code);
  CHECK_EQ(reinterpret_cast<intptr_t>(fault_address), reinterpret_cast<intptr_t>(at));
}

void expect_write_fault(volatile char* at, int code) {
  CHECK(faults([at] { *at = 1; }));
  CHECK_EQ(fault_signal, SIGSEGV);
  CHECK_EQ(fault_code, code);
  CHECK_EQ(reinterpret_cast<intptr_t>(fault_address), reinterpret_cast<intptr_t>(at));
}

void catch_faults() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  CHECK_EQ(sigaction(SIGBUS, &action, nullptr), 0);
}

bool is_zero(const char* bytes, size_t size) {
  for (size_t index = 0; index < size; index += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes + index, 8);
    if (word != 0) { return false; }
  }
  return true;
}

void test_mapping() {
  char* area = map(16 * page);
  CHECK_EQ(reinterpret_cast<uintptr_t>(area) % page, 0);
  CHECK(is_zero(area, 16 * page));
  memset(area, 0x5a, 16 * page);

    // A hole in the middle: the rest stays, and the hole is gone.
  CHECK_EQ(munmap(area + 4 * page, 2 * page), 0);
  CHECK_EQ(area[4 * page - 1], 0x5a);
  CHECK_EQ(area[6 * page], 0x5a);
  expect_read_fault(area + 4 * page, SEGV_MAPERR);
  expect_write_fault(area + 6 * page - 1, SEGV_MAPERR);

    // Unmapping over mappings and holes, and of nothing at all.
  CHECK_EQ(munmap(area + 2 * page, 6 * page), 0);
  CHECK_EQ(munmap(area + 2 * page, 6 * page), 0);
  expect_read_fault(area + 2 * page, SEGV_MAPERR);
  CHECK_EQ(area[8 * page], 0x5a);

    // Over an old mapping: fresh pages.
  CHECK(map(2 * page, read_write, MAP_FIXED, area + 8 * page) == area + 8 * page);
  CHECK(is_zero(area + 8 * page, 2 * page));
  CHECK_EQ(area[10 * page], 0x5a);
  errno = 0;
  CHECK(mmap(area + 8 * page, page, read_write, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
  CHECK_EQ(errno, EEXIST);
  CHECK(map(page, read_write, MAP_FIXED_NOREPLACE, area + 3 * page) == area + 3 * page);

    // A hint is followed when the place is free, and not when it is taken.
  CHECK(map(page, read_write, 0, area + 5 * page) == area + 5 * page);
  CHECK(map(page, read_write, 0, area + 5 * page) != area + 5 * page);
  CHECK_EQ(munmap(area, 16 * page), 0);
  expect_read_fault(area, SEGV_MAPERR);
}

void expect_map_error(void* where, size_t size, int protection, int flags, int error) {
  errno = 0;
  CHECK(mmap(where, size, protection, flags, -1, 0) == MAP_FAILED);
  CHECK_EQ(errno, error);
}

void test_errors() {
  constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
  char* area = map(2 * page);
  expect_map_error(nullptr, 0, read_write, anonymous, EINVAL);
  expect_map_error(nullptr, page, read_write, MAP_ANONYMOUS, EINVAL);  // neither private nor shared
  expect_map_error(nullptr, page, read_write, MAP_PRIVATE, EBADF);
  expect_map_error(area + 1, page, read_write, anonymous | MAP_FIXED, EINVAL);
  CHECK_ERRNO(munmap(area + 1, page), EINVAL);
  CHECK_ERRNO(munmap(area, 0), EINVAL);
  CHECK_ERRNO(syscall(SYS_mprotect, area + 1, page, PROT_READ), EINVAL);
  CHECK_ERRNO(syscall(SYS_mprotect, area, page, 0x1000), EINVAL);
  CHECK_EQ(syscall(SYS_munmap, area, 1), 0);  // a part of a page is the page
  CHECK_ERRNO(mprotect(area, page, PROT_READ), ENOMEM);
  CHECK_ERRNO(madvise(area + page + 1, page, MADV_DONTNEED), EINVAL);

    // Beyond what there can be, and into the kernel's half.
  expect_map_error(nullptr, size_t{1} << 47, read_write, anonymous, ENOMEM);
  expect_map_error(nullptr, ~size_t{0} - page, read_write, anonymous, ENOMEM);
  auto* kernel = reinterpret_cast<char*>(0xffff800000000000);
  expect_map_error(kernel, page, read_write, anonymous | MAP_FIXED, ENOMEM);
  expect_map_error(reinterpret_cast<char*>((uintptr_t{1} << 47) - page), 2 * page, read_write, anonymous | MAP_FIXED, ENOMEM);
  CHECK_ERRNO(syscall(SYS_munmap, kernel, page), EINVAL);
  CHECK_ERRNO(mprotect(kernel, page, PROT_READ), ENOMEM);
  CHECK_EQ(munmap(area + page, page), 0);
}

void test_protection() {
  char* area = map(8 * page);
  memset(area, 1, 8 * page);
  CHECK_EQ(mprotect(area + 2 * page, 2 * page, PROT_READ), 0);
  CHECK_EQ(area[2 * page], 1);
  expect_write_fault(area + 2 * page + 5, SEGV_ACCERR);
  area[2 * page - 1] = 2;
  area[4 * page] = 2;
  CHECK_EQ(mprotect(area + 3 * page, page, PROT_NONE), 0);
  expect_read_fault(area + 3 * page, SEGV_ACCERR);
  CHECK_EQ(mprotect(area, 8 * page, read_write), 0);
  area[3 * page] = 3;
  CHECK_EQ(area[3 * page + 1], 1);

    // A hole fails with ENOMEM, after the part before it has changed.
  CHECK_EQ(munmap(area + 5 * page, page), 0);
  CHECK_ERRNO(mprotect(area + 4 * page, 3 * page, PROT_READ), ENOMEM);
  expect_write_fault(area + 4 * page, SEGV_ACCERR);

    // Never touched, then protected: still no access, and zero once allowed again.
  char* fresh = map(page, PROT_NONE);
  expect_read_fault(fresh, SEGV_ACCERR);
  expect_write_fault(fresh + 100, SEGV_ACCERR);
  CHECK_EQ(mprotect(fresh, page, PROT_READ), 0);
  CHECK(is_zero(fresh, page));
  expect_write_fault(fresh, SEGV_ACCERR);
  CHECK_EQ(mprotect(fresh, page, read_write), 0);
  fresh[0] = 1;
  CHECK_EQ(munmap(fresh, page), 0);
  CHECK_EQ(munmap(area, 8 * page), 0);
}

// Writable memory is not executable, executable memory is not writable; switching between the two works.
void test_execution() {
  static const unsigned char code[] = {0xb8, 0x2a, 0x00, 0x00, 0x00, 0xc3};  // mov $42, %eax; ret
  char* area = map(page);
  memcpy(area, code, sizeof code);
  const auto call = [area] { return reinterpret_cast<int (*)()>(area)(); };
  CHECK(faults([call] { call(); }));
  CHECK_EQ(fault_signal, SIGSEGV);
  CHECK_EQ(fault_code, SEGV_ACCERR);
  CHECK(fault_address == area);

  CHECK_EQ(mprotect(area, page, PROT_READ | PROT_EXEC), 0);
  CHECK_EQ(call(), 42);
  expect_write_fault(area, SEGV_ACCERR);
  CHECK_EQ(mprotect(area, page, read_write), 0);
  CHECK(faults([call] { call(); }));
  area[1] = 43;
  CHECK_EQ(mprotect(area, page, PROT_READ | PROT_EXEC), 0);
  CHECK_EQ(call(), 43);
  CHECK_EQ(munmap(area, page), 0);

    // Our own stack, data and program.
  char on_stack[16];
  memcpy(on_stack, code, sizeof code);
  char* volatile stack_code = on_stack;
  CHECK(faults([&] { reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(stack_code))(); }));
  static char in_data[16] = {1};
  CHECK(faults([] { reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(in_data))(); }));
  expect_write_fault(reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(&on_fault)), SEGV_ACCERR);
  expect_write_fault(const_cast<char*>(reinterpret_cast<const char*>(code)), SEGV_ACCERR);
  expect_read_fault(nullptr, SEGV_MAPERR);
}

void test_brk() {
  const auto brk_to = [](uintptr_t to) { return static_cast<uintptr_t>(syscall(SYS_brk, to)); };
  const uintptr_t begin = brk_to(0);
  CHECK(begin != 0);
  const uintptr_t base = (begin + page - 1) & ~(page - 1);
  CHECK_EQ(brk_to(base + 10 * page + 100), base + 10 * page + 100);
  CHECK_EQ(brk_to(0), base + 10 * page + 100);
  auto* bytes = reinterpret_cast<char*>(base);
  CHECK(is_zero(bytes, 10 * page));
  memset(bytes, 7, 10 * page + 100);

    // Given back and taken again: fresh, and gone in between.
  CHECK_EQ(brk_to(base + 5 * page), base + 5 * page);
  expect_read_fault(bytes + 5 * page, SEGV_MAPERR);
  CHECK_EQ(bytes[5 * page - 1], 7);
  CHECK_EQ(brk_to(base + 10 * page), base + 10 * page);
  CHECK(is_zero(bytes + 5 * page, 5 * page));

    // What cannot be leaves the break where it is.
  CHECK_EQ(brk_to(1), base + 10 * page);
  CHECK_EQ(brk_to(uintptr_t{1} << 47), base + 10 * page);
  CHECK_EQ(brk_to(0xffff800000000000), base + 10 * page);
  CHECK_EQ(brk_to(begin), begin);
}

void test_advice() {
  char* area = map(4 * page);
  memset(area, 9, 4 * page);
  CHECK_EQ(madvise(area + page, 2 * page, MADV_DONTNEED), 0);
  CHECK(is_zero(area + page, 2 * page));
  CHECK_EQ(area[0], 9);
  CHECK_EQ(area[3 * page], 9);
  CHECK_EQ(munmap(area, 4 * page), 0);
}

void test_file() {
  const int file = open("/proc/self/exe", O_RDONLY);
  CHECK(file >= 0);
  auto* program = static_cast<char*>(mmap(nullptr, 2 * page, read_write, MAP_PRIVATE, file, 0));
  CHECK(program != MAP_FAILED);
  CHECK_EQ(memcmp(program, "\177ELF", 4), 0);
  auto* second = static_cast<char*>(mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file, page));
  CHECK(second != MAP_FAILED);
  CHECK_EQ(close(file), 0);
  CHECK_EQ(memcmp(program + page, second, page), 0);
    // A private write stays private.
  program[page] = static_cast<char>(~program[page]);
  CHECK(program[page] != second[0]);
  CHECK_EQ(munmap(program, 2 * page), 0);
  CHECK_EQ(munmap(second, page), 0);
}

// Large and sparse: only what is touched may cost memory.
void test_sparse() {
  constexpr size_t size = size_t{4} << 30;
  auto* area = static_cast<char*>(mmap(nullptr, size, read_write, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  CHECK(area != MAP_FAILED);
  for (size_t at = 0; at < size; at += size / 64) {
    CHECK_EQ(area[at], 0);
    area[at] = 1;
  }
  CHECK_EQ(munmap(area, size), 0);

    // Again and again: nothing may be used up.
  for (long round = 0; round < 300 * check_effort; ++round) {
    char* small = map(64 * page);
    for (size_t at = 0; at < 64 * page; at += page) { small[at] = 1; }
    CHECK_EQ(munmap(small, 64 * page), 0);
  }
}

// The stack grows by faults, and ends.
void test_stack() {
  struct Deep {
    static int go(int depth) {
      volatile char frame[4096];
      frame[0] = static_cast<char>(depth);
      return (depth > 0 ? go(depth - 1) : 0) + (frame[0] == static_cast<char>(depth) ? 1 : 0);
    }
  };
  CHECK_EQ(Deep::go(200), 201);

  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit(Deep::go(1 << 24) == 0);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

// Between cores 1: readers look at a page that is replaced again and again. `published` is raised after the page has
// its new number, so a reader that saw N published must read at least N, or 0 from a page that is newer still.

constexpr int readers = 3;
volatile bool stop;
uint64_t published;
uint64_t* replaced;

void* read_replaced(void*) {
  uintptr_t reads = 0;
  while (!stop) {
    const uint64_t before = __atomic_load_n(&published, __ATOMIC_SEQ_CST);
    const uint64_t seen = __atomic_load_n(replaced, __ATOMIC_SEQ_CST);
    if (seen != 0 && seen < before) {
      CHECK_EQ(seen, before);  // fails: an old page
    }
    ++reads;
  }
  return reinterpret_cast<void*>(reads);
}

void test_replacement() {
  replaced = reinterpret_cast<uint64_t*>(map(page));
  stop = false;
  pthread_t threads[readers];
  for (auto& thread : threads) { CHECK_EQ(pthread_create(&thread, nullptr, read_replaced, nullptr), 0); }
  const int64_t end = check_now_ns() + 150000000 * check_effort;
  uint64_t number = 0;
  while (check_now_ns() < end || number < 20) {
    CHECK(map(page, read_write, MAP_FIXED, replaced) == reinterpret_cast<char*>(replaced));
    CHECK_EQ(*replaced, 0);
    __atomic_store_n(replaced, ++number, __ATOMIC_SEQ_CST);
    __atomic_store_n(&published, number, __ATOMIC_SEQ_CST);
    if (number % 16 == 0) { check_sleep_us(200); }
  }
  stop = true;
  uintptr_t reads = 0;
  for (const auto thread : threads) {
    void* result = nullptr;
    CHECK_EQ(pthread_join(thread, &result), 0);
    reads += reinterpret_cast<uintptr_t>(result);
  }
  CHECK(reads > 0);
  CHECK_EQ(munmap(replaced, page), 0);
}

// Between cores 2: writers count in a page that becomes read-only. Once mprotect has returned, the counts stand still.

volatile uint64_t* counts;

void wait_out_fault(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto base = reinterpret_cast<uintptr_t>(counts);
  if (at < base || at >= base + page) { _exit(77); }
  const timespec moment = {0, 50000};
  nanosleep(&moment, nullptr);
}

void* count_on(void* argument) {
  const auto self = reinterpret_cast<uintptr_t>(argument) * 16;
  while (!stop) { counts[self] = counts[self] + 1; }
  return nullptr;
}

void test_write_protection() {
  counts = reinterpret_cast<volatile uint64_t*>(map(page));
  struct sigaction action{};
  action.sa_sigaction = wait_out_fault;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  stop = false;
  pthread_t threads[readers];
  for (uintptr_t index = 0; index < readers; ++index) {
    CHECK_EQ(pthread_create(&threads[index], nullptr, count_on, reinterpret_cast<void*>(index)), 0);
  }
  const int64_t end = check_now_ns() + 200000000 * check_effort;
  for (int round = 0; check_now_ns() < end || round < 20; ++round) {
    CHECK_EQ(mprotect(const_cast<uint64_t*>(counts), page, PROT_READ), 0);
    uint64_t before[readers];
    for (int index = 0; index < readers; ++index) { before[index] = counts[index * 16]; }
    if (round % 4 == 0) {
      check_sleep_us(100);
    } else {
      check_spin(2000);
    }
    for (int index = 0; index < readers; ++index) { CHECK_EQ(counts[index * 16], before[index]); }
    CHECK_EQ(mprotect(const_cast<uint64_t*>(counts), page, read_write), 0);
    check_sleep_us(100);
  }
  stop = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  for (int index = 0; index < readers; ++index) { CHECK(counts[index * 16] > 0); }
  catch_faults();
}

// Between cores 3: an area is unmapped and its frames are used elsewhere at once; late writers must fault, not write
// into what belongs to the new area.

char* volatile victim;

void* write_victim(void*) {
  volatile uintptr_t hits = 0;
  while (!stop) {
    if (char* at = victim; at != nullptr) {
      if (!faults([at] {
            for (size_t offset = 0; offset < 8 * page; offset += page) { *static_cast<volatile char*>(at + offset) = 0x66; }
          })) {
        hits = hits + 1;
      }
    }
  }
  return reinterpret_cast<void*>(hits);
}

void test_unmapping() {
    // The same place is never mapped twice, so that a late writer can only fault: the victims in one reserved room,
    // what comes after them in another.
  stop = false;
  pthread_t threads[readers];
  for (auto& thread : threads) { CHECK_EQ(pthread_create(&thread, nullptr, write_victim, nullptr), 0); }
  constexpr size_t room = size_t{1} << 32;
  char* place = map(room, PROT_NONE, MAP_NORESERVE);
  char* elsewhere = map(8 * page, PROT_NONE, MAP_NORESERVE);
  const int64_t end = check_now_ns() + 200000000 * check_effort;
  size_t used = 0;
  for (int round = 0; (check_now_ns() < end || round < 20) && used + 16 * page <= room; ++round, used += 16 * page) {
    char* area = place + used;
    CHECK(map(8 * page, read_write, MAP_FIXED, area) == area);
    victim = area;
    if (round % 4 == 0) {
      check_sleep_us(100);
    } else {
      check_spin(500);
    }
    CHECK_EQ(munmap(area, 8 * page), 0);
    char* next = map(8 * page, read_write, MAP_FIXED, elsewhere);
    for (size_t offset = 0; offset < 8 * page; offset += page) { CHECK_EQ(*static_cast<volatile char*>(next + offset), 0); }
    check_spin(500);
    for (size_t offset = 0; offset < 8 * page; offset += page) { CHECK_EQ(*static_cast<volatile char*>(next + offset), 0); }
    CHECK(map(8 * page, PROT_NONE, MAP_FIXED | MAP_NORESERVE, elsewhere) == elsewhere);
  }
  stop = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  victim = nullptr;
  CHECK_EQ(munmap(place, room), 0);
  CHECK_EQ(munmap(elsewhere, 8 * page), 0);
}

// Many threads fault, map and unmap in one address space at once.
void test_together() {
  pthread_t threads[8];
  for (uintptr_t index = 0; index < 8; ++index) {
    CHECK_EQ(pthread_create(
                 &threads[index], nullptr,
                 [](void* argument) -> void* {
                   const auto self = static_cast<char>(reinterpret_cast<uintptr_t>(argument) + 1);
                   for (long round = 0; round < 40 * check_effort; ++round) {
                     char* area = map(16 * page);
                     memset(area, self, 16 * page);
                     CHECK_EQ(mprotect(area + 4 * page, 4 * page, PROT_READ), 0);
                     CHECK_EQ(munmap(area + 8 * page, 4 * page), 0);
                     for (const size_t at : Sizes{0, 5 * page, 15 * page}) { CHECK_EQ(area[at], self); }
                     CHECK_EQ(munmap(area, 16 * page), 0);
                   }
                   return nullptr;
                 },
                 reinterpret_cast<void*>(index)),
             0);
  }
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }

    // All touch the same new pages at once: each page appears once.
  static char* common;
  common = map(256 * page);
  for (auto& thread : threads) {
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   for (size_t at = 0; at < 256 * page; at += page) {
                     __atomic_fetch_add(reinterpret_cast<uint32_t*>(common + at), 1, __ATOMIC_SEQ_CST);
                   }
                   return nullptr;
                 },
                 nullptr),
             0);
  }
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  for (size_t at = 0; at < 256 * page; at += page) { CHECK_EQ(*reinterpret_cast<uint32_t*>(common + at), 8); }
  CHECK_EQ(munmap(common, 256 * page), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("memtest", argc, argv);
  catch_faults();
  test_mapping();
  test_errors();
  test_protection();
  test_execution();
  test_brk();
  test_advice();
  test_file();
  test_sparse();
  test_stack();
  test_replacement();
  test_write_protection();
  test_unmapping();
  test_together();
  return check_done();
}
