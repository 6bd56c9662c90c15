// Looks for what the kernel left behind in every answer that it gives: structures and their padding, texts, directory
// entries, frames of handlers, new pages of every kind, the stack that exec makes. Boot the guest with `memory.canary`.
//
// Each call writes into a slot of its own that held zeros, three times over: two canary bytes at the same place in all
// three are a leak. At the end all memory of the process is searched for longer runs.

#include "probes/canary.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>

namespace {

constexpr size_t page = 4096;
constexpr size_t slot_size = 2 * page;
constexpr int rounds = 3;
constexpr int read_write = PROT_READ | PROT_WRITE;

int calls_answered;
int calls_refused;

char* map(size_t size, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1) {
  void* area = mmap(nullptr, size, read_write, flags, file, 0);
  CHECK(area != MAP_FAILED);
  return static_cast<char*>(area);
}

// Has `call(slot)` fill three slots, and compares what they have of the pattern.
template <typename Call>
void look_at(const char* name, Call call) {
  char* slots = map(rounds * slot_size);
  bool answered = false;
  for (int round = 0; round < rounds; ++round) { answered = call(slots + round * slot_size) >= 0; }
  ++(answered ? calls_answered : calls_refused);
  const uint8_t wanted = canary::byte();
  const auto holds = [&](int round, size_t at) {
    const auto* bytes = reinterpret_cast<const volatile uint8_t*>(slots) + static_cast<size_t>(round) * slot_size + at;
    return bytes[0] == wanted && bytes[1] == wanted;
  };
  for (size_t at = 0; at + 1 < slot_size; ++at) {
    if (holds(0, at) && holds(1, at) && holds(2, at)) {
      printf("the kernel's leavings in the answer of %s, at offset %zu\n", name, at);
      CHECK(!"a leak");
    }
  }
  canary::expect_none(name, slots, rounds * slot_size);
}

// A call whose one answer goes to the given argument; the other arguments are as they stand.
#define ANSWERS(name, ...) look_at(#name, [&](char* slot) { return syscall(SYS_##name, __VA_ARGS__); })

void test_files() {
  const int directory = open("/", O_RDONLY | O_DIRECTORY);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const int zero = open("/dev/zero", O_RDONLY);
  const int file = open("/tmp/canary", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(directory >= 0 && zero >= 0 && file >= 0);
  CHECK_EQ(write(file, "begin", 5), 5);
  CHECK_EQ(ftruncate(file, 3 * page + 100), 0);
  CHECK_EQ(symlink("a target", "/tmp/canary.link") == 0 || errno == EEXIST, true);
  using Numbers = const int[];
  for (const int one : Numbers{directory, ends[0], zero, file, 0}) {
    ANSWERS(fstat, one, slot);
    ANSWERS(fstatfs, one, slot);
    ANSWERS(statx, one, "", AT_EMPTY_PATH, 0xfff, slot);
    ANSWERS(newfstatat, one, "", slot, AT_EMPTY_PATH);
  }
  using Names = const char* const[];
  for (const char* name :
       Names{"/", "/tmp", "/dev/console", "/proc", "/proc/self/stat", "/sys", "/tmp/canary.link", "/dev/null"}) {
    ANSWERS(stat, name, slot);
    ANSWERS(lstat, name, slot);
    ANSWERS(statfs, name, slot);
    ANSWERS(readlink, name, slot, slot_size);
  }
  for (const char* name : Names{"/", "/tmp", "/dev", "/proc", "/proc/self", "/proc/self/fd", "/sys", "/bin"}) {
    look_at("getdents64", [&](char* slot) {
      const int open_directory = open(name, O_RDONLY | O_DIRECTORY);
      const long answer = syscall(SYS_getdents64, open_directory, slot, slot_size);
      close(open_directory);
      return answer;
    });
  }
  for (const char* name : Names{"cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "cmdline", "filesystems",
                                "mounts", "interrupts", "self/stat", "self/status", "self/statm", "self/maps", "self/limits",
                                "self/cmdline", "self/environ", "self/comm", "self/auxv"}) {
    look_at(name, [&](char* slot) {
      char path[64];
      snprintf(path, sizeof path, "/proc/%s", name);
      const int text = open(path, O_RDONLY);
      const ssize_t got = text < 0 ? -1 : read(text, slot, slot_size);
      close(text);
      return got;
    });
  }
  ANSWERS(getcwd, slot, slot_size);
  ANSWERS(read, zero, slot, slot_size);
  ANSWERS(pread64, file, slot, slot_size, 0);
  ANSWERS(pread64, file, slot, slot_size, 2 * page);
  ANSWERS(pipe2, slot, 0);
  ANSWERS(ioctl, ends[0], FIONREAD, slot);
  ANSWERS(ioctl, 0, TCGETS, slot);
  ANSWERS(ioctl, 0, TIOCGWINSZ, slot);
  ANSWERS(ioctl, 0, TIOCGPGRP, slot);
  ANSWERS(fcntl, file, F_GETLK, slot);
  look_at("poll", [&](char* slot) {
    auto* wanted = reinterpret_cast<pollfd*>(slot);
    wanted[0] = {ends[0], POLLIN, 0};
    wanted[1] = {ends[1], POLLOUT, 0};
    return syscall(SYS_poll, wanted, 2, 0);
  });
  look_at("select", [&](char* slot) {
    timeval at_once{};
    slot[0] = static_cast<char>(0xff);
    return syscall(SYS_select, 8, slot, slot + 128, slot + 256, &at_once);
  });
  ANSWERS(socketpair, AF_UNIX, SOCK_STREAM, 0, slot);
  // A part of a pipe's page, and of a file's: the rest of both is not the program's.
  look_at("pipe", [&](char* slot) {
    CHECK_EQ(write(ends[1], "12345", 5), 5);
    return read(ends[0], slot, slot_size);
  });
  CHECK_EQ(unlink("/tmp/canary"), 0);
  CHECK_EQ(unlink("/tmp/canary.link"), 0);
}

void test_processes() {
  ANSWERS(uname, slot);
  ANSWERS(sysinfo, slot);
  ANSWERS(times, slot);
  for (int who = RUSAGE_CHILDREN; who <= RUSAGE_THREAD; ++who) { ANSWERS(getrusage, who, slot); }
  for (int limit = 0; limit < 16; ++limit) {
    ANSWERS(getrlimit, limit, slot);
    ANSWERS(prlimit64, 0, limit, nullptr, slot);
  }
  ANSWERS(sched_getaffinity, 0, slot_size, slot);
  ANSWERS(sched_getparam, 0, slot);
  ANSWERS(sched_getattr, 0, slot, 64, 0);
  ANSWERS(sched_rr_get_interval, 0, slot);
  ANSWERS(get_robust_list, 0, slot, slot + 64);
  ANSWERS(getresuid, slot, slot + 64, slot + 128);
  ANSWERS(getresgid, slot, slot + 64, slot + 128);
  ANSWERS(getgroups, 64, slot);
  ANSWERS(getcpu, slot, slot + 64, nullptr);
  ANSWERS(prctl, 16 /* PR_GET_NAME */, slot, 0, 0, 0);
  ANSWERS(arch_prctl, 0x1003 /* ARCH_GET_FS */, slot);
  ANSWERS(arch_prctl, 0x1004 /* ARCH_GET_GS */, slot);
  ANSWERS(mincore, reinterpret_cast<uintptr_t>(slot), slot_size, slot + page);
  ANSWERS(capget, slot, slot + 64);
  for (int clock = 0; clock < 12; ++clock) {
    ANSWERS(clock_gettime, clock, slot);
    ANSWERS(clock_getres, clock, slot);
  }
  ANSWERS(gettimeofday, slot, slot + 64);
  ANSWERS(time, slot);
  for (int timer = 0; timer < 3; ++timer) {
    ANSWERS(getitimer, timer, slot);
    look_at("setitimer", [&](char* slot) {
      const itimerval none{};
      return syscall(SYS_setitimer, timer, &none, slot);
    });
  }
  look_at("wait4", [&](char* slot) {
    const pid_t child = fork();
    if (child == 0) { _exit(3); }
    return syscall(SYS_wait4, child, slot, 0, slot + 64);
  });
  look_at("waitid", [&](char* slot) {
    const pid_t child = fork();
    if (child == 0) { _exit(3); }
    return syscall(SYS_waitid, P_PID, child, slot, WEXITED, slot + 256);
  });
}

char handler_stack[8 * page];
siginfo_t* volatile given_info;

void note_handler(int, siginfo_t* info, void*) {
  given_info = info;
}

void test_signals() {
  for (int signal = 1; signal <= 64; ++signal) { ANSWERS(rt_sigaction, signal, nullptr, slot, 8); }
  ANSWERS(rt_sigprocmask, SIG_BLOCK, nullptr, slot, 8);
  ANSWERS(rt_sigpending, slot, 8);
  ANSWERS(sigaltstack, nullptr, slot);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  look_at("rt_sigtimedwait", [&](char* slot) {
    raise(SIGUSR2);
    return syscall(SYS_rt_sigtimedwait, &set, slot, nullptr, 8);
  });
  look_at("rt_sigtimedwait of a child", [&](char* slot) {
    sigset_t child_set;
    sigemptyset(&child_set);
    sigaddset(&child_set, SIGCHLD);
    CHECK_EQ(sigprocmask(SIG_BLOCK, &child_set, nullptr), 0);
    const pid_t child = fork();
    if (child == 0) { _exit(1); }
    const long answer = syscall(SYS_rt_sigtimedwait, &child_set, slot, nullptr, 8);
    CHECK_EQ(waitpid(child, nullptr, 0), child);
    return answer;
  });

  // Frames of handlers, on a stack that nothing else writes: sent, queued, and made by faults.
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);
  struct sigaction action{};
  action.sa_sigaction = note_handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  using Senders = void (*const[])();
  for (const auto send : Senders{[] { raise(SIGUSR1); }, [] { kill(getpid(), SIGUSR1); },
                                 [] {
                                   sigval value{};
                                   sigqueue(getpid(), SIGUSR1, value);
                                 },
                                 [] {
                                   const pid_t parent = getpid();
                                   const pid_t child = fork();
                                   if (child == 0) { _exit(kill(parent, SIGUSR1)); }
                                   while (waitpid(child, nullptr, 0) != child) {}
                                 }}) {
    CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    for (int round = 0; round < 20; ++round) {
      memset(handler_stack, 0, sizeof handler_stack);
      given_info = nullptr;
      send();
      CHECK(given_info != nullptr);
      canary::expect_none("the frame of a handler", handler_stack, sizeof handler_stack);
      canary::expect_none("siginfo", handler_stack + (reinterpret_cast<char*>(given_info) - handler_stack), sizeof(siginfo_t),
                          2);
    }
  }
}

// New pages of every kind are zero, and so is what a file has beyond what was written.
void test_pages() {
  constexpr size_t pages = 256;
  for (int round = 0; round < 8; ++round) {
    char* area = map(pages * page);
    canary::expect_none("new pages", area, pages * page, 2);
    CHECK_EQ(munmap(area, pages * page), 0);
    area = map(pages * page, MAP_SHARED | MAP_ANONYMOUS);
    canary::expect_none("new shared pages", area, pages * page, 2);
    CHECK_EQ(munmap(area, pages * page), 0);
  }
  auto* old_break = static_cast<char*>(reinterpret_cast<void*>(syscall(SYS_brk, 0)));
  const uintptr_t new_break = reinterpret_cast<uintptr_t>(old_break) + 64 * page;
  CHECK_EQ(syscall(SYS_brk, new_break), static_cast<long>(new_break));
  canary::expect_none("pages of the break", old_break, 64 * page, 2);

  char* small = map(page);
  auto* grown = static_cast<char*>(mremap(small, page, 32 * page, MREMAP_MAYMOVE));
  CHECK(grown != MAP_FAILED);
  canary::expect_none("pages that mremap added", grown, 32 * page, 2);
  CHECK_EQ(madvise(grown, 32 * page, MADV_DONTNEED), 0);
  canary::expect_none("pages after MADV_DONTNEED", grown, 32 * page, 2);

  const int file = open("/tmp/canary", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  CHECK_EQ(pwrite(file, "x", 1, 0), 1);
  CHECK_EQ(pwrite(file, "y", 1, 3 * page + 17), 1);
  char* mapped = map(4 * page, MAP_SHARED, file);
  canary::expect_none("a file's holes and its tail", mapped, 4 * page, 2);
  CHECK_EQ(ftruncate(file, 10), 0);
  CHECK_EQ(ftruncate(file, 8 * page), 0);
  mapped = map(8 * page, MAP_PRIVATE, file);
  mapped[5 * page] = 1;  // a private copy
  canary::expect_none("a file that was cut and grew", mapped, 8 * page, 2);
  CHECK_EQ(close(file), 0);
  CHECK_EQ(unlink("/tmp/canary"), 0);

  // Pages shared by fork, then copied by a write.
  char* copied = map(64 * page);
  for (size_t at = 0; at < 64 * page; at += page) { copied[at] = 1; }
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (size_t at = 0; at < 64 * page; at += page) { copied[at] = 2; }
    canary::expect_none("pages that were copied", copied, 64 * page, 2);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

// The search itself finds what is there.
void test_the_search() {
  char* area = map(page);
  memset(area + 77, canary::byte(), 4);
  CHECK_EQ(canary::find(area, page, 4), 77);
  CHECK(canary::find(area, page, 5) == canary::nowhere);
  CHECK_EQ(munmap(area, page), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("canarybuffers", argc, argv);
  canary::expect_none_anywhere();  // what exec made
  test_the_search();
  for (long round = 0; round < check_effort; ++round) {
    test_files();
    test_processes();
    test_signals();
    test_pages();
  }
  const size_t seen = canary::expect_none_anywhere();
  CHECK(calls_answered > 150);
  printf("canarybuffers: %d calls answered, %d refused, %zu KiB searched at the end\n", calls_answered, calls_refused,
         seen / 1024);
  return check_done();
}
