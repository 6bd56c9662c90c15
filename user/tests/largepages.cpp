// Large pages: big anonymous memory that is forked, cut, protected, moved and given back keeps its contents, whatever the kernel
// maps it with. Runs on Linux as well.
//
//   largepages [EFFORT]     all checks; EFFORT times as many rounds in which threads cut and write parts while others fork
//   largepages gigabyte     forks a process with 1 GiB of touched memory (a machine of 2 GiB)
#include "tests/check.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

namespace {

constexpr size_t page = 4096;
constexpr size_t large = 2 << 20;

// `size` bytes that begin at a border of large pages.
unsigned char* make(size_t size, size_t off = 0) {
  auto* all =
      static_cast<unsigned char*>(mmap(nullptr, size + 2 * large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(all != MAP_FAILED);
  const uintptr_t start = (reinterpret_cast<uintptr_t>(all) + large - 1) / large * large + off;
  auto* memory = reinterpret_cast<unsigned char*>(start);
  if (memory != all) CHECK(munmap(all, static_cast<size_t>(memory - all)) == 0);
  unsigned char* end = all + size + 2 * large;
  CHECK(munmap(memory + size, static_cast<size_t>(end - memory) - size) == 0);
  return memory;
}

uint64_t& word(unsigned char* memory, size_t at) {
  return *reinterpret_cast<uint64_t*>(memory + at);
}

void mark(unsigned char* memory, size_t from, size_t to, uint64_t salt) {
  for (size_t at = from; at < to; at += page) word(memory, at) = at ^ salt;
}

bool marked(unsigned char* memory, size_t from, size_t to, uint64_t salt) {
  for (size_t at = from; at < to; at += page) {
    if (word(memory, at) != (at ^ salt) || word(memory, at + 8) != 0) return false;
  }
  return true;
}

bool zero(unsigned char* memory, size_t from, size_t to) {
  for (size_t at = from; at < to; at += sizeof(uint64_t)) {
    if (word(memory, at) != 0) return false;
  }
  return true;
}

template <class Body>
void in_child(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A child that tries the access dies of it.
void must_fault(unsigned char* at, bool write) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (write) {
      *reinterpret_cast<volatile unsigned char*>(at) = 1;
    } else {
      (void)*reinterpret_cast<volatile unsigned char*>(at);
    }
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

void test_touch() {
  unsigned char* memory = make(4 * large);
  word(memory, large + 5 * page) = 1;
  CHECK(word(memory, large + 5 * page) == 1);
  word(memory, large + 5 * page) = 0;
  CHECK(zero(memory, 0, 4 * large));
  mark(memory, 0, 4 * large, 0);
  CHECK(marked(memory, 0, 4 * large, 0));
  CHECK(munmap(memory, 4 * large) == 0);
}

void test_reuse() {
  for (int round = 0; round < 4; ++round) {  // what was unmapped comes back zeroed
    unsigned char* memory = make(3 * large);
    CHECK(zero(memory, 0, 3 * large));
    memset(memory, 0xee, 3 * large);
    CHECK(munmap(memory, 3 * large) == 0);
  }
}

void test_unmapping_parts() {
  unsigned char* memory = make(4 * large);
  mark(memory, 0, 4 * large, 1);
  CHECK(munmap(memory + page, 3 * page) == 0);
  CHECK(munmap(memory + large + large / 2, large) == 0);
  CHECK(marked(memory, 0, page, 1));
  CHECK(marked(memory, 4 * page, large + large / 2, 1));
  CHECK(marked(memory, 2 * large + large / 2, 4 * large, 1));
  must_fault(memory + page, false);
  must_fault(memory + 2 * large, true);
  must_fault(memory + 2 * large + large / 2 - 1, true);
  CHECK(munmap(memory, 4 * large) == 0);
}

void test_protecting_parts() {
  unsigned char* memory = make(2 * large);
  mark(memory, 0, 2 * large, 2);
  CHECK(mprotect(memory + 7 * page, page, PROT_READ) == 0);
  CHECK(mprotect(memory + large, large, PROT_NONE) == 0);
  must_fault(memory + 7 * page, true);
  must_fault(memory + large, false);
  must_fault(memory + 2 * large - 1, false);
  CHECK(marked(memory, 0, large, 2));
  memory[6 * page + 100] = memory[8 * page + 100] = 1;
  CHECK(mprotect(memory, 2 * large, PROT_READ | PROT_WRITE) == 0);
  CHECK(word(memory, 2 * large - page) == ((2 * large - page) ^ 2));
  mark(memory, 0, 2 * large, 3);
  CHECK(marked(memory, 0, 2 * large, 3));
  CHECK(mprotect(memory, large, PROT_READ) == 0);
  must_fault(memory + 100, true);
  CHECK(mprotect(memory, large, PROT_READ | PROT_WRITE) == 0);
  mark(memory, 0, large, 4);
  CHECK(marked(memory, 0, large, 4));
  CHECK(munmap(memory, 2 * large) == 0);
}

void test_discarding_parts() {
  unsigned char* memory = make(3 * large);
  mark(memory, 0, 3 * large, 5);
  CHECK(madvise(memory + 3 * page, 2 * page, MADV_DONTNEED) == 0);
  CHECK(madvise(memory + large + page, large, MADV_DONTNEED) == 0);
  CHECK(zero(memory, 3 * page, 5 * page));
  CHECK(zero(memory, large + page, 2 * large + page));
  CHECK(marked(memory, 0, 3 * page, 5));
  CHECK(marked(memory, 5 * page, large + page, 5));
  CHECK(marked(memory, 2 * large + page, 3 * large, 5));
  CHECK(madvise(memory, 3 * large, MADV_DONTNEED) == 0);
  CHECK(zero(memory, 0, 3 * large));
  unsigned char there[3 * large / page];
  CHECK(madvise(memory, 3 * large, MADV_DONTNEED) == 0);
  CHECK(mincore(memory, 3 * large, there) == 0);
  for (const unsigned char one : there) CHECK((one & 1) == 0);
  memory[large] = 1;
  CHECK(mincore(memory + large, page, there) == 0 && (there[0] & 1) == 1);
  CHECK(munmap(memory, 3 * large) == 0);
}

void test_moving() {
  for (const size_t off : {size_t{0}, 3 * page}) {  // alike and not alike
    unsigned char* memory = make(4 * large);
    unsigned char* place = make(8 * large, off);
    mark(memory, 0, 4 * large, 6);
    CHECK(mremap(memory, 4 * large, 6 * large, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    CHECK(marked(place, 0, 4 * large, 6));
    CHECK(zero(place, 4 * large, 6 * large));
    must_fault(memory, false);
    must_fault(memory + 4 * large - 1, false);
    unsigned char* other = make(large, off + page);
    CHECK(mremap(place + page, large, large, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
    for (size_t at = 0; at < large; at += page) CHECK(word(other, at) == ((at + page) ^ 6));
    CHECK(marked(place, large + page, 4 * large, 6));
    CHECK(munmap(other, large) == 0);
    CHECK(munmap(place, 8 * large) == 0);
  }
}

void test_forking() {
  unsigned char* memory = make(4 * large);
  mark(memory, 0, 4 * large, 7);
  in_child([&] {
    if (!marked(memory, 0, 4 * large, 7)) return false;
    mark(memory, 0, large, 8);
    word(memory, 2 * large + page) = 99;
    return marked(memory, 0, large, 8) && word(memory, 2 * large + page) == 99 && marked(memory, 3 * large, 4 * large, 7);
  });
  CHECK(marked(memory, 0, 4 * large, 7));
  mark(memory, 0, 4 * large, 9);  // nobody shares it any more
  in_child([&] {
    in_child([&] {
      mark(memory, large, 2 * large, 10);
      return marked(memory, 0, large, 9) && marked(memory, large, 2 * large, 10);
    });
    return munmap(memory + page, large) == 0 && marked(memory, 2 * large, 4 * large, 9);
  });
  CHECK(marked(memory, 0, 4 * large, 9));
  // Both write, in turns, while the other is there.
  int turn[2][2];
  CHECK(pipe(turn[0]) == 0 && pipe(turn[1]) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  char token = 0;
  if (child == 0) {
    for (size_t at = 0; at < 4 * large; at += 64 * page) {
      word(memory, at) = at ^ 11;
      if (write(turn[0][1], &token, 1) != 1 || read(turn[1][0], &token, 1) != 1) _exit(1);
      if (word(memory, at + page) != ((at + page) ^ 9)) _exit(2);
    }
    _exit(0);
  }
  for (size_t at = 0; at < 4 * large; at += 64 * page) {
    CHECK(read(turn[0][0], &token, 1) == 1);
    CHECK(word(memory, at) == (at ^ 9));
    word(memory, at + page) = at ^ 12;
    CHECK(write(turn[1][1], &token, 1) == 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  for (size_t at = 0; at < 4 * large; at += 64 * page) CHECK(word(memory, at + page) == (at ^ 12));
  for (const auto& pair : turn) CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
  CHECK(munmap(memory, 4 * large) == 0);
}

void test_advice() {
  unsigned char* memory = make(4 * large);
  CHECK(madvise(memory, large, MADV_NOHUGEPAGE) == 0);
  CHECK(madvise(memory + large, large, MADV_HUGEPAGE) == 0);
  mark(memory, 0, 4 * large, 13);
  CHECK(madvise(memory + page, large, MADV_NOHUGEPAGE) == 0);
  CHECK(marked(memory, 0, 4 * large, 13));
  CHECK(madvise(memory, 4 * large, MADV_HUGEPAGE) == 0);
  CHECK(munmap(memory + large, large) == 0);
  CHECK(madvise(memory, 4 * large, MADV_NOHUGEPAGE) == -1 && errno == ENOMEM);
  CHECK(munmap(memory, 4 * large) == 0);
}

// The kernel itself reads and writes across the borders of large pages.
void test_kernel_access() {
  unsigned char* memory = make(2 * large);
  int ends[2];
  CHECK(pipe(ends) == 0);
  memset(memory + large - 100, 'x', 200);
  CHECK(write(ends[1], memory + large - 100, 200) == 200);
  CHECK(read(ends[0], memory + 2 * large - 200, 200) == 200);
  CHECK(memory[2 * large - 1] == 'x' && memory[2 * large - 200] == 'x' && memory[2 * large - 201] == 0);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(munmap(memory, 2 * large) == 0);
}

// Threads write their own words of the same memory, cut it and give parts back; meanwhile others fork.
void stress(int rounds) {
  constexpr int writers = 4;
  constexpr size_t size = 8 * large;
  unsigned char* memory = make(size);
  std::atomic<bool> end{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < writers; ++id) {
    threads.emplace_back([&, id] {
      uint64_t salt = static_cast<uint64_t>(id) * 7919 + 1;
      const size_t mine = static_cast<size_t>(id) * 16;
      while (!end) {
        ++salt;
        for (size_t at = mine; at < size; at += 5 * page) word(memory, at) = at * salt;
        for (size_t at = mine; at < size; at += 5 * page) {
          const uint64_t found = word(memory, at);
          // A page may have been given back meanwhile, which leaves a zero until the next round.
          if (found != at * salt && found != 0) wrong = wrong + 1;
        }
      }
    });
  }
  threads.emplace_back([&] {
    unsigned seed = 1;
    while (!end) {
      const size_t at = static_cast<size_t>(rand_r(&seed)) % (size / page - 64) * page;
      const size_t length = (1 + static_cast<size_t>(rand_r(&seed)) % 64) * page;
      switch (rand_r(&seed) % 4) {
        case 0:
          if (madvise(memory + at, length, MADV_DONTNEED) != 0) wrong = wrong + 1;
          break;
        case 1:
          if (mprotect(memory + at, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) wrong = wrong + 1;
          break;
        case 2:
          if (mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) wrong = wrong + 1;
          break;
        default:
          if (madvise(memory + at / large * large, large, MADV_DONTNEED) != 0) wrong = wrong + 1;
      }
      sched_yield();
    }
  });
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      // A picture of one moment: nothing here changes under the child's feet.
      uint64_t sum = 0;
      for (size_t at = 0; at < size; at += page) sum += word(memory, at) + word(memory, at + 16);
      for (size_t at = 32; at < size; at += 16 * page) word(memory, at) = 5;
      if (round % 3 == 0) munmap(memory + large + page, large);
      if (round % 3 == 1) madvise(memory, size / 2 + page, MADV_DONTNEED);
      if (round % 3 != 0) _exit(0);
      uint64_t again = 0;
      for (size_t at = 0; at < large; at += page) again += word(memory, at);
      for (size_t at = 0; at < large; at += page) again -= word(memory, at);
      _exit(again == 0 && sum != 1 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(munmap(memory, size) == 0);
}

// KiB, by /proc/meminfo.
long amount(const char* name) {
  FILE* file = fopen("/proc/meminfo", "r");
  CHECK(file != nullptr);
  char line[128];
  long found = -1;
  while (fgets(line, sizeof line, file) != nullptr) {
    if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name));
  }
  fclose(file);
  CHECK(found >= 0);
  return found;
}

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void gigabyte() {
  constexpr size_t size = size_t{1} << 30;
  const long before = amount("MemFree:");
  unsigned char* memory = make(size);
  mark(memory, 0, size, 14);
  printf("KiB in large pages: %ld\n", amount("AnonHugePages:"));
  const double start = now_ms();
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (size_t at = 0; at < size; at += 16 * large) word(memory, at) = 1;
    bool good = true;
    for (size_t at = page; at < size; at += 16 * large) good = good && word(memory, at) == (at ^ 14);
    _exit(good ? 0 : 1);
  }
  printf("fork: %.3f ms\n", now_ms() - start);
  for (size_t at = page; at < size; at += 16 * large) word(memory, at) = 2;
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  for (size_t at = 0; at < size; at += 16 * large) CHECK(word(memory, at) == (at ^ 14) && word(memory, at + page) == 2);
  CHECK(munmap(memory, size) == 0);
  const long lost = before - amount("MemFree:");
  printf("KiB not returned: %ld\n", lost);
  CHECK(lost < 8 << 10);  // tables are kept until the process ends
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "gigabyte") == 0) {
    check_begin("largepages gigabyte", 1, argv);
    gigabyte();
    return check_done();
  }
  check_begin("largepages", argc, argv);
  test_touch();
  test_reuse();
  test_unmapping_parts();
  test_protecting_parts();
  test_discarding_parts();
  test_moving();
  test_forking();
  test_advice();
  test_kernel_access();
  stress(20 * static_cast<int>(check_effort));
  return check_done();
}
