// Every pointer that a program hands to the kernel, wrong in every way: a null pointer, an address of the kernel's half,
// a non-canonical one, an unmapped one, one that wraps round, an object that reaches from a good page into a missing
// one, and a read-only page. The kernel must answer as Linux does (nearly always EFAULT) and nothing else may happen.
//
// One line per case, so that the output on two systems can be compared; a difference from the table is marked, and
// the exit status is then 1.

#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace {

constexpr size_t page = 4096;

// As in Linux's <asm/prctl.h>.
constexpr int ARCH_SET_GS = 0x1001;
constexpr int ARCH_SET_FS = 0x1002;
constexpr int ARCH_GET_FS = 0x1003;

enum Kind { null_pointer, kernel_half, non_canonical, unmapped, wrapping, straddling, read_only, kind_count };
constexpr const char* kind_names[kind_count] = {"null",     "kernel",     "non-canonical", "unmapped",
                                                "wrapping", "straddling", "read-only"};
char* pointers[kind_count];

constexpr int not_tried = -1;

// A call with one pointer under test; answers its result or -errno.
struct Case {
  const char* name;
  long (*call)(char* pointer);
    // What must come out: 0 stands for any success (of a read, perhaps a part), otherwise an errno; or not_tried
    // where Linux's own versions differ or an answer says nothing about pointers.
  int null;
  int bad;  // kernel's half, non-canonical, unmapped, wrapping
  int straddling;
  int read_only;
};

template <typename... Arguments>
long raw(long number, Arguments... arguments) {
  errno = 0;
  const long result = syscall(number, arguments...);
  return result == -1 ? -errno : result;
}

struct Pipe {
  int ends[2];
  Pipe() {
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(write(ends[1], "0123456789abcdef", 16), 16);
  }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
};

struct File {
  int number;
  explicit File(const char* path, int flags = O_RDONLY) : number(open(path, flags)) { CHECK(number >= 0); }
  ~File() { close(number); }
};

// A child that has ended and waits to be waited for.
pid_t ended_child() {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(3); }
  siginfo_t info{};
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  return child;
}

void reap(pid_t child) {
  waitpid(child, nullptr, 0);
}

// Exec in a child: 0 if it came about, otherwise the child's -errno.
long try_exec(const char* path, char** arguments, char** environment) {
  int ends[2];
  CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(0);
    close(1);
    close(2);
    const long error = raw(SYS_execve, path, arguments, environment);
    _exit(write(ends[1], &error, sizeof error) == sizeof error ? 0 : 1);
  }
  close(ends[1]);
  long error = 0;
  if (read(ends[0], &error, sizeof error) != sizeof error) { error = 0; }
  close(ends[0]);
  reap(child);
  return error;
}

char* no_strings[] = {nullptr};
char* true_arguments[] = {const_cast<char*>("true"), nullptr};
constexpr const char* program = "/bin/busybox";
const timespec no_time = {0, 0};
constexpr int signal_set_size = 8;
constexpr size_t disabled_stack = 1024;  // where the read-only page, otherwise zero, has a stack_t

// clang-format off
// Most calls: null and all other bad pointers fault; what is written to a read-only page faults, what is read does not.
constexpr Case cases[] = {
    // Files.
    {"read buffer", [](char* p) { const Pipe pipe; return raw(SYS_read, pipe.ends[0], p, 16); },
     EFAULT, EFAULT, EFAULT, EFAULT},
    {"write buffer", [](char* p) { const Pipe pipe; return raw(SYS_write, pipe.ends[1], p, 16); },
     EFAULT, EFAULT, EFAULT, 0},
    {"readv vector", [](char* p) { const Pipe pipe; return raw(SYS_readv, pipe.ends[0], p, 1); },
     EFAULT, EFAULT, EFAULT, 0},
    {"readv base", [](char* p) {
         const Pipe pipe;
         const iovec vector = {p, 16};
         return raw(SYS_readv, pipe.ends[0], &vector, 1);
     }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"writev vector", [](char* p) { const Pipe pipe; return raw(SYS_writev, pipe.ends[1], p, 1); },
     EFAULT, EFAULT, EFAULT, 0},
    {"writev base", [](char* p) {
         const Pipe pipe;
         const iovec vector = {p, 16};
         return raw(SYS_writev, pipe.ends[1], &vector, 1);
     }, EFAULT, EFAULT, EFAULT, 0},
    {"pread64 buffer", [](char* p) { const File file("/etc/passwd"); return raw(SYS_pread64, file.number, p, 16, 0L); },
     EFAULT, EFAULT, 0, EFAULT},
    {"read from a file", [](char* p) { const File file(program); return raw(SYS_read, file.number, p, 16); },
     EFAULT, EFAULT, 0, EFAULT},
    {"read from /dev/zero", [](char* p) { const File file("/dev/zero"); return raw(SYS_read, file.number, p, 16); },
     EFAULT, EFAULT, not_tried, EFAULT},
    {"open path", [](char* p) { return raw(SYS_open, p, O_RDONLY); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"openat path", [](char* p) { return raw(SYS_openat, AT_FDCWD, p, O_RDONLY); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"access path", [](char* p) { return raw(SYS_access, p, R_OK); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"newfstatat path", [](char* p) {
         struct stat status {};
         return raw(SYS_newfstatat, AT_FDCWD, p, &status, 0);
     }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"newfstatat status", [](char* p) { return raw(SYS_newfstatat, AT_FDCWD, "/", p, 0); },
     EFAULT, EFAULT, EFAULT, EFAULT},
    {"fstat status", [](char* p) { const File file("/etc/passwd"); return raw(SYS_fstat, file.number, p); },
     EFAULT, EFAULT, EFAULT, EFAULT},
    {"chdir path", [](char* p) { return raw(SYS_chdir, p); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"mkdir path", [](char* p) { return raw(SYS_mkdir, p, 0700); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"unlink path", [](char* p) { return raw(SYS_unlink, p); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"readlink path", [](char* p) {
         char buffer[64];
         return raw(SYS_readlink, p, buffer, sizeof buffer);
     }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"readlink buffer", [](char* p) { return raw(SYS_readlink, "/proc/self/exe", p, 64); },
     EFAULT, EFAULT, EFAULT, EFAULT},
    {"getcwd buffer", [](char* p) { return raw(SYS_getcwd, p, 64); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"getdents64 buffer", [](char* p) { const File file("/", O_RDONLY | O_DIRECTORY);
         return raw(SYS_getdents64, file.number, p, 512); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"pipe descriptors", [](char* p) { return raw(SYS_pipe, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"pipe2 descriptors", [](char* p) { return raw(SYS_pipe2, p, O_CLOEXEC); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"ioctl FIONREAD", [](char* p) { const Pipe pipe; return raw(SYS_ioctl, pipe.ends[0], FIONREAD, p); },
     EFAULT, EFAULT, EFAULT, EFAULT},
    {"poll descriptors", [](char* p) { return raw(SYS_poll, p, 1, 0); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"sendfile offset", [](char* p) {
         const File file("/etc/passwd");
         const Pipe pipe;
         return p == nullptr ? -EFAULT : raw(SYS_sendfile, pipe.ends[1], file.number, p, 4);
     }, EFAULT, EFAULT, EFAULT, EFAULT},

    // Time.
    {"clock_gettime", [](char* p) { return raw(SYS_clock_gettime, CLOCK_MONOTONIC, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"clock_getres", [](char* p) { return raw(SYS_clock_getres, CLOCK_MONOTONIC, p); }, 0, EFAULT, EFAULT, EFAULT},
    {"gettimeofday", [](char* p) { return raw(SYS_gettimeofday, p, nullptr); }, 0, EFAULT, EFAULT, EFAULT},
    {"time", [](char* p) { return raw(SYS_time, p); }, 0, EFAULT, EFAULT, EFAULT},
    {"nanosleep request", [](char* p) { return raw(SYS_nanosleep, p, nullptr); }, EFAULT, EFAULT, EFAULT, 0},
    {"clock_nanosleep request", [](char* p) { return raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, p, nullptr); },
     EFAULT, EFAULT, EFAULT, 0},
    {"times", [](char* p) { return raw(SYS_times, p); }, 0, EFAULT, EFAULT, EFAULT},

    // The system and the process.
    {"uname", [](char* p) { return raw(SYS_uname, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"sysinfo", [](char* p) { return raw(SYS_sysinfo, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"getrusage", [](char* p) { return raw(SYS_getrusage, RUSAGE_SELF, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"getrlimit", [](char* p) { return raw(SYS_getrlimit, RLIMIT_NOFILE, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"prlimit64 old", [](char* p) { return raw(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, p); },
     0, EFAULT, EFAULT, EFAULT},
    {"getrandom", [](char* p) { return raw(SYS_getrandom, p, 16, 0); }, EFAULT, EFAULT, 0, EFAULT},
    {"getcpu core", [](char* p) { return raw(SYS_getcpu, p, nullptr, nullptr); }, 0, EFAULT, EFAULT, EFAULT},
    {"getcpu node", [](char* p) { return raw(SYS_getcpu, nullptr, p, nullptr); }, 0, EFAULT, EFAULT, EFAULT},
    {"sched_getaffinity", [](char* p) { return raw(SYS_sched_getaffinity, 0, 128, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"sched_setaffinity", [](char* p) { return raw(SYS_sched_setaffinity, 0, 128, p); }, EFAULT, EFAULT, EFAULT, EINVAL},
    {"prctl PR_GET_NAME", [](char* p) { return raw(SYS_prctl, PR_GET_NAME, p); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"prctl PR_SET_NAME", [](char* p) { return raw(SYS_prctl, PR_SET_NAME, p); }, EFAULT, EFAULT, EFAULT, 0},
    {"arch_prctl ARCH_GET_FS", [](char* p) { return raw(SYS_arch_prctl, ARCH_GET_FS, p); },
     EFAULT, EFAULT, EFAULT, EFAULT},

    // Processes.
    {"wait4 status", [](char* p) {
         const pid_t child = ended_child();
         const long result = raw(SYS_wait4, child, p, 0, nullptr);
         reap(child);
         return result;
     }, 0, EFAULT, EFAULT, EFAULT},
    {"wait4 usage", [](char* p) {
         const pid_t child = ended_child();
         const long result = raw(SYS_wait4, child, nullptr, 0, p);
         reap(child);
         return result;
     }, 0, EFAULT, EFAULT, EFAULT},
    {"waitid information", [](char* p) {
         const pid_t child = ended_child();
         const long result = raw(SYS_waitid, P_PID, child, p, WEXITED, nullptr);
         reap(child);
         return result;
     }, 0, EFAULT, EFAULT, EFAULT},
    {"execve path", [](char* p) { return try_exec(p, no_strings, no_strings); }, EFAULT, EFAULT, EFAULT, ENOENT},
    {"execve arguments", [](char* p) { return try_exec(program, reinterpret_cast<char**>(p), no_strings); },
     0, EFAULT, EFAULT, 0},
    {"execve one argument", [](char* p) {
         char* arguments[] = {true_arguments[0], p, nullptr};
         return try_exec(program, arguments, no_strings);
     }, 0, EFAULT, EFAULT, 0},
    {"execve environment", [](char* p) { return try_exec(program, true_arguments, reinterpret_cast<char**>(p)); },
     0, EFAULT, EFAULT, 0},

    // Signals.
    {"rt_sigaction new", [](char* p) { return raw(SYS_rt_sigaction, SIGUSR1, p, nullptr, signal_set_size); },
     0, EFAULT, EFAULT, 0},
    {"rt_sigaction old", [](char* p) { return raw(SYS_rt_sigaction, SIGUSR1, nullptr, p, signal_set_size); },
     0, EFAULT, EFAULT, EFAULT},
    {"rt_sigprocmask new", [](char* p) { return raw(SYS_rt_sigprocmask, SIG_BLOCK, p, nullptr, signal_set_size); },
     0, EFAULT, EFAULT, 0},
    {"rt_sigprocmask old", [](char* p) { return raw(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, p, signal_set_size); },
     0, EFAULT, EFAULT, EFAULT},
    {"rt_sigpending", [](char* p) { return raw(SYS_rt_sigpending, p, signal_set_size); }, EFAULT, EFAULT, EFAULT, EFAULT},
    {"rt_sigtimedwait set", [](char* p) { return raw(SYS_rt_sigtimedwait, p, nullptr, &no_time, signal_set_size); },
     EFAULT, EFAULT, EFAULT, EAGAIN},
    {"sigaltstack new", [](char* p) { return raw(SYS_sigaltstack, p == pointers[read_only] ? p + disabled_stack : p,
                                                 nullptr); }, 0, EFAULT, EFAULT, 0},
    {"sigaltstack old", [](char* p) { return raw(SYS_sigaltstack, nullptr, p); }, 0, EFAULT, EFAULT, EFAULT},

    // Futexes: 128 marks the private operations, 0 waits, 1 wakes.
    {"futex wait word", [](char* p) { return raw(SYS_futex, reinterpret_cast<uintptr_t>(p) & ~uintptr_t{3}, 128, 0, &no_time,
                                                 nullptr, 0); }, EFAULT, EFAULT, EAGAIN, ETIMEDOUT},
    {"futex wait misaligned word", [](char* p) { return raw(SYS_futex, reinterpret_cast<uintptr_t>(p) | 2, 128, 0, &no_time,
                                                            nullptr, 0); }, EINVAL, EINVAL, EINVAL, EINVAL},
    {"futex wait timeout", [](char* p) {
         static const unsigned word = 1;
         return raw(SYS_futex, &word, 128, 0, p, nullptr, 0);
     }, EAGAIN, EFAULT, EFAULT, EAGAIN},
    {"futex shared wake word", [](char* p) { return raw(SYS_futex, reinterpret_cast<uintptr_t>(p) & ~uintptr_t{3}, 1, 1,
                                                        nullptr, nullptr, 0); }, EFAULT, EFAULT, 0, not_tried},
    {"futex_waitv words", [](char* p) { return raw(449, p, 1, 0, &no_time, 1); }, EINVAL, EFAULT, EFAULT, EINVAL},
    {"futex_waitv word", [](char* p) {
         const unsigned long word[] = {7, reinterpret_cast<uintptr_t>(p) & ~uintptr_t{3}, 130};
         return raw(449, word, 1, 0, &no_time, 1);
     }, EFAULT, EFAULT, EAGAIN, EAGAIN},
    {"futex_waitv time", [](char* p) {
         static const unsigned word = 1;
         const unsigned long words[] = {7, reinterpret_cast<uintptr_t>(&word), 130};
         return raw(449, words, 1, 0, p, 1);
     }, EAGAIN, EFAULT, EFAULT, EAGAIN},
};
// clang-format on

const char* name_of(long result) {
  static char text[32];
  switch (-result) {
    case EFAULT: return "EFAULT";
    case EINVAL: return "EINVAL";
    case ENOENT: return "ENOENT";
    case EAGAIN: return "EAGAIN";
    case ENOMEM: return "ENOMEM";
    case ENOSYS: return "ENOSYS";
    case EPERM: return "EPERM";
    case ETIMEDOUT: return "ETIMEDOUT";
    case EBADF: return "EBADF";
    case ENOTTY: return "ENOTTY";
    default: break;
  }
  if (result >= 0) { return "ok"; }
  snprintf(text, sizeof text, "errno %ld", -result);
  return text;
}

int expected_of(const Case& one, int kind) {
  switch (kind) {
    case null_pointer: return one.null;
    case straddling: return one.straddling;
    case read_only: return one.read_only;
    default: return one.bad;
  }
}

void make_pointers() {
  char* area = static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(area != MAP_FAILED);
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  memcpy(area + disabled_stack, &stack, sizeof stack);
  CHECK_EQ(munmap(area + 2 * page, 2 * page), 0);
  CHECK_EQ(mprotect(area, page, PROT_READ), 0);
  pointers[null_pointer] = nullptr;
  pointers[kernel_half] = reinterpret_cast<char*>(0xffff800000000000);
  pointers[non_canonical] = reinterpret_cast<char*>(0x4141000000000000);
  pointers[unmapped] = area + 2 * page + 64;
  pointers[wrapping] = reinterpret_cast<char*>(~uintptr_t{1});
  pointers[straddling] = area + 2 * page - 2;
  pointers[read_only] = area;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("pointertest", argc, argv);
  make_pointers();
  setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  int differences = 0;
  for (long round = 0; round < check_effort; ++round) {
    for (const auto& one : cases) {
      for (int kind = 0; kind < kind_count; ++kind) {
        const int expected = expected_of(one, kind);
        if (expected == not_tried) { continue; }
                // No zero byte, which would end a path, even if the last call wrote one.
        memset(pointers[straddling] - (page - 2), 'a', page);
        const long result = one.call(pointers[kind]);
        const bool same = expected == 0 ? result >= 0 : result == -expected;
        printf("%s, %s: %s", one.name, kind_names[kind], name_of(result));
        if (!same) {
          ++differences;
          printf("   DIFFERS: %s expected", name_of(-expected));
        }
        printf("\n");
        fflush(stdout);
        check_count += same;
      }
    }
  }
    // The registers that hold user addresses refuse the kernel's. (Only what must fail: success would break us.)
  CHECK_ERRNO(syscall(SYS_arch_prctl, ARCH_SET_FS, pointers[kernel_half]), EPERM);
  CHECK_ERRNO(syscall(SYS_arch_prctl, ARCH_SET_FS, pointers[non_canonical]), EPERM);
  CHECK_ERRNO(syscall(SYS_arch_prctl, ARCH_SET_GS, pointers[kernel_half]), EPERM);
  if (differences != 0) {
    printf("pointertest: FAILED: %d cases differ\n", differences);
    return 1;
  }
  return check_done();
}
