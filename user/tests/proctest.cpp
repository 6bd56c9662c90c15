// /proc of a process as programs look: auxiliary vector, what is known of descriptors, scores, settings of the kernel.

#include "tests/mappings.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

namespace {

using mappings::amount_in_area;

char text[65536];
const char* program_name;  // the first argument, where the program got it

// What the file holds; its size.
size_t take(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  size_t size = 0;
  for (ssize_t now = 1; now > 0; size += static_cast<size_t>(now)) {
    now = read(file, text + size, sizeof text - 1 - size);
    CHECK(now >= 0);
  }
  text[size] = 0;
  CHECK_EQ(close(file), 0);
  return size;
}

long number_in(const char* path) {
  CHECK(take(path) > 0);
  return strtol(text, nullptr, 10);
}

void check_auxiliary_vector() {
  const size_t size = take("/proc/self/auxv");
  CHECK_EQ(size % 16, 0);
  unsigned long pairs[64][2];
  CHECK(size >= 32 && size <= sizeof pairs);
  memcpy(pairs, text, size);
  const size_t count = size / 16;
  CHECK_EQ(pairs[count - 1][0], AT_NULL);
  for (size_t i = 0; i + 1 < count; ++i) CHECK_EQ(pairs[i][1], getauxval(pairs[i][0]));
  const pid_t child = fork();  // as its parent
  if (child == 0) {
    CHECK_EQ(take("/proc/self/auxv"), size);
    CHECK_EQ(memcmp(text, pairs, size), 0);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

void check_descriptors() {
  const int file = open("/dev/shm/proctest.file", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
  CHECK_EQ(unlink("/dev/shm/proctest.file"), 0);
  CHECK_EQ(write(file, "12345", 5), 5);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
  CHECK(take(path) > 0);
  long position = -1, flags = -1;
  unsigned long inode = 0;
  int mount = -1;
  CHECK_EQ(sscanf(text, "pos: %ld flags: %lo mnt_id: %d ino: %lu", &position, &flags, &mount, &inode), 4);
  CHECK_EQ(position, 5);
  CHECK_EQ(flags & 0xfffff, (O_RDWR | O_APPEND | O_CLOEXEC | 0100000) & 0xfffff);
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  CHECK_EQ(inode, status.st_ino);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  snprintf(path, sizeof path, "/proc/self/task/%ld/fdinfo/%d", syscall(SYS_gettid), ends[0]);
  CHECK(take(path) > 0);
  CHECK_EQ(sscanf(text, "pos: %ld flags: %lo", &position, &flags), 2);
  CHECK(position == 0 && flags == O_RDONLY);
  CHECK_EQ(close(ends[0]), 0);
  CHECK_ERRNO(open(path, O_RDONLY), ENOENT);
  close(ends[1]);
  close(file);
}

// Each watch has a line of its own, with what it watches for; the newest comes first.
void check_watches() {
  const int watcher = inotify_init1(0);
  CHECK_EQ(inotify_add_watch(watcher, "/dev", IN_CREATE | IN_ONESHOT), 1);
  CHECK_EQ(inotify_add_watch(watcher, "/dev/shm", IN_DELETE | IN_EXCL_UNLINK), 2);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", watcher);
  CHECK(take(path) > 0);
  struct stat status;
  CHECK_EQ(stat("/dev/shm", &status), 0);
  CHECK(strstr(text, "\ninotify wd:2 ") < strstr(text, "\ninotify wd:1 "));
  const unsigned wanted[] = {IN_CREATE | IN_ONESHOT, IN_DELETE | IN_EXCL_UNLINK};
  for (int number = 1; number <= 2; ++number) {
    char start[32];
    snprintf(start, sizeof start, "\ninotify wd:%x ", number);
    const char* line = strstr(text, start);
    CHECK(line != nullptr);
    unsigned long inode = 0;
    unsigned mask = 0;
    CHECK_EQ(sscanf(line, " inotify wd:%*x ino:%lx sdev:%*x mask:%x", &inode, &mask), 2);
    CHECK_EQ(mask, wanted[number - 1]);
    if (number == 2) CHECK_EQ(inode, status.st_ino);
  }
  CHECK_EQ(inotify_add_watch(watcher, "/tmp", IN_CREATE), 3);
  CHECK_EQ(inotify_rm_watch(watcher, 2), 0);
  CHECK_ERRNO(inotify_rm_watch(watcher, 2), EINVAL);
  CHECK_ERRNO(inotify_rm_watch(watcher, 4), EINVAL);
  CHECK(take(path) > 0);
  const char* const newest = strstr(text, "\ninotify wd:3 ");
  CHECK(newest != nullptr && newest < strstr(text, "\ninotify wd:1 ") && strstr(text, "\ninotify wd:2 ") == nullptr);
  CHECK_EQ(close(watcher), 0);
}

void check_pages() {
  constexpr size_t page = 4096;
  auto* const around = static_cast<char*>(mmap(nullptr, 18 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(around != MAP_FAILED);
  char* const area = around + page;
  CHECK_EQ(mprotect(area, 16 * page, PROT_READ | PROT_WRITE), 0);
  CHECK_EQ(amount_in_area(area, "Size"), 64);
  CHECK_EQ(amount_in_area(area, "Rss"), 0);
  for (size_t i = 0; i < 5; ++i) area[i * page] = 1;
  CHECK_EQ(amount_in_area(area, "Rss"), 20);
  CHECK_EQ(amount_in_area(area, "Pss"), 20);
  CHECK_EQ(amount_in_area(area, "Private_Dirty"), 20);
  CHECK_EQ(amount_in_area(area, "Anonymous"), 20);
  const pid_t child = fork();
  if (child == 0) {
    const bool shared = amount_in_area(area, "Shared_Dirty") == 20 && amount_in_area(area, "Pss") == 10;
    area[0] = 2;
    _exit(shared && amount_in_area(area, "Private_Dirty") == 4 && amount_in_area(area, "Shared_Dirty") == 16 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(mprotect(area + page, 2 * page, PROT_NONE), 0);  // the pages stay in memory
  CHECK_EQ(amount_in_area(area + page, "Rss"), 8);
  CHECK_EQ(amount_in_area(area + page, "Anonymous"), 8);
  CHECK_EQ(mprotect(area + page, 2 * page, PROT_READ | PROT_WRITE), 0);
  CHECK(take("/proc/self/smaps_rollup") > 0);
  const char* sum = strstr(text, "\nPrivate_Dirty:");
  long dirty = 0;
  CHECK(sum != nullptr && sscanf(sum, " Private_Dirty: %ld kB", &dirty) == 1 && dirty >= 20);
  CHECK_EQ(munmap(around, 18 * page), 0);
}

// The line of /proc/self/maps for the area that begins there.
const char* line_of(const void* start) {
  CHECK(take("/proc/self/maps") > 0);
  char beginning[32];
  snprintf(beginning, sizeof beginning, "%08lx-", reinterpret_cast<unsigned long>(start));
  const char* const found = strstr(text, beginning);
  CHECK(found != nullptr && (found == text || found[-1] == '\n'));
  return found;
}

void check_lines_of_maps() {
  constexpr size_t page = 4096;
  const int file = memfd_create("mapped", 0);
  CHECK(file >= 0 && ftruncate(file, 3 * page) == 0);
  struct stat about;
  CHECK_EQ(fstat(file, &about), 0);
  void* const area = mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, file, page);
  CHECK(area != MAP_FAILED);
  const char* line = line_of(area);
  unsigned long start = 0, end = 0, offset = 0, inode = 0;
  unsigned major_number = 0, minor_number = 0;
  char rights[5] = {};
  int used = 0;
  CHECK_EQ(
      sscanf(line, "%lx-%lx %4s %lx %x:%x %lu%n", &start, &end, rights, &offset, &major_number, &minor_number, &inode, &used),
      7);
  CHECK_EQ(end - start, 2 * page);
  CHECK_EQ(strcmp(rights, "r--s"), 0);
  CHECK_EQ(offset, page);
  CHECK_EQ(makedev(major_number, minor_number), about.st_dev);
  CHECK_EQ(inode, about.st_ino);
  for (int i = used; i < 73; ++i) CHECK_EQ(line[i], ' ');
  CHECK_EQ(strncmp(line + 73, "/memfd:mapped", 13), 0);
  CHECK_EQ(munmap(area, 2 * page), 0);
  CHECK_EQ(close(file), 0);

  auto* const around = static_cast<char*>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(around != MAP_FAILED && mprotect(around + page, page, PROT_READ) == 0);
  CHECK_EQ(strncmp(strchr(line_of(around + page), ' '), " r--p 00000000 00:00 0 \n", 24), 0);
  CHECK_EQ(munmap(around, 3 * page), 0);
}

// A page of a private mapping that was changed is the process's own, even when nobody may write it any more.
void check_changed_pages() {
  constexpr size_t page = 4096;
  const int file = open("/proc/self/exe", O_RDONLY);
  auto* const area = static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  CHECK(area != MAP_FAILED && close(file) == 0);
  CHECK(area[0] == '\x7f' && area[page] == area[page] && area[2 * page] == area[2 * page]);
  CHECK_EQ(amount_in_area(area, "Anonymous"), 0);
  area[0] = 1;
  area[3 * page] = 1;
  CHECK_EQ(amount_in_area(area, "Anonymous"), 8);
  CHECK_EQ(mprotect(area, 4 * page, PROT_READ), 0);
  CHECK_EQ(amount_in_area(area, "Anonymous"), 8);
  const pid_t child = fork();
  if (child == 0) {
    const bool own = amount_in_area(area, "Anonymous") == 8 && amount_in_area(area, "Shared_Dirty") >= 8;
    if (mprotect(area, 4 * page, PROT_READ | PROT_WRITE) != 0) _exit(2);
    area[2 * page] = 1;
    _exit(own && amount_in_area(area, "Anonymous") == 12 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(mprotect(area, page, PROT_NONE), 0);
  CHECK_EQ(amount_in_area(area, "Anonymous"), 4);
  CHECK_EQ(amount_in_area(area + page, "Anonymous"), 4);
  CHECK_EQ(munmap(area, 4 * page), 0);
}

void check_scores() {
  const long before = number_in("/proc/self/oom_score_adj");
  const int file = open("/proc/self/oom_score_adj", O_WRONLY);
  CHECK(file >= 0);
  CHECK_ERRNO(write(file, "1001", 4), EINVAL);
  CHECK_ERRNO(write(file, "much", 4), EINVAL);
  CHECK_EQ(write(file, "700\n", 4), 4);
  CHECK_EQ(number_in("/proc/self/oom_score_adj"), 700);
  const pid_t child = fork();
  if (child == 0) _exit(number_in("/proc/self/oom_score_adj") == 700 ? 0 : 1);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  char old[16];
  const int size = snprintf(old, sizeof old, "%ld", before);
  (void)!write(file, old, static_cast<size_t>(size));  // who is not root cannot lower it again
  close(file);
}

// What fdinfo tells of the descriptor; in `text`.
void take_descriptor(int descriptor) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
  CHECK(take(path) > 0);
}

void check_event_files() {
  const int counter = eventfd(0xabc, 0);
  take_descriptor(counter);
  CHECK(strstr(text, "\neventfd-count:              abc\n") != nullptr);
  const int poller = epoll_create1(0);
  epoll_event wanted{EPOLLIN | EPOLLET, {.u64 = 0x1234567890abcdef}};
  CHECK_EQ(epoll_ctl(poller, EPOLL_CTL_ADD, counter, &wanted), 0);
  const int file = open("/proc/self/fdinfo", O_RDONLY);
  CHECK_ERRNO(epoll_ctl(poller, EPOLL_CTL_ADD, file, &wanted), EPERM);
  take_descriptor(poller);
  char line[128];
  snprintf(line, sizeof line, "\ntfd: %8d events: 80000019 data: 1234567890abcdef  pos:0 ino:", counter);
  CHECK(strstr(text, line) != nullptr);
  wanted = {EPOLLOUT | EPOLLONESHOT, {.u64 = 7}};
  CHECK_EQ(epoll_ctl(poller, EPOLL_CTL_ADD, fcntl(counter, F_DUPFD, 100), &wanted), 0);
  CHECK_EQ(epoll_wait(poller, &wanted, 1, 0), 1);
  CHECK_EQ(epoll_wait(poller, &wanted, 1, 0), 1);
  take_descriptor(poller);
  const char* const more = strstr(text, "\ntfd:      100 events: 40000000 data:                7  pos:0 ino:");
  CHECK(more != nullptr && strstr(text, line) < more);

  const int timer = timerfd_create(CLOCK_BOOTTIME, 0);
  take_descriptor(timer);
  CHECK(strstr(text, "\nclockid: 7\nticks: 0\nsettime flags: 00\nit_value: (0, 0)\nit_interval: (0, 0)\n") != nullptr);
  const itimerspec past = {{5000, 7}, {0, 1}};
  CHECK_EQ(timerfd_settime(timer, TFD_TIMER_ABSTIME, &past, nullptr), 0);
  pollfd ready = {timer, POLLIN, 0};
  CHECK_EQ(poll(&ready, 1, -1), 1);
  take_descriptor(timer);
  CHECK(strstr(text, "\nticks: 1\nsettime flags: 01\nit_value: (") != nullptr);
  CHECK(strstr(text, "\nit_interval: (5000, 7)\n") != nullptr);
  const int all[] = {counter, poller, file, timer, 100};
  for (const int each : all) CHECK_EQ(close(each), 0);
}

// The amount in a line of status, in kB or as it is.
long status_amount(const char* name) {
  CHECK(take("/proc/self/status") > 0);
  char start[32];
  snprintf(start, sizeof start, "\n%s:", name);
  const char* const line = strstr(text, start);
  CHECK(line != nullptr);
  return strtol(line + strlen(start), nullptr, 10);
}

void check_status() {
  constexpr size_t size = 16 << 20;
  const long before = status_amount("VmSize"), data = status_amount("VmData"), library = status_amount("VmLib");
  auto* const area = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(area != MAP_FAILED);
  for (size_t i = 0; i < size; i += 4096) area[i] = 1;
  CHECK_EQ(status_amount("VmData"), data + long{size >> 10});
  CHECK(status_amount("VmPeak") >= before + long{size >> 10});
  CHECK_EQ(mprotect(area, size / 2, PROT_READ | PROT_EXEC), 0);
  CHECK_EQ(status_amount("VmData"), data + long{size >> 11});
  CHECK_EQ(status_amount("VmLib"), library + long{size >> 11});
  CHECK_EQ(munmap(area, size), 0);
  CHECK_EQ(status_amount("VmSize"), before);
  CHECK_EQ(status_amount("VmData"), data);
  CHECK(status_amount("VmPeak") >= before + long{size >> 10});
  CHECK(status_amount("VmHWM") >= long{size >> 10} && status_amount("VmHWM") > status_amount("VmRSS"));
  CHECK(status_amount("VmExe") > 0 && status_amount("VmStk") >= 64);
  const long code = status_amount("VmExe") / 4, written = (status_amount("VmData") + status_amount("VmStk")) / 4;
  CHECK(take("/proc/self/statm") > 0);
  long told_code = 0, told_data = 0;
  CHECK_EQ(sscanf(text, "%*d %*d %*d %ld 0 %ld 0", &told_code, &told_data), 2);
  CHECK_EQ(told_code, code);
  CHECK_EQ(told_data, written);
}

// Field `number` of the process's stat, counted from 1; from the third on.
unsigned long stat_field(const char* process, int number) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/stat", process);
  CHECK(take(path) > 0);
  const char* at = strrchr(text, ')');
  CHECK(at != nullptr);
  for (int field = 2; field < number; ++field) {
    at = strchr(at, ' ');
    CHECK(at != nullptr);
    ++at;
  }
  return strtoul(at, nullptr, 10);
}

extern "C" char etext, edata;  // the linker's: where code and initialised data end

void check_stat() {
  const auto address = [](const void* place) { return reinterpret_cast<unsigned long>(place); };
  const unsigned long code_start = stat_field("self", 26), code_end = stat_field("self", 27);
  CHECK(code_start < address(reinterpret_cast<const void*>(&check_stat)));
  CHECK_EQ(code_end & ~0xffful, address(&etext) & ~0xffful);
  static int written = 1;
  CHECK(stat_field("self", 45) < address(&written));
  CHECK_EQ(stat_field("self", 46), address(&edata));
  CHECK(stat_field("self", 47) >= stat_field("self", 46) && stat_field("self", 47) <= address(sbrk(0)));
  CHECK(stat_field("self", 28) > address(&code_start) && stat_field("self", 28) < stat_field("self", 48));
  CHECK_EQ(stat_field("self", 48), address(program_name));
  CHECK_EQ(stat_field("self", 49), stat_field("self", 50));
  CHECK(stat_field("self", 51) > stat_field("self", 50));
  // Faults, of the process itself and of children that were waited for.
  const unsigned long faults = stat_field("self", 10), of_children = stat_field("self", 11);
  constexpr size_t size = 64 * 4096;
  auto* const area = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(area != MAP_FAILED && madvise(area, size, MADV_NOHUGEPAGE) == 0);
  for (size_t i = 0; i < size; i += 4096) area[i] = 1;
  CHECK(stat_field("self", 10) >= faults + 64);
  CHECK_EQ(munmap(area, size), 0);
  rlimit resident{};
  CHECK_EQ(getrlimit(RLIMIT_RSS, &resident), 0);
  CHECK_EQ(stat_field("self", 25), resident.rlim_cur);
  CHECK_EQ(stat_field("self", 9) & 0x40, 0);
  const pid_t child = fork();
  if (child == 0) {
    rlimit less = resident;
    less.rlim_cur = 1 << 20;
    CHECK_EQ(setrlimit(RLIMIT_RSS, &less), 0);
    CHECK_EQ(stat_field("self", 25), 1 << 20);
    CHECK_EQ(stat_field("self", 9) & 0x40, 0x40);  // it has executed no program
    CHECK_EQ(stat_field("self", 38), SIGCHLD);
    CHECK_EQ(stat_field("self", 26), code_start);
    _exit(5);
  }
  siginfo_t info{};
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  char name[16];
  snprintf(name, sizeof name, "%d", child);
  CHECK_EQ(stat_field(name, 52), 5 << 8);
  CHECK_EQ(stat_field(name, 26), 0);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK(stat_field("self", 11) > of_children);
}

// Signals with information that wait for processes of the user, and timers that may send one.
void check_queued_signals() {
  rlimit most{};
  CHECK_EQ(getrlimit(RLIMIT_SIGPENDING, &most), 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  const long before = status_amount("SigQ");
  for (int i = 0; i < 50; ++i) CHECK_EQ(sigqueue(getpid(), SIGRTMIN, {}), 0);
  CHECK(status_amount("SigQ") >= before + 40);  // the user may have other processes
  unsigned long limit = 0;
  CHECK_EQ(sscanf(strstr(text, "\nSigQ:"), " SigQ: %*d/%lu", &limit), 1);
  CHECK_EQ(limit, most.rlim_cur);
  for (int i = 0; i < 50; ++i) CHECK_EQ(sigwaitinfo(&set, nullptr), SIGRTMIN);
  CHECK(status_amount("SigQ") < before + 40);
  timer_t timers[50];
  for (timer_t& timer : timers) CHECK_EQ(timer_create(CLOCK_MONOTONIC, nullptr, &timer), 0);
  CHECK(status_amount("SigQ") >= before + 40);
  for (timer_t& timer : timers) CHECK_EQ(timer_delete(timer), 0);
  CHECK(status_amount("SigQ") < before + 40);
  // Another user's are counted by themselves.
  if (geteuid() != 0) return;
  for (int i = 0; i < 50; ++i) CHECK_EQ(sigqueue(getpid(), SIGRTMIN, {}), 0);
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(setuid(54321), 0);
    CHECK_EQ(status_amount("SigQ"), 0);
    CHECK_EQ(sigqueue(getpid(), SIGRTMIN, {}), 0);
    CHECK_EQ(status_amount("SigQ"), 1);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  for (int i = 0; i < 50; ++i) CHECK_EQ(sigwaitinfo(&set, nullptr), SIGRTMIN);
}

void check_settings() {
  CHECK(number_in("/proc/sys/net/core/somaxconn") >= 128);
  CHECK_EQ(take("/proc/self/personality"), 9);
  CHECK_EQ(strcmp(text, "00000000\n"), 0);
  CHECK(number_in("/proc/sys/kernel/pid_max") > 1000);
  CHECK(number_in("/proc/sys/kernel/threads-max") > 1000);
  CHECK_EQ(number_in("/proc/sys/kernel/ngroups_max"), 65536);
  CHECK(number_in("/proc/sys/kernel/cap_last_cap") >= 40);
  CHECK(number_in("/proc/sys/fs/nr_open") >= 1048576);
  CHECK_EQ(number_in("/proc/sys/fs/pipe-max-size"), 1048576);
  CHECK(number_in("/proc/sys/vm/max_map_count") >= 65530);
  CHECK(number_in("/proc/sys/vm/mmap_min_addr") >= 4096);
  CHECK_EQ(take("/proc/sys/kernel/ostype"), 6);
  CHECK_EQ(strcmp(text, "Linux\n"), 0);
  CHECK_EQ(take("/proc/sys/kernel/random/uuid"), 37);
  CHECK(take("/proc/sys/kernel/version") > 3 && text[0] == '#');
  CHECK(take("/proc/filesystems") > 0);
  CHECK(strstr(text, "nodev\ttmpfs\n") != nullptr && strstr(text, "nodev\tproc\n") != nullptr);
  CHECK(take("/proc/self/wchan") > 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("proctest", argc, argv);
  program_name = argv[0];
  check_auxiliary_vector();
  check_descriptors();
  check_watches();
  check_pages();
  check_changed_pages();
  check_lines_of_maps();
  check_scores();
  check_event_files();
  check_status();
  check_stat();
  check_queued_signals();
  check_settings();
  return check_done();
}
