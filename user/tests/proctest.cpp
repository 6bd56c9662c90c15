// /proc of a process as programs look: auxiliary vector, what is known of descriptors, scores, settings of the kernel.

#include "tests/mappings.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using mappings::amount_in_area;

char text[65536];

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

void check_settings() {
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
  check_auxiliary_vector();
  check_descriptors();
  check_watches();
  check_pages();
  check_changed_pages();
  check_scores();
  check_settings();
  return check_done();
}
