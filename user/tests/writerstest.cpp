// Several threads write to one file and make it shorter at the same time: each call happens as a whole, before or after the others, so
// that nothing is found in the file but what was written into it. And who looks at a file by other names while it is written does not
// make it shorter by that. usage: writerstest [EFFORT], in a directory of its own in $DIRECTORY or /tmp; with $KEPT only what is to be kept
// at once is written, into that file.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "check.h"

namespace {

constexpr size_t most = 64 << 10;
constexpr int writers = 3;

char text[most];  // x

struct Round {
  int file;
  bool appends;
  size_t size;  // of each write
  volatile int stop;
};

void* write_again_and_again(void* argument) {
  Round& round = *static_cast<Round*>(argument);
  const auto size = static_cast<ssize_t>(round.size);
  while (!round.stop) {
    struct stat status;
    CHECK(fstat(round.file, &status) == 0);
    if (status.st_size > 1 << 19) {
      sched_yield();
    } else {
      CHECK_EQ(round.appends ? write(round.file, text, round.size) : pwrite(round.file, text, round.size, 0), size);
    }
  }
  return nullptr;
}

// The file is cut to `cut` bytes again and again, and looked at by whoever has cut it.
void write_and_cut(int file, bool appends, size_t size, size_t cut) {
  static char found[1 << 20];
  Round round{file, appends, size, 0};
  CHECK(pwrite(file, text, size, 0) == static_cast<ssize_t>(size));
  pthread_t thread[writers];
  for (pthread_t& one : thread) CHECK(pthread_create(&one, nullptr, write_again_and_again, &round) == 0);
  for (int i = 0; i < 200 * check_effort; ++i) {
    CHECK(ftruncate(file, static_cast<off_t>(cut)) == 0);
    const ssize_t count = pread(file, found, sizeof found, 0);
    CHECK(count >= static_cast<ssize_t>(cut));
    const char* other = found;
    while (other < found + count && *other == 'x') ++other;
    CHECK_EQ(other - found, count);
    check_spin(i % 64 * 100);
  }
  round.stop = 1;
  for (const pthread_t one : thread) CHECK(pthread_join(one, nullptr) == 0);
}

void write_at_once(int file, int appending) {
  write_and_cut(appending, true, most / 2, 0);
  write_and_cut(appending, true, 3000, 0);
  write_and_cut(file, false, 3000, 5);
  write_and_cut(file, false, most / 2, 4096);
  write_and_cut(file, false, most / 2, 5000);
}

constexpr int links = 200;
volatile int looking;

const char* link_name(int i) {
  static __thread char name[16];
  snprintf(name, sizeof name, "link%d", i);
  return name;
}

void* look(void*) {
  for (int i = 0; looking; i = (i + 1) % links) {
    struct stat status;
    CHECK(stat(link_name(i), &status) == 0);
  }
  return nullptr;
}

// What is appended stands at the end, although somebody asks what the file is all the time, by names that have not been asked for lately.
void append_while_others_look(int file, int appending) {
  CHECK(ftruncate(file, 0) == 0);
  for (int i = 0; i < links; ++i) CHECK(link("file", link_name(i)) == 0);
  looking = 1;
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, look, nullptr) == 0);
  for (int i = 0; i < 300 * check_effort; ++i) {
    char record[100];
    memset(record, 'a' + i % 26, sizeof record);
    if (i % 100 == 99) { CHECK(ftruncate(file, i * 100 - 7) == 0 && ftruncate(file, i * 100) == 0); }
    CHECK(write(appending, record, sizeof record) == sizeof record && fsync(appending) == 0);
    struct stat status;
    CHECK(fstat(file, &status) == 0);
    CHECK_EQ(status.st_size, (i + 1) * 100);
  }
  looking = 0;
  CHECK(pthread_join(thread, nullptr) == 0);
}

// A file is the same by each name that it still has, whichever was used last.
void names_go() {
  struct stat status;
  for (int i = 0; i < links; ++i) {
    CHECK(stat(link_name(i), &status) == 0 && unlink(link_name(i)) == 0);
    CHECK(stat("file", &status) == 0 && status.st_nlink == static_cast<nlink_t>(links - i));
    CHECK(chmod("file", i % 2 == 0 ? 0600 : 0640) == 0);
    const int again = open("file", O_RDONLY);
    CHECK(again >= 0 && fstat(again, &status) == 0 && (status.st_mode & 0777) == (i % 2 == 0 ? 0600u : 0640u));
    CHECK(close(again) == 0);
  }
}

constexpr int directories = 20;

const char* in_directory(int number, const char* name) {
  static __thread char path[2][64];
  static __thread int next;
  next = 1 - next;
  snprintf(path[next], sizeof path[next], "directory%d/%s", number, name);
  return path[next];
}

void* look_at_directories(void*) {
  for (int i = 0; looking; i = (i + 1) % directories) {
    struct stat status;
    CHECK_EQ(stat(in_directory(i, ""), &status), 0);
  }
  return nullptr;
}

void change_names(int number) {
  const int file = open(in_directory(number, "file"), O_WRONLY | O_CREAT | O_EXCL, 0600);
  CHECK(file >= 0 && close(file) == 0);
  CHECK_EQ(mkdir(in_directory(number, "inside"), 0700), 0);
  CHECK_EQ(link(in_directory(number, "file"), in_directory(number, "inside/link")), 0);
  CHECK_EQ(rename(in_directory(number, "file"), in_directory(number, "inside/file")), 0);
  CHECK_EQ(symlink("file", in_directory(number, "inside/symlink")), 0);
  CHECK_EQ(unlink(in_directory(number, "inside/link")), 0);
  CHECK_EQ(unlink(in_directory(number, "inside/file")), 0);
  CHECK_EQ(unlink(in_directory(number, "inside/symlink")), 0);
  CHECK_EQ(rmdir(in_directory(number, "inside")), 0);
}

// Names come and go in directories that somebody looks at all the time.
void names_change_while_others_look() {
  for (int i = 0; i < directories; ++i) CHECK_EQ(mkdir(in_directory(i, ""), 0700), 0);
  looking = 1;
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, look_at_directories, nullptr) == 0);
  for (int i = 0; i < 400 * check_effort; ++i) change_names(i % directories);
  looking = 0;
  CHECK(pthread_join(thread, nullptr) == 0);
  for (int i = 0; i < directories; ++i) CHECK_EQ(rmdir(in_directory(i, "")), 0);
}

// What is written with O_DSYNC, or RWF_DSYNC, is kept when the call has answered, and there once.
void write_kept(const char* name) {
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  iovec part = {text, 10};
  CHECK_EQ(syscall(SYS_pwritev2, file, &part, 1, -1, 0, 2), 10);  // RWF_DSYNC
  const int kept = open(name, O_WRONLY | O_APPEND | O_SYNC);
  CHECK(file >= 0 && kept >= 0);
  for (size_t size = 1; size <= most; size *= 16) CHECK_EQ(write(kept, text, size), static_cast<long>(size));
  CHECK_EQ(writev(kept, &part, 1), 10);
  CHECK_EQ(pwrite(kept, text, 5, 3), 5);  // at the end as well
  struct stat status;
  CHECK_EQ(fstat(file, &status), 0);
  CHECK_EQ(status.st_size, 10 + 1 + 16 + 256 + 4096 + 65536 + 10 + 5);
  CHECK(close(file) == 0 && close(kept) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("writerstest", argc, argv);
  memset(text, 'x', sizeof text);
  if (const char* const kept = getenv("KEPT"); kept != nullptr) {
    write_kept(kept);
    return check_done();
  }
  const char* const base = getenv("DIRECTORY");
  char directory[256];
  snprintf(directory, sizeof directory, "%s/writerstest.XXXXXX", base != nullptr ? base : "/tmp");
  CHECK(mkdtemp(directory) != nullptr && chdir(directory) == 0);
  const int file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int appending = open("file", O_RDWR | O_APPEND);
  CHECK(file >= 0 && appending >= 0);
  write_at_once(file, appending);
  append_while_others_look(file, appending);
  names_go();
  names_change_while_others_look();
  write_kept("kept");
  CHECK(close(file) == 0 && close(appending) == 0 && unlink("file") == 0 && unlink("kept") == 0);
  CHECK(chdir("/") == 0 && rmdir(directory) == 0);
  return check_done();
}
