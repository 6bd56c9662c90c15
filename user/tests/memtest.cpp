// Memory of a process: mmap, munmap, mprotect, madvise and brk, their errors, and the faults that they must cause
// (with the right address and code). For consistency between cores: memcores.cpp.

#include "tests/mappings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using namespace mappings;

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

// MAP_POPULATE: all pages are there at once, which costs no fault later.
// The pages move, the old place stays and is as new.
void test_moving_pages_alone() {
  constexpr size_t size = 8 * page;
  auto* const from = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(from != MAP_FAILED);
  memset(from, 'a', size);
  auto* const to = static_cast<char*>(mremap(from + page, 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
  CHECK(to != MAP_FAILED && (to + 4 * page <= from || to >= from + size));
  for (size_t i = 0; i < 4 * page; i += page / 2) {
    CHECK_EQ(to[i], 'a');
    CHECK_EQ(from[page + i], 0);
  }
  CHECK(from[0] == 'a' && from[5 * page] == 'a');
  from[page] = 'b';
  CHECK_EQ(to[0], 'a');
  CHECK(mremap(from, page, 2 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED && errno == EINVAL);
  CHECK(mremap(from, page, page, MREMAP_DONTUNMAP) == MAP_FAILED && errno == EINVAL);
  CHECK_EQ(munmap(to, 4 * page), 0);
  CHECK_EQ(munmap(from, size), 0);
}

void test_populate() {
  constexpr size_t pages = 64;
  const int kinds[] = {0, MAP_POPULATE};
  for (const int more : kinds) {
    auto* area =
        static_cast<char*>(mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0));
    CHECK(area != MAP_FAILED);
    unsigned char resident[pages] = {};
    CHECK_EQ(mincore(area, pages * page, resident), 0);
    size_t there = 0;
    for (const unsigned char one : resident) there += one & 1;
    CHECK_EQ(there, more != 0 ? pages : 0);
    rusage before{}, after{};
    CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
    for (size_t i = 0; i < pages; ++i) area[i * page] = 1;
    CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
    CHECK((after.ru_minflt - before.ru_minflt >= 16) == (more == 0));
    CHECK_EQ(munmap(area, pages * page), 0);
  }
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

long other_pages(void* at, size_t length, size_t first, int protection = 0) {
  return syscall(SYS_remap_file_pages, at, length, protection, first, 0);
}

// Pages of a shared mapping change places.
void test_other_pages() {
  const auto file = static_cast<int>(syscall(SYS_memfd_create, "pages", 0));
  CHECK(file >= 0);
  CHECK_EQ(ftruncate(file, 4 * page), 0);
  auto* area = static_cast<char*>(mmap(nullptr, 4 * page, read_write, MAP_SHARED, file, 0));
  CHECK(area != MAP_FAILED);
  for (size_t i = 0; i < 4; ++i) area[i * page] = static_cast<char>('a' + i);
  CHECK_EQ(other_pages(area, page, 3), 0);
  CHECK_EQ(other_pages(area + 3 * page, page, 0), 0);
  CHECK(area[0] == 'd' && area[page] == 'b' && area[2 * page] == 'c' && area[3 * page] == 'a');
  area[0] = 'D';
  char seen = 0;
  CHECK_EQ(pread(file, &seen, 1, 3 * page), 1);
  CHECK_EQ(seen, 'D');
  CHECK_EQ(other_pages(area, 4 * page, 0), 0);  // of several areas, in order again
  CHECK(area[0] == 'a' && area[3 * page] == 'D');
  CHECK_ERRNO(other_pages(area, page, 1, PROT_READ), EINVAL);
  CHECK_ERRNO(other_pages(area, 0, 1), EINVAL);
  CHECK_ERRNO(other_pages(area, page, ~size_t{0}), EINVAL);
  CHECK_EQ(munmap(area + page, page), 0);
  CHECK_ERRNO(other_pages(area, 4 * page, 0), EINVAL);
  CHECK_EQ(munmap(area, 4 * page), 0);
  CHECK_ERRNO(other_pages(area, page, 0), EINVAL);
  CHECK_EQ(close(file), 0);
  char* own = map(page);
  CHECK_ERRNO(other_pages(own, page, 0), EINVAL);
  CHECK_EQ(munmap(own, page), 0);
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
  test_moving_pages_alone();
  test_populate();
  test_file();
  test_other_pages();
  test_sparse();
  test_stack();
  return check_done();
}
