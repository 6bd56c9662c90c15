// A program that runs is not written to, and one that is open for writing does not run (ETXTBSY); what a file system does not allow as it
// is mounted: changes (ro), programs (noexec), devices (nodev); and waiting for changes of what is mounted. usage: busytest [EFFORT]; all but
// the first part only for who may mount.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "check.h"

namespace {

void copy_own_program(const char* to) {
  static char bytes[65536];
  const int from = open("/proc/self/exe", O_RDONLY);
  const int file = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  CHECK(from >= 0 && file >= 0);
  for (;;) {
    const ssize_t size = read(from, bytes, sizeof bytes);
    CHECK(size >= 0);
    if (size == 0) break;
    CHECK(write(file, bytes, static_cast<size_t>(size)) == size);
  }
  CHECK(close(from) == 0 && close(file) == 0);
}

// The number of the error with which executing it fails; 0: it runs, and ends with 0 when the other end of `hold` is closed.
int execute(const char* path, int (&hold)[2], pid_t& child) {
  int told[2];
  CHECK(pipe(hold) == 0 && pipe2(told, O_CLOEXEC) == 0);
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(hold[0], 0);
    close(hold[1]);
    execl(path, path, "wait", static_cast<char*>(nullptr));
    const int error = errno;
    _exit(write(told[1], &error, sizeof error) == sizeof error ? 1 : 2);
  }
  close(told[1]);
  close(hold[0]);
  int error = 0;
  if (read(told[0], &error, sizeof error) != sizeof error) error = 0;
  close(told[0]);
  return error;
}

void end(int (&hold)[2], pid_t child, int wanted) {
  int status = 0;
  CHECK(close(hold[1]) == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

int error_of(const char* path) {
  int hold[2];
  pid_t child;
  const int error = execute(path, hold, child);
  end(hold, child, error == 0 ? 0 : 1);
  return error;
}

void busy_programs() {
  copy_own_program("program");
  int hold[2];
  pid_t child;
  CHECK(execute("program", hold, child) == 0);
  CHECK_ERRNO(open("program", O_WRONLY), ETXTBSY);
  CHECK_ERRNO(open("program", O_RDWR | O_TRUNC), ETXTBSY);
  CHECK_ERRNO(truncate("program", 0), ETXTBSY);
  const int reading = open("program", O_RDONLY);
  CHECK(reading >= 0 && close(reading) == 0);
  end(hold, child, 0);
  const int file = open("program", O_WRONLY);
  CHECK(file >= 0);
  CHECK(error_of("program") == ETXTBSY);
  CHECK(close(file) == 0);
  CHECK(error_of("program") == 0);
  CHECK(execute("program", hold, child) == 0);
  CHECK(unlink("program") == 0);  // the name may go, and another file may have it
  copy_own_program("program");
  end(hold, child, 0);
  CHECK_ERRNO(open("/proc/self/exe", O_WRONLY), ETXTBSY);

  const int script = open("script", O_WRONLY | O_CREAT, 0755);
  CHECK(script >= 0 && write(script, "#!program\n", 10) == 10);
  CHECK(error_of("script") == ETXTBSY);
  CHECK(close(script) == 0 && unlink("script") == 0 && unlink("program") == 0);
}

// Many times, at once after the program's end: it is free by then.
void soon_after_the_end() {
  copy_own_program("again");
  for (int i = 0; i < 30 * static_cast<int>(check_effort); ++i) {
    CHECK(error_of("again") == 0);
    const int file = open("again", O_RDWR);
    CHECK(file >= 0 && close(file) == 0);
  }
  CHECK(unlink("again") == 0);
}

// False: who runs this may not mount.
bool mounts() {
  CHECK(mkdir("m", 0755) == 0);
  if (mount("none", "m", "tmpfs", MS_NODEV | MS_NOSUID, "") != 0) {
    CHECK((errno == EPERM || errno == EACCES) && rmdir("m") == 0);
    return false;
  }
  struct statvfs s = {};
  CHECK(statvfs("m", &s) == 0 && (s.f_flag & (ST_NODEV | ST_NOSUID | ST_NOEXEC | ST_RDONLY)) == (ST_NODEV | ST_NOSUID));
  CHECK(mknod("m/null", S_IFCHR | 0666, makedev(1, 3)) == 0);
  CHECK_ERRNO(open("m/null", O_RDONLY), EACCES);
  copy_own_program("m/program");
  CHECK(error_of("m/program") == 0 && access("m/program", X_OK) == 0);
  CHECK(mkdir("m/d", 0755) == 0 && mkdir("m/d/e", 0755) == 0);

  CHECK(mount("none", "m", "tmpfs", MS_REMOUNT | MS_NOEXEC, "") == 0);
  CHECK(error_of("m/program") == EACCES);
  CHECK_ERRNO(access("m/program", X_OK), EACCES);
  int file = open("m/program", O_RDWR);
  CHECK(file >= 0);
  CHECK(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED && errno == EPERM);
  CHECK_ERRNO(mount("none", "m", "tmpfs", MS_REMOUNT | MS_RDONLY, ""), EBUSY);
  CHECK(close(file) == 0);
  file = open("m/null", O_RDONLY);
  CHECK(file >= 0 && close(file) == 0);

  CHECK(mount("none", "m", "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
  CHECK(statvfs("m", &s) == 0 && (s.f_flag & (ST_NODEV | ST_NOSUID | ST_NOEXEC | ST_RDONLY)) == ST_RDONLY);
  CHECK_ERRNO(open("m/new", O_WRONLY | O_CREAT, 0600), EROFS);
  CHECK_ERRNO(open("m/program", O_WRONLY), EROFS);
  CHECK_ERRNO(open("m/program", O_RDWR | O_TRUNC), EROFS);
  CHECK_ERRNO(truncate("m/program", 0), EROFS);
  CHECK_ERRNO(access("m/program", W_OK), EROFS);
  CHECK_ERRNO(mkdir("m/x", 0755), EROFS);
  CHECK_ERRNO(mkdir("m/d", 0755), EEXIST);
  CHECK_ERRNO(rmdir("m/d/e"), EROFS);
  CHECK_ERRNO(rmdir("m/none"), EROFS);
  CHECK_ERRNO(unlink("m/program"), EROFS);
  CHECK_ERRNO(unlink("m/none"), EROFS);
  CHECK_ERRNO(rename("m/program", "m/other"), EROFS);
  CHECK_ERRNO(link("m/program", "m/other"), EROFS);
  CHECK_ERRNO(symlink("x", "m/link"), EROFS);
  CHECK_ERRNO(mknod("m/fifo", S_IFIFO | 0600, 0), EROFS);
  CHECK_ERRNO(chmod("m/program", 0600), EROFS);
  CHECK_ERRNO(utimensat(AT_FDCWD, "m/program", nullptr, 0), EROFS);
  file = open("m/null", O_RDWR);  // a device is not of the file system
  CHECK(file >= 0 && close(file) == 0);
  CHECK(error_of("m/program") == 0);
  CHECK(mount("none", "m", "tmpfs", MS_REMOUNT, "") == 0);
  CHECK(unlink("m/program") == 0 && rmdir("m/d/e") == 0);
  CHECK_ERRNO(mount("none", "m/d", "tmpfs", MS_REMOUNT, ""), EINVAL);
  CHECK(umount("m") == 0 && rmdir("m") == 0);
  return true;
}

// /proc/self/mounts and mountinfo can be waited for; each look tells of what has changed since the look before. `m` is mounted in a child.
void changes_of_mounts() {
  constexpr short events = POLLPRI | POLLIN;
  pollfd files[] = {{open("/proc/self/mounts", O_RDONLY), events, 0}, {open("/proc/self/mountinfo", O_RDONLY), events, 0}};
  CHECK(files[0].fd >= 0 && files[1].fd >= 0);
  const auto expect = [&](int bits) {
    CHECK(poll(files, 2, 0) == 2);
    for (const pollfd& file : files) CHECK(file.revents == (POLLIN | bits));
  };
  constexpr int changed = POLLPRI | POLLERR;
  const int instance = epoll_create1(0), other = open("/proc/mounts", O_RDONLY);
  epoll_event event = {};
  event.events = EPOLLPRI;
  CHECK(instance >= 0 && other >= 0 && epoll_ctl(instance, EPOLL_CTL_ADD, other, &event) == 0);
  CHECK(epoll_wait(instance, &event, 1, 0) == 0);
  expect(0);
  CHECK(mkdir("m", 0755) == 0);
  const auto wait_for_child = [&](auto&& body) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(body() ? 0 : 1);
    pollfd only = {files[0].fd, POLLPRI, 0};
    CHECK(poll(&only, 1, 60000) == 1 && only.revents == changed);
    CHECK(poll(&only, 1, 0) == 0);
    CHECK(epoll_wait(instance, &event, 1, 60000) == 1 && event.events == (EPOLLPRI | EPOLLERR));
    CHECK(epoll_wait(instance, &event, 1, 0) == 0);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(poll(&files[1], 1, 0) == 1 && files[1].revents == (POLLIN | changed));
    expect(0);
  };
  wait_for_child([] { return mount("none", "m", "tmpfs", 0, "") == 0; });
  wait_for_child([] { return mount("none", "m", "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0; });
  expect(0);
  wait_for_child([] { return umount("m") == 0; });
  for (const pollfd& file : files) CHECK(close(file.fd) == 0);
  CHECK(close(other) == 0 && close(instance) == 0 && rmdir("m") == 0);
}

// A change is told, although the memory that it is told in has no place on its disk yet and waits for one. DISK: one with an ext2 whose
// blocks are small, so that its bitmap of blocks lies away from what is read anyway.
void changes_told_late(const char* disk) {
  constexpr off_t page = 4096;
  CHECK(mkdir("m", 0755) == 0 && mount(disk, "m", "ext2", 0, "") == 0);
  const int made = open("m/holes", O_RDWR | O_CREAT, 0600);
  CHECK(made >= 0 && ftruncate(made, 2 * page) == 0 && close(made) == 0);
  const int first = dup(0), mounts_file = open("/proc/self/mounts", O_RDONLY), instance = epoll_create1(0);
  epoll_event wanted = {};
  wanted.events = EPOLLPRI;
  CHECK(mounts_file >= 0 && epoll_ctl(instance, EPOLL_CTL_ADD, mounts_file, &wanted) == 0);
  CHECK(dup2(mounts_file, 0) == 0);  // what a pollfd of zeros asks for
  for (int way = 0; way < 2; ++way) {
    const bool with_epoll = way == 1;
    pollfd now = {0, POLLPRI, 0};
    CHECK(umount("m") == 0 && mount(disk, "m", "ext2", 0, "") == 0);  // the disk's blocks are not in memory
    const int file = open("m/holes", O_RDWR);
    CHECK(file >= 0);
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, with_epoll ? page : 0);
    CHECK(memory != MAP_FAILED && close(file) == 0);
    if (with_epoll) {
      const auto* event = static_cast<epoll_event*>(memory);
      CHECK(epoll_wait(instance, static_cast<epoll_event*>(memory), 1, 0) == 1 && event->events == (EPOLLPRI | EPOLLERR));
    } else {
      CHECK(poll(static_cast<pollfd*>(memory), 1, 0) == 1 && static_cast<pollfd*>(memory)->revents == POLLERR);
    }
    CHECK(poll(&now, 1, 0) == 0);
    CHECK(munmap(memory, page) == 0);
  }
  CHECK(dup2(first, 0) == 0 && close(first) == 0 && close(mounts_file) == 0 && close(instance) == 0);
  CHECK(unlink("m/holes") == 0 && umount("m") == 0 && rmdir("m") == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "wait") == 0) {
    char byte;
    return read(0, &byte, 1) == 0 ? 0 : 1;
  }
  check_begin("busytest", argc, argv);
  char own[64];
  snprintf(own, sizeof own, "/tmp/busytest-%d", static_cast<int>(getpid()));
  CHECK(mkdir(own, 0755) == 0 && chdir(own) == 0);
  busy_programs();
  soon_after_the_end();
  const char* disk = getenv("DISK");
  if (mounts()) changes_of_mounts();
  if (disk != nullptr) changes_told_late(disk);
  CHECK(rmdir(own) == 0);
  return check_done();
}
