// Processes: fork and what it copies and shares. Exit codes, identity, copy-on-write in both directions and over
// generations, shared memory, shared offsets, fork in a process with several threads, and processor time.

#include "tests/children.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using namespace children;

constexpr size_t page = 4096;

void test_exit_codes() {
  for (const int code : Numbers{0, 1, 42, 127, 255}) {
    expect_exit(spawn([code] { return code; }), code);
  }
  expect_exit(spawn([] { return 0x1234; }), 0x34);
  for (const int signal : Numbers{SIGKILL, SIGTERM, SIGUSR1, SIGINT, SIGPIPE}) {
    expect_signal(spawn([signal] {
                    raise(signal);
                    return 0;
                  }),
                  signal);
  }
  expect_signal(spawn([] {
                  *check_address(16) = 1;
                  return 0;
                }),
                SIGSEGV);
}

void test_identity() {
  const pid_t me = getpid();
  expect_exit(spawn([me] { return getppid() == me && getpid() != me && getpid() == syscall(SYS_gettid) ? 0 : 1; }), 0);
  CHECK_EQ(getpid(), me);
}

// Copy-on-write: each side sees its own writes and never the other's.

uint32_t in_data[16 * page / sizeof(uint32_t)];

void fill(volatile uint32_t* words, size_t count, uint32_t seed) {
  for (size_t index = 0; index < count; index += 64) { words[index] = seed + static_cast<uint32_t>(index); }
}

bool holds(const volatile uint32_t* words, size_t count, uint32_t seed) {
  for (size_t index = 0; index < count; index += 64) {
    if (words[index] != seed + static_cast<uint32_t>(index)) { return false; }
  }
  return true;
}

void test_copy_on_write() {
  constexpr size_t count = 64 * page / sizeof(uint32_t);
  auto* heap = static_cast<uint32_t*>(
      mmap(nullptr, count * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(heap != MAP_FAILED);
  volatile uint32_t stack[256];
  fill(heap, count, 1);
  fill(in_data, sizeof in_data / 4, 2);
  fill(stack, 256, 3);

  // The child writes; the parent must not see it.
  expect_exit(spawn([&] {
                if (!holds(heap, count, 1) || !holds(in_data, sizeof in_data / 4, 2) || !holds(stack, 256, 3)) { return 1; }
                fill(heap, count, 1001);
                fill(in_data, sizeof in_data / 4, 1002);
                fill(stack, 256, 1003);
                return holds(heap, count, 1001) && holds(in_data, sizeof in_data / 4, 1002) && holds(stack, 256, 1003) ? 0 : 2;
              }),
              0);
  CHECK(holds(heap, count, 1) && holds(in_data, sizeof in_data / 4, 2) && holds(stack, 256, 3));

  // The parent writes while the child looks on; the child must see the old.
  Gate written;
  const pid_t child = spawn([&] {
    written.pass();
    return holds(heap, count, 1) && holds(in_data, sizeof in_data / 4, 2) && holds(stack, 256, 3) ? 0 : 1;
  });
  fill(heap, count, 2001);
  fill(in_data, sizeof in_data / 4, 2002);
  fill(stack, 256, 2003);
  written.open();
  expect_exit(child, 0);
  CHECK(holds(heap, count, 2001) && holds(in_data, sizeof in_data / 4, 2002) && holds(stack, 256, 2003));

  // The kernel's own writes into user memory break the sharing too.
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_EQ(write(ends[1], "kernel", 6), 6);
  expect_exit(spawn([&] { return read(ends[0], heap, 6) == 6 && memcmp(heap, "kernel", 6) == 0 ? 0 : 1; }), 0);
  CHECK(holds(heap, count, 2001));
  close(ends[0]);
  close(ends[1]);

  // Over generations: each adds its level to its own copy, and finds its parent's as it was.
  struct Generations {
    static int run(uint32_t* words, size_t words_count, uint32_t level) {
      if (!holds(words, words_count, level)) { return 10 + static_cast<int>(level); }
      if (level == 5) { return 0; }
      const pid_t next = fork();
      if (next < 0) { return 20; }
      if (next == 0) {
        fill(words, words_count, level + 1);
        _exit(run(words, words_count, level + 1));
      }
      int status = 0;
      if (waitpid(next, &status, 0) != next || status != 0) { return WIFEXITED(status) ? WEXITSTATUS(status) : 21; }
      return holds(words, words_count, level) ? 0 : 30 + static_cast<int>(level);
    }
  };
  fill(heap, count, 0);
  expect_exit(spawn([&] { return Generations::run(heap, count, 0); }), 0);

  // Protection survives the copy.
  CHECK_EQ(mprotect(heap, page, PROT_READ), 0);
  expect_signal(spawn([&] {
                  *static_cast<volatile uint32_t*>(heap) = 1;
                  return 0;
                }),
                SIGSEGV);
  CHECK_EQ(munmap(heap, count * sizeof(uint32_t)), 0);
}

void test_shared_memory() {
  auto* shared =
      static_cast<volatile uint32_t*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  shared[0] = 1;
  expect_exit(spawn([&] {
                shared[0] = shared[0] + 1;
                shared[page / 2] = 77;  // a page that was not present at the fork
                return 0;
              }),
              0);
  CHECK_EQ(shared[0], 2);
  CHECK_EQ(shared[page / 2], 77);

  constexpr int children = 8;
  pid_t child[children];
  shared[1] = 0;
  for (auto& one : child) {
    one = spawn([&] {
      for (int step = 0; step < 1000; ++step) { __atomic_fetch_add(&shared[1], 1, __ATOMIC_SEQ_CST); }
      return 0;
    });
  }
  for (const auto one : child) { expect_exit(one, 0); }
  CHECK_EQ(shared[1], children * 1000);
  CHECK_EQ(munmap(const_cast<uint32_t*>(shared), 4 * page), 0);
}

// Descriptors of parent and child share the offset.
void test_shared_offset() {
  const int file = open("/etc/passwd", O_RDONLY);
  CHECK(file >= 0);
  expect_exit(spawn([file] {
                char two[2];
                return read(file, two, 2) == 2 ? 0 : 1;
              }),
              0);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 2);
  expect_exit(spawn([file] { return close(file); }), 0);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 2);
  CHECK_EQ(close(file), 0);
}

volatile bool stop_threads;

// The child of a threaded process has one thread; its memory stands still whatever the parent's threads write.
void test_fork_with_threads() {
  static volatile uint64_t words[4 * page / sizeof(uint64_t)];
  pthread_t threads[3];
  stop_threads = false;
  for (auto& thread : threads) {
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   while (!stop_threads) {
                     for (size_t index = 0; index < sizeof words / sizeof words[0]; index += 512) {
                       words[index] = words[index] + 1;
                     }
                   }
                   return nullptr;
                 },
                 nullptr),
             0);
  }
  for (long round = 0; round < 15 * check_effort; ++round) {
    expect_exit(spawn([] {
                  uint64_t copy[4];
                  for (int index = 0; index < 4; ++index) { copy[index] = words[index * 512]; }
                  check_sleep_us(500);
                  for (int index = 0; index < 4; ++index) {
                    if (words[index * 512] != copy[index]) { return 1; }
                  }
                  return 0;
                }),
                0);
  }
  stop_threads = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
}

void test_usage() {
  const pid_t child = spawn([] {
    timespec used{};
    do { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used); } while (used.tv_sec == 0 && used.tv_nsec < 20000000);
    return 0;
  });
  rusage usage{};
  int status = -1;
  CHECK_EQ(wait4(child, &status, 0, &usage), child);
  CHECK_EQ(status, 0);
  const int64_t used =
      (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  CHECK(used >= 10000);
  CHECK(used < 10000000);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("forktest", argc, argv);
  test_exit_codes();
  test_identity();
  test_copy_on_write();
  test_shared_memory();
  test_shared_offset();
  test_fork_with_threads();
  test_usage();
  return check_done();
}
