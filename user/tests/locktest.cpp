// Locks of files: record locks of processes and of open files, flock; waiting, cycles, ends.

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

namespace {

constexpr const char* path = "/tmp/locktest.file";

struct flock request(int type, off_t start, off_t length, int whence = SEEK_SET) {
  struct flock lock = {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = static_cast<short>(whence);
  lock.l_start = start;
  lock.l_len = length;
  return lock;
}

int change(int file, int command, int type, off_t start, off_t length) {
  struct flock lock = request(type, start, length);
  return fcntl(file, command, &lock);
}

// What keeps a lock of this kind out, as another process sees it: type, start and length in one number; 0: nothing.
long seen_by_child(int type, off_t start, off_t length) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const int own = open(path, O_RDWR);
    struct flock lock = request(type, start, length);
    CHECK_EQ(fcntl(own, F_GETLK, &lock), 0);
    long answer = 0;
    if (lock.l_type != F_UNLCK) {
      CHECK(lock.l_pid == getppid() || lock.l_pid == -1);
      CHECK_EQ(lock.l_whence, SEEK_SET);
      answer = (lock.l_type == F_WRLCK ? 2 : 1) * 1000000 + lock.l_start * 1000 + lock.l_len;
    }
    CHECK_EQ(write(ends[1], &answer, sizeof answer), sizeof answer);
    _exit(0);
  }
  long answer = -1;
  CHECK_EQ(read(ends[0], &answer, sizeof answer), sizeof answer);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK_EQ(close(ends[0]), 0);
  CHECK_EQ(close(ends[1]), 0);
  return answer;
}

void test_ranges() {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(file >= 0);
  CHECK_EQ(change(file, F_SETLK, F_WRLCK, 10, 20), 0);
  CHECK_EQ(seen_by_child(F_RDLCK, 0, 0), 2010020);
  CHECK_EQ(seen_by_child(F_RDLCK, 30, 0), 0);
  CHECK_EQ(change(file, F_SETLK, F_UNLCK, 15, 5), 0);  // splits it
  CHECK_EQ(seen_by_child(F_WRLCK, 0, 18), 2010005);
  CHECK_EQ(seen_by_child(F_WRLCK, 15, 5), 0);
  CHECK_EQ(seen_by_child(F_WRLCK, 15, 0), 2020010);
  CHECK_EQ(change(file, F_SETLK, F_WRLCK, 15, 5), 0);  // joins it
  CHECK_EQ(seen_by_child(F_WRLCK, 25, 1), 2010020);
  CHECK_EQ(change(file, F_SETLK, F_RDLCK, 0, 0), 0);
  CHECK_EQ(seen_by_child(F_RDLCK, 0, 0), 0);
  CHECK_EQ(seen_by_child(F_WRLCK, 500, 1), 1000000);  // to the end of all files
  // Closing any descriptor of the file gives all up.
  CHECK_EQ(close(open(path, O_RDONLY)), 0);
  CHECK_EQ(seen_by_child(F_WRLCK, 0, 0), 0);

  CHECK_EQ(ftruncate(file, 100), 0);
  CHECK_EQ(lseek(file, 50, SEEK_SET), 50);
  struct flock lock = request(F_WRLCK, -10, 5, SEEK_END);
  CHECK_EQ(fcntl(file, F_SETLK, &lock), 0);
  lock = request(F_WRLCK, 0, -10, SEEK_CUR);
  CHECK_EQ(fcntl(file, F_SETLK, &lock), 0);
  CHECK_EQ(seen_by_child(F_WRLCK, 0, 60), 2040010);
  CHECK_EQ(seen_by_child(F_WRLCK, 60, 0), 2090005);
  CHECK_EQ(seen_by_child(F_WRLCK, 0, 0), 2040010);  // the first of them in the file, though it came last

  lock = request(F_WRLCK, -1, 5);
  CHECK_ERRNO(fcntl(file, F_SETLK, &lock), EINVAL);
  lock = request(F_WRLCK, 5, -6);
  CHECK_ERRNO(fcntl(file, F_SETLK, &lock), EINVAL);
  lock = request(F_WRLCK, INT64_MAX, 2);
  CHECK_ERRNO(fcntl(file, F_SETLK, &lock), EOVERFLOW);
  lock = request(7, 0, 1);
  CHECK_ERRNO(fcntl(file, F_SETLK, &lock), EINVAL);
  lock = request(F_WRLCK, 0, 1, 9);
  CHECK_ERRNO(fcntl(file, F_SETLK, &lock), EINVAL);
  CHECK_ERRNO(fcntl(file, F_SETLK, reinterpret_cast<struct flock*>(8)), EFAULT);
  const int reader = open(path, O_RDONLY);
  CHECK_ERRNO(change(reader, F_SETLK, F_WRLCK, 0, 1), EBADF);
  CHECK_EQ(close(reader), 0);
  CHECK_EQ(close(file), 0);
}

// An open file's locks: between two opens of one process, gone with the last descriptor.
void test_open_files() {
  const int one = open(path, O_RDWR);
  const int other = open(path, O_RDWR);
  CHECK_EQ(change(one, F_OFD_SETLK, F_WRLCK, 0, 10), 0);
  CHECK_ERRNO(change(other, F_OFD_SETLK, F_RDLCK, 5, 1), EAGAIN);
  CHECK_ERRNO(change(other, F_SETLK, F_RDLCK, 5, 1), EAGAIN);
  struct flock lock = request(F_WRLCK, 0, 0);
  CHECK_EQ(fcntl(other, F_OFD_GETLK, &lock), 0);
  CHECK_EQ(lock.l_pid, -1);
  lock.l_pid = 1;
  CHECK_ERRNO(fcntl(other, F_OFD_SETLK, &lock), EINVAL);
  const int copy = dup(one);
  CHECK_EQ(close(one), 0);
  CHECK_ERRNO(change(other, F_OFD_SETLK, F_RDLCK, 5, 1), EAGAIN);
  CHECK_EQ(close(copy), 0);
  CHECK_EQ(change(other, F_OFD_SETLK, F_RDLCK, 5, 1), 0);
  CHECK_EQ(close(other), 0);
}

void test_flock() {
  const int one = open(path, O_RDWR);
  const int other = open(path, O_RDONLY);
  CHECK_EQ(flock(one, LOCK_EX), 0);
  CHECK_ERRNO(flock(other, LOCK_SH | LOCK_NB), EWOULDBLOCK);
  CHECK_EQ(change(one, F_SETLK, F_WRLCK, 0, 0), 0);  // another matter
  CHECK_EQ(flock(one, LOCK_SH), 0);
  CHECK_EQ(flock(other, LOCK_SH | LOCK_NB), 0);
  CHECK_ERRNO(flock(one, LOCK_EX | LOCK_NB), EWOULDBLOCK);
  CHECK_EQ(flock(other, LOCK_UN), 0);
  CHECK_ERRNO(flock(one, 3), EINVAL);
  CHECK_EQ(flock(one, LOCK_EX), 0);
  const pid_t child = fork();  // has the same open file
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(flock(one, LOCK_UN), 0);
    _exit(0);
  }
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  CHECK_EQ(close(one), 0);
  CHECK_EQ(close(other), 0);
}

void on_alarm(int) {}

void test_waiting() {
  const int file = open(path, O_RDWR);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_EQ(change(file, F_SETLK, F_WRLCK, 0, 1), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  char byte = 0;
  if (child == 0) {
    CHECK_EQ(change(file, F_SETLK, F_WRLCK, 1, 1), 0);
    CHECK_EQ(write(ends[1], "r", 1), 1);
    CHECK_EQ(change(file, F_SETLKW, F_WRLCK, 0, 1), 0);  // when the parent gives it up
    _exit(0);
  }
  CHECK_EQ(read(ends[0], &byte, 1), 1);
  check_sleep_us(50000);
  CHECK_ERRNO(change(file, F_SETLKW, F_WRLCK, 1, 1), EDEADLK);
  CHECK_EQ(change(file, F_SETLK, F_UNLCK, 0, 1), 0);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(change(file, F_SETLKW, F_WRLCK, 0, 0), 0);  // the child's went with it

  // A signal ends the wait.
  const int other = open(path, O_RDWR);
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  CHECK_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  CHECK_EQ(flock(file, LOCK_EX), 0);
  alarm(1);
  CHECK_ERRNO(flock(other, LOCK_EX), EINTR);
  CHECK_EQ(close(other), 0);
  CHECK_EQ(close(file), 0);
  CHECK_EQ(close(ends[0]), 0);
  CHECK_EQ(close(ends[1]), 0);
}

// Processes count under a lock: none of their steps is lost.
void test_exclusion(bool whole) {
  constexpr int crowd = 4;
  const long rounds = 300 * check_effort;
  auto* count = static_cast<volatile long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pid_t children[crowd];
  for (pid_t& child : children) {
    child = fork();
    CHECK(child >= 0);
    if (child != 0) continue;
    const int own = open(path, O_RDWR);
    for (long i = 0; i < rounds; ++i) {
      CHECK_EQ(whole ? flock(own, LOCK_EX) : change(own, F_SETLKW, F_WRLCK, 3, 4), 0);
      const long before = *count;
      check_spin(i % 7 * 50);
      *count = before + 1;
      CHECK_EQ(whole ? flock(own, LOCK_UN) : change(own, F_SETLK, F_UNLCK, 3, 4), 0);
    }
    _exit(0);
  }
  for (pid_t child : children) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
  CHECK_EQ(*count, rounds * crowd);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("locktest", argc, argv);
  test_ranges();
  test_open_files();
  test_flock();
  test_waiting();
  test_exclusion(false);
  test_exclusion(true);
  CHECK_EQ(unlink(path), 0);
  return check_done();
}
