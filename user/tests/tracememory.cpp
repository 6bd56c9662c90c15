// A tracer's access to a program's memory, by ptrace and by /proc/[pid]/mem: what the program may not write itself, breakpoints in
// its code, threads and children of it meanwhile; who may open the file, and when it ends.

#include "tests/tracing.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/user.h>

using namespace children;
using namespace tracing;

namespace {

const long page_bytes = sysconf(_SC_PAGESIZE);

long* mapped(int protection, int flags, int file = -1) {
  void* place = mmap(nullptr, static_cast<size_t>(page_bytes), protection, flags, file, 0);
  CHECK(place != MAP_FAILED);
  return static_cast<long*>(place);
}

void protect(void* page, int protection) {
  CHECK_EQ(mprotect(page, static_cast<size_t>(page_bytes), protection), 0);
}

long address_of(const volatile void* place) {
  return reinterpret_cast<long>(place);
}

int open_memory(pid_t process, int flags = O_RDWR) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", process);
  return open(path, flags);
}

// Both ways to read and write a word of a stopped child; 0, or an error number.
struct Way {
  bool file;
  pid_t child;
  int memory;
  int store(const volatile long* place, long word) const {
    if (!file) return traced(PTRACE_POKETEXT, child, address_of(place), word);
    return pwrite(memory, &word, sizeof word, address_of(place)) == static_cast<long>(sizeof word) ? 0 : errno;
  }
  int load(const volatile long* place, long& word) const {
    if (!file) return traced(PTRACE_PEEKDATA, child, address_of(place), &word);
    return pread(memory, &word, sizeof word, address_of(place)) == static_cast<long>(sizeof word) ? 0 : errno;
  }
};

void end(pid_t child) {
  CHECK_EQ(kill(child, SIGKILL), 0);
  CHECK_EQ(status_of(child), SIGKILL);
}

void test_pages_of_all_sorts() {
  const int file = memfd_create("shared", 0);
  CHECK(file >= 0);
  CHECK_EQ(ftruncate(file, page_bytes), 0);
  long* const filled = mapped(PROT_READ | PROT_WRITE, MAP_SHARED, file);
  *filled = 5;
  long* const read_only = mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  *read_only = 1;
  protect(read_only, PROT_READ);
  long* const hidden = mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  *hidden = 2;
  protect(hidden, PROT_NONE);
  long* const untouched = mapped(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
  long* const of_file = mapped(PROT_READ, MAP_PRIVATE, file);
  long* const shared = mapped(PROT_READ, MAP_SHARED, file);
  long* const gone = mapped(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
  CHECK_EQ(munmap(gone, static_cast<size_t>(page_bytes)), 0);
  for (const bool by_file : Flags{false, true}) {
    const pid_t child = spawn_traced(0, [&] {
      const bool right = *read_only == 11 && *untouched == 33 && *of_file == 44 && *shared == 5;
      protect(hidden, PROT_READ);
      if (!right || *hidden != 22) return 1;
      *const_cast<volatile long*>(read_only) = 0;  // not a program's own to write, still
      return 2;
    });
    const Way way{by_file, child, open_memory(child)};
    CHECK(way.memory >= 0);
    const auto expect = [&](const long* place, long before, long after) {
      long word = -1;
      CHECK_EQ(way.load(place, word), 0);
      CHECK_EQ(word, before);
      CHECK_EQ(way.store(place, after), 0);
      CHECK_EQ(way.load(place, word), 0);
      CHECK_EQ(word, after);
    };
    expect(read_only, 1, 11);
    expect(hidden, 2, 22);
    expect(untouched, 0, 33);
    expect(of_file, 5, 44);
    long word = 0;
    CHECK_EQ(way.load(shared, word), 0);
    CHECK_EQ(word, 5);
    CHECK_EQ(way.store(shared, 55), EIO);
    CHECK_EQ(way.load(gone, word), EIO);
    CHECK_EQ(way.store(gone, 1), EIO);
    CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    expect_stop(child, SIGSEGV);
    end(child);
    close(way.memory);
  }
  // What was written is the children's.
  CHECK_EQ(*read_only, 1);
  CHECK_EQ(*of_file, 5);
  CHECK_EQ(*filled, 5);
  protect(hidden, PROT_READ);
  CHECK_EQ(*hidden, 2);
  close(file);
}

__attribute__((noinline)) int three() {
  asm volatile("");
  return 3;
}

// An instruction is replaced by a breakpoint, and put back.
void test_breakpoints() {
  for (const bool by_file : Flags{false, true}) {
    const pid_t child = spawn_traced(0, [] { return three(); });
    const Way way{by_file, child, open_memory(child)};
    auto* const code = reinterpret_cast<const long*>(reinterpret_cast<const void*>(three));
    long word = 0;
    CHECK_EQ(way.load(code, word), 0);
    CHECK_EQ(way.store(code, (word & ~0xffl) | 0xcc), 0);
    CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    expect_stop(child, SIGTRAP);
    CHECK_EQ(three(), 3);
    user_regs_struct registers{};
    CHECK_EQ(traced(PTRACE_GETREGS, child, 0, &registers), 0);
    CHECK_EQ(registers.rip, static_cast<unsigned long long>(address_of(code)) + 1);
    --registers.rip;
    CHECK_EQ(traced(PTRACE_SETREGS, child, 0, &registers), 0);
    CHECK_EQ(way.store(code, word), 0);
    CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    CHECK_EQ(status_of(child), 3 << 8);
    close(way.memory);
  }
}

const volatile long* constant;

// One thread looks at a constant, another one makes children that look at it; meanwhile it is written. The thread sees each word after
// the one before; a child sees one only.
void test_others_look_on() {
  constexpr long last = 200;
  volatile long* const shown = mapped(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);  // what the thread has seen
  Gate gate;
  const pid_t child = spawn([&] {
    pthread_t forker;
    pthread_create(
        &forker, nullptr,
        [](void*) -> void* {
          while (*constant < last) {
            const pid_t picture = fork();
            if (picture == 0) {
              const long seen = *constant;
              for (int i = 0; i < 20; ++i) sched_yield();
              _exit(*constant == seen ? 0 : 1);
            }
            int status = 0;
            if (waitpid(picture, &status, 0) != picture || status != 0) _exit(1);
          }
          return nullptr;
        },
        nullptr);
    for (long seen = 0; seen < last;) {
      const long now = *constant;
      if (now < seen) return 2;
      *shown = seen = now;
    }
    pthread_join(forker, nullptr);
    gate.pass();
    return 3;
  });
  const int memory = open_memory(child);
  CHECK(memory >= 0);
  for (long word = 1; word <= last; ++word) {
    CHECK_EQ(pwrite(memory, &word, sizeof word, address_of(constant)), static_cast<long>(sizeof word));
    while (*shown < word) {
      siginfo_t none{};
      if (waitid(P_PID, static_cast<id_t>(child), &none, WEXITED | WNOHANG | WNOWAIT) != 0 || none.si_pid != 0) break;
      sched_yield();
    }
  }
  gate.open();
  CHECK_EQ(status_of(child), 3 << 8);
  CHECK_EQ(*constant, 0);
  close(memory);
}

// As a file: it has places, ends where nothing is mapped, and belongs to the program that was executed when it was opened.
void test_the_file() {
  char* const two = static_cast<char*>(
      mmap(nullptr, static_cast<size_t>(2 * page_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK_EQ(munmap(two + page_bytes, static_cast<size_t>(page_bytes)), 0);
  memset(two, 'x', static_cast<size_t>(page_bytes));
  Gate gate;
  const pid_t child = spawn([&] {
    gate.pass();
    execl("/proc/self/exe", "waits", nullptr);
    return 1;
  });
  const int memory = open_memory(child);
  CHECK(memory >= 0);
  char bytes[64] = {};
  CHECK_EQ(lseek(memory, address_of(two) + page_bytes - 10, SEEK_SET), address_of(two) + page_bytes - 10);
  CHECK_EQ(read(memory, bytes, 4), 4);
  CHECK_EQ(bytes[3], 'x');
  CHECK_EQ(lseek(memory, 2, SEEK_CUR), address_of(two) + page_bytes - 4);
  CHECK_EQ(write(memory, "abcdef", 6), 4);  // as far as it goes
  CHECK_EQ(write(memory, "abcdef", 6), -1);
  CHECK_EQ(errno, EIO);
  CHECK_EQ(pread(memory, bytes, sizeof bytes, address_of(two) + page_bytes - 8), 8);
  CHECK_EQ(memcmp(bytes, "xxxxabcd", 8), 0);
  CHECK_EQ(two[page_bytes - 1], 'x');
  CHECK_EQ(lseek(memory, 0, SEEK_END), -1);
  CHECK_EQ(errno, EINVAL);
  CHECK_EQ(pread(memory, nullptr, 1, address_of(two)), -1);
  CHECK_EQ(errno, EFAULT);
  gate.open();
  while (pread(memory, bytes, 1, address_of(two)) != 0) sched_yield();  // another program
  CHECK_EQ(pwrite(memory, bytes, 1, address_of(two)), 0);
  end(child);
  CHECK_EQ(pread(memory, bytes, 1, address_of(two)), 0);
  close(memory);
  // One's own.
  const int own = open_memory(getpid());
  CHECK(own >= 0);
  const long word = 7;
  CHECK_EQ(pwrite(own, &word, sizeof word, address_of(constant)), static_cast<long>(sizeof word));
  CHECK_EQ(*constant, 7);
  close(own);
}

void test_who_may_open_it() {
  const pid_t parent = getpid();
  if (geteuid() != 0) return;
  expect_exit(
      spawn([&] {
        if (setuid(12345) != 0) return 1;
        return open_memory(parent) == -1 && errno == EACCES && open_memory(parent, O_RDONLY) == -1 && errno == EACCES ? 5 : 6;
      }),
      5);
}

}  // namespace

int main(int argc, char** argv) {
  if (strcmp(argv[0], "waits") == 0) {
    for (;;) pause();
  }
  check_begin("tracememory", argc, argv);
  constant = mapped(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
  test_pages_of_all_sorts();
  test_breakpoints();
  test_others_look_on();
  test_the_file();
  test_who_may_open_it();
  return check_done();
}
