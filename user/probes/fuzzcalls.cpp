// Random system calls with random and interesting arguments, in many short-lived processes at a time. The kernel must live
// through all of it, and get its memory back: this program is the judge of the second, being alive to say so of the
// first.
//
// usage: fuzzcalls SEED CALLS [NUMBER]
//   in a guest only, as its first process, or as a child of it: at the end every other process is killed
//   CALLS: how many to make in all; NUMBER: only this call
// The same seed makes the same calls in each process; how the processes meet is another matter (./corral run --seed).

#include "probes/memory_in_use.h"
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

constexpr int processes = 12;            // at a time
constexpr long calls_each = 400;         // in the life of one
constexpr int64_t life_ns = 2000000000;  // then it is killed
constexpr long last_call = 470;
constexpr size_t page = 4096;
constexpr const char* directory = "/tmp/fuzzcalls";
constexpr long most_objects = 64;      // more than before: the kernel's timers and messages come and go
constexpr long most_pages_kib = 128;   // besides the heap's and those of files
constexpr long most_kib_less = 2048;   // slabs that are not full

// One generator for each process.
class Random {
 public:
  explicit Random(uint64_t seed) : state_{seed * 0x9e3779b97f4a7c15 + 1} {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d;
  }
  uint64_t below(uint64_t end) { return (next() >> 16) % end; }

 private:
  uint64_t state_;
};

// How many calls each process has made so far. A process may write anything here: more than its life holds is not believed.
volatile long* counts;
char* memory;  // 16 pages: readable and writable, read-only, nothing, and again

constexpr const char* names[] = {"a", "b", "dir", "dir/c", "link", "fifo", "", ".", "dir/..", "missing/x", "socket", "a/"};

// ---- arguments -----------------------------------------------------------------------------------------------------------------

long pointer(Random& random) {
  switch (random.below(12)) {
    case 0: return 0;
    case 1: return static_cast<long>(0xffff800000000000 + random.below(1UL << 46));
    case 2: return static_cast<long>(random.next());
    case 3: return static_cast<long>(random.below(1UL << 47));
    case 4: return reinterpret_cast<long>(names[random.below(sizeof names / sizeof *names)]);
    case 5: return reinterpret_cast<long>(memory) + static_cast<long>((random.below(16) + 1) * page - random.below(64));
    default: return reinterpret_cast<long>(memory) + static_cast<long>(random.below(16 * page) & ~7UL);
  }
}

long number(Random& random) {
  constexpr long interesting[] = {0,        1,        2,     -1,      7,       8,       64,       4095,
                                  4096,     4097,     65536, 1 << 20, INT_MAX, INT_MIN, 1L << 32, 1L << 47,
                                  LONG_MAX, LONG_MIN, -4096, -100,    1023,    1024,    0x80000,  0x800};
  switch (random.below(5)) {
    case 0: return interesting[random.below(sizeof interesting / sizeof *interesting)];
    case 1: return 1L << random.below(64);
    case 2: return static_cast<long>(random.below(16));
    case 3: return static_cast<long>(random.below(1024));
    default: return static_cast<long>(random.next() >> random.below(64));
  }
}

long argument(Random& random) {
  switch (random.below(5)) {
    case 0:
    case 1: return pointer(random);
    case 2: return static_cast<long>(random.below(32));  // descriptors, signals, small flags
    default: return number(random);
  }
}

// Calls that would end the machine, or reach processes outside; their subject becomes the caller, or they are left out.
bool allow(long call, long* arguments, pid_t self) {
  switch (call) {
    case SYS_reboot:
    case SYS_vhangup:
    case SYS_mount:
    case SYS_clock_settime:
    case SYS_settimeofday:
    case SYS_process_vm_writev:
    case SYS_ptrace:  // whoever stops for its tracer is idle until its life is over
    case 424:  // pidfd_send_signal
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo: return false;
    case SYS_kill:
    case SYS_tkill:
    case SYS_rt_sigqueueinfo: arguments[0] = self; return true;
    case SYS_prlimit64:
    case SYS_sched_setscheduler:
    case SYS_sched_setparam:
    case SYS_sched_setattr: arguments[0] = 0; return true;
    case SYS_setpriority: arguments[0] = PRIO_PROCESS, arguments[1] = 0; return true;
    case SYS_clone: arguments[0] &= ~static_cast<long>(CLONE_VM | CLONE_VFORK | CLONE_PARENT); return true;
    case SYS_vfork:
    case SYS_clone3: return false;
    default: return true;
  }
}

// ---- one process -----------------------------------------------------------------------------------------------------------------

void fill(Random& random) {
  for (size_t at = 0; at < 16 * page; at += 3 * page) {
    for (size_t i = 0; i < page; i += sizeof(long)) {
      const long value = random.below(3) == 0 ? argument(random) : static_cast<long>(random.below(4096));
      memcpy(memory + at + i, &value, sizeof value);
    }
  }
}

// A listener, a connection to it, and a socket for datagrams.
void connect_to_itself() {
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  (void)bind(listener, address, size);
  (void)listen(listener, 2);
  (void)getsockname(listener, address, &size);
  (void)connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), address, size);
  (void)bind(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), address, size);
}

void set_stage(Random& random) {
  memory = static_cast<char*>(mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(memory != MAP_FAILED);
  fill(random);
  for (size_t i = 1; i < 16; i += 3) {
    CHECK_EQ(mprotect(memory + i * page, page, PROT_READ), 0);
    if (i + 1 < 16) { CHECK_EQ(munmap(memory + (i + 1) * page, page), 0); }
  }
  const int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; ++i) { CHECK_EQ(dup2(null, i), i); }  // not the console
  (void)open("a", O_RDWR | O_CREAT | O_NONBLOCK, 0644);
  (void)open("dir", O_RDONLY | O_DIRECTORY);
  (void)open("fifo", O_RDWR | O_NONBLOCK);
  (void)eventfd(0, EFD_NONBLOCK);
  (void)epoll_create1(0);
  int ends[2];
  (void)pipe2(ends, O_NONBLOCK);
  (void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends);
  (void)socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends);
  connect_to_itself();
}

[[noreturn]] void live(uint64_t seed, long only, volatile long& count) {
  Random random{seed};
  setsid();
  const pid_t self = getpid();
  set_stage(random);
  for (long i = 0; i < calls_each; ++i) {
    const long call = only >= 0 ? only : static_cast<long>(random.below(last_call));
    long arguments[6];
    for (long& value : arguments) { value = argument(random); }
    if (!allow(call, arguments, self)) { continue; }
    const long result = syscall(call, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    if ((call == SYS_fork || call == SYS_clone) && result == 0) { _exit(0); }
    count = i + 1;
  }
  _exit(0);
}

// ---- the judge -------------------------------------------------------------------------------------------------------------------

void remove_all(const char* path) {
  DIR* stream = opendir(path);
  if (stream == nullptr) { return; }
  while (const dirent* entry = readdir(stream)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) { continue; }
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= static_cast<int>(sizeof name)) { continue; }
    if (unlink(name) == 0 || rmdir(name) == 0) { continue; }
    remove_all(name);
    rmdir(name);
  }
  closedir(stream);
}

void make_files() {
  CHECK(mkdir(directory, 0755) == 0 || errno == EEXIST);
  CHECK_EQ(chdir(directory), 0);
  mkdir("dir", 0755);
  (void)!symlink("a", "link");
  mkfifo("fifo", 0644);
}

// System V's objects stay when their processes have gone.
void remove_ipc() {
  constexpr int most = 32768, remove = 0, of_shared_memory = 13, of_semaphores = 18, of_messages = 11;  // IPC_RMID, SHM_STAT …
  static char status[512];
  for (int index = 0; index < most; ++index) {
    if (const long id = syscall(SYS_shmctl, index, of_shared_memory, status); id >= 0) { syscall(SYS_shmctl, id, remove, 0); }
    if (const long id = syscall(SYS_semctl, index, 0, of_semaphores, status); id >= 0) {
      syscall(SYS_semctl, id, 0, remove, 0);
    }
    if (const long id = syscall(SYS_msgctl, index, of_messages, status); id >= 0) { syscall(SYS_msgctl, id, remove, 0); }
  }
  for (const char* name : names) { syscall(SYS_mq_unlink, name); }
}

// Everything that the calls have left: processes, files.
void clear() {
  kill(-1, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
  CHECK_EQ(chdir("/"), 0);
  remove_all(directory);
  rmdir(directory);
  remove_ipc();
}

struct Life {
  pid_t child;
  int64_t end;
};

// Makes `calls` calls and clears up; answers how many processes it took.
unsigned long round(uint64_t seed, unsigned long calls, long only, unsigned long& done) {
  static Life lives[processes];
  make_files();
  done = 0;
  unsigned long made = 0;
  const unsigned long most = calls / 20 + processes;  // some processes end themselves soon
  while (done < calls && made < most) {
    for (auto& life : lives) {
      volatile long& count = counts[&life - lives];
      if (life.child > 0 && waitpid(life.child, nullptr, WNOHANG) == life.child) {
        life.child = 0;
        if (count > 0 && count <= calls_each) { done += static_cast<unsigned long>(count); }
      }
      if (life.child > 0 && check_now_ns() > life.end) { kill(life.child, SIGKILL); }
      if (life.child != 0) { continue; }
      count = 0;
      const pid_t child = fork();
      CHECK(child >= 0);
      if (child == 0) { live(seed + made, only, count); }
      life = {child, check_now_ns() + life_ns};
      ++made;
    }
    check_sleep_us(1000);
  }
  clear();
  for (auto& life : lives) { life.child = 0; }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "fuzzcalls";
  if (argc < 3 || getenv("IN_A_GUEST") == nullptr) {
    fprintf(stderr, "usage: IN_A_GUEST=1 fuzzcalls SEED CALLS [NUMBER]   kills every other process at its end\n");
    return 2;
  }
  const uint64_t seed = strtoul(argv[1], nullptr, 0);
  const unsigned long calls = strtoul(argv[2], nullptr, 0);
  const long only = argc > 3 ? strtol(argv[3], nullptr, 0) : -1;
  signal(SIGCHLD, SIG_DFL);
  void* area = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(area != MAP_FAILED);
  counts = static_cast<volatile long*>(area);
  unsigned long done = 0;
  (void)round(~seed, calls / 10 + 1, only, done);  // what grows once grows here
  const MemoryInUse before = memory_in_use();
  const unsigned long made = round(seed, calls, only, done);
  const MemoryInUse after = memory_in_use();
  tell_difference(before, after);
  printf("fuzzcalls: seed %lu, %lu calls by %lu processes, %+ld objects in the heap\n", seed, done, made,
         after.objects() - before.objects());
  CHECK(done > 0);
  CHECK(after.objects() - before.objects() < most_objects);
  CHECK(after.used_besides() - before.used_besides() < most_pages_kib);
  CHECK(before.free_kib - after.free_kib < most_kib_less);
  return check_done();
}
