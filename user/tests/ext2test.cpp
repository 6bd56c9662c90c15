// A file system on a disk, used from the directory that the environment variable DIRECTORY names (default /tmp): what every file
// system does, what only one with blocks and inodes does, and several processes that change names all at once.
// usage: ext2test [EFFORT]; on Linux DIRECTORY is that of a mounted ext2, or any other.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "check.h"

namespace {

char pattern_at(unsigned long offset) {
  return static_cast<char>(offset * 31 + (offset >> 10) * 7 + 1);
}

void write_pattern(int file, unsigned long offset, unsigned long size) {
  static char buffer[8192];
  while (size > 0) {
    const unsigned long now = size < sizeof buffer ? size : sizeof buffer;
    for (unsigned long i = 0; i < now; ++i) buffer[i] = pattern_at(offset + i);
    CHECK(pwrite(file, buffer, now, static_cast<off_t>(offset)) == static_cast<ssize_t>(now));
    offset += now;
    size -= now;
  }
}

bool has_pattern(int file, unsigned long offset, unsigned long size) {
  static char buffer[8192];
  while (size > 0) {
    const unsigned long now = size < sizeof buffer ? size : sizeof buffer;
    if (pread(file, buffer, now, static_cast<off_t>(offset)) != static_cast<ssize_t>(now)) return false;
    for (unsigned long i = 0; i < now; ++i) {
      if (buffer[i] != pattern_at(offset + i)) return false;
    }
    offset += now;
    size -= now;
  }
  return true;
}

bool is_zero(int file, unsigned long offset, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) {
    char byte = 1;
    if (pread(file, &byte, 1, static_cast<off_t>(offset + i)) != 1 || byte != 0) return false;
  }
  return true;
}

void data() {
  const int file = open("data", O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(file >= 0);
  write_pattern(file, 0, 100'000);
  write_pattern(file, 300'001, 5000);  // with a hole in front
  CHECK(has_pattern(file, 0, 100'000));
  CHECK(has_pattern(file, 300'001, 5000));
  CHECK(is_zero(file, 150'000, 100));
  struct stat s = {};
  CHECK(fstat(file, &s) == 0 && s.st_size == 305'001);
  CHECK(s.st_blocks * 512 < 200'000);
  CHECK(ftruncate(file, 50'501) == 0);
  CHECK(ftruncate(file, 60'000) == 0);
  CHECK(has_pattern(file, 0, 50'501));
  CHECK(is_zero(file, 50'501, 100));
  CHECK(is_zero(file, 59'900, 100));
  write_pattern(file, 51'000, 10);
  CHECK(is_zero(file, 50'900, 100));
  CHECK(has_pattern(file, 51'000, 10));
  CHECK(fsync(file) == 0 && fdatasync(file) == 0 && syncfs(file) == 0);

  auto* shared = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  auto* own = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  CHECK(shared != MAP_FAILED && own != MAP_FAILED);
  shared[5000] = 'S';
  own[5001] = 'P';
  char bytes[2] = {};
  CHECK(pread(file, bytes, 2, 5000) == 2 && bytes[0] == 'S' && bytes[1] == pattern_at(5001));
  CHECK(msync(shared, 8192, MS_SYNC) == 0);
  CHECK(munmap(shared, 8192) == 0 && munmap(own, 8192) == 0);

  // A shared mapping of a hole takes blocks.
  CHECK(ftruncate(file, 1 << 20) == 0);
  shared = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 1 << 19));
  CHECK(shared != MAP_FAILED);
  shared[17] = 'h';
  CHECK(munmap(shared, 4096) == 0);
  CHECK(pread(file, bytes, 1, (1 << 19) + 17) == 1 && bytes[0] == 'h');

  CHECK(unlink("data") == 0);  // it lives on
  CHECK(has_pattern(file, 0, 5000));
  write_pattern(file, 400'000, 50'000);
  CHECK(has_pattern(file, 400'000, 50'000));
  CHECK(close(file) == 0);

  const int end = open("appended", O_WRONLY | O_CREAT | O_APPEND, 0600);
  for (int i = 0; i < 1000; ++i) CHECK(write(end, "0123456789", 10) == 10);
  CHECK(fstat(end, &s) == 0 && s.st_size == 10'000);
  CHECK(close(end) == 0 && unlink("appended") == 0);
}

// A page with the end of a file is mapped for writing, and then the file grows in that page.
void grown() {
  const int file = open("grown", O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(file >= 0 && ftruncate(file, 100) == 0);
  auto* shared = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  CHECK(shared != MAP_FAILED);
  shared[50] = 'a';
  CHECK(ftruncate(file, 4000) == 0);
  shared[3000] = 'b';
  CHECK(munmap(shared, 4096) == 0 && close(file) == 0);
}

void names() {
  CHECK(mkdir("d", 0755) == 0 && mkdir("d/e", 0700) == 0);
  CHECK_ERRNO(mkdir("d", 0755), EEXIST);
  CHECK_ERRNO(rmdir("d"), ENOTEMPTY);
  CHECK_ERRNO(rename("d", "d/e/f"), EINVAL);
  CHECK_ERRNO(rename("d/e", "d"), ENOTEMPTY);
  CHECK(symlink("a short one", "d/fast") == 0);
  char longer[200];
  memset(longer, 'l', sizeof longer);
  longer[199] = 0;
  CHECK(symlink(longer, "d/slow") == 0);
  char text[256] = {};
  CHECK(readlink("d/fast", text, sizeof text) == 11 && memcmp(text, "a short one", 11) == 0);
  CHECK(readlink("d/slow", text, sizeof text) == 199 && memcmp(text, longer, 199) == 0);
  const int file = open("d/file", O_WRONLY | O_CREAT, 0644);
  CHECK(file >= 0 && close(file) == 0);
  CHECK(link("d/file", "d/e/other") == 0);
  struct stat s = {};
  CHECK(stat("d/file", &s) == 0 && s.st_nlink == 2);
  CHECK_ERRNO(rename("d/file", "d/e"), EISDIR);
  CHECK_ERRNO(rename("d/e", "d/file"), ENOTDIR);
  CHECK(rename("d/file", "d/e/other") == 0);  // one file: nothing happens
  CHECK(stat("d/file", &s) == 0 && s.st_nlink == 2);
  CHECK(unlink("d/file") == 0 && rename("d/e/other", "d/moved") == 0);
  CHECK(stat("d/moved", &s) == 0 && s.st_nlink == 1);
  CHECK(mkdir("x", 0755) == 0 && rename("d/e", "x/e") == 0);
  CHECK(stat("x", &s) == 0 && s.st_nlink == 3);
  CHECK(stat("x/e/../../d/moved", &s) == 0);
  CHECK(mkdir("x/empty", 0755) == 0 && rename("x/e", "x/empty") == 0);
  CHECK_ERRNO(stat("x/e", &s), ENOENT);
  longer[0] = 0;
  char too_long[300];
  memset(too_long, 'n', sizeof too_long);
  too_long[256] = 0;
  CHECK_ERRNO(mkdir(too_long, 0755), ENAMETOOLONG);
  too_long[255] = 0;
  CHECK(mkdir(too_long, 0755) == 0 && rmdir(too_long) == 0);
  CHECK(chmod("d/moved", 0604) == 0);
  const struct timespec times[2] = {{1000, 0}, {2000, 0}};
  CHECK(utimensat(AT_FDCWD, "d/moved", times, 0) == 0);
  CHECK(stat("d/moved", &s) == 0 && (s.st_mode & 07777) == 0604 && s.st_atim.tv_sec == 1000 && s.st_mtim.tv_sec == 2000);
  CHECK(mkfifo("d/fifo", 0600) == 0 && stat("d/fifo", &s) == 0 && S_ISFIFO(s.st_mode));
  CHECK(unlink("d/fifo") == 0 && unlink("d/moved") == 0 && unlink("d/fast") == 0 && unlink("d/slow") == 0);
  CHECK(rmdir("d") == 0 && rmdir("x/empty") == 0 && rmdir("x") == 0);
}

int count_names(const char* path) {
  DIR* directory = opendir(path);
  CHECK(directory != nullptr);
  int count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

void large_directory() {
  const int count = 400;
  CHECK(mkdir("large", 0755) == 0);
  char name[64];
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "large/a file with the number %d", i);
    const int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(file >= 0 && close(file) == 0);
  }
  CHECK(count_names("large") == count + 2);
  for (int i = 0; i < count; i += 2) {
    snprintf(name, sizeof name, "large/a file with the number %d", i);
    CHECK(unlink(name) == 0);
  }
  CHECK(count_names("large") == count / 2 + 2);
  for (int i = 1; i < count; i += 2) {
    snprintf(name, sizeof name, "large/a file with the number %d", i);
    CHECK(unlink(name) == 0);
  }
  CHECK(rmdir("large") == 0);
}

// Each process makes, fills, renames and removes files in directories that all of them use.
[[noreturn]] void storm(unsigned seed, int steps) {
  unsigned state = seed * 2654435761u + 1;
  const auto random = [&](unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  char a[64], b[64];
  static char bytes[20'000];
  for (int i = 0; i < steps; ++i) {
    snprintf(a, sizeof a, "storm%u/f%u", random(3), random(25));
    snprintf(b, sizeof b, "storm%u/f%u", random(3), random(25));
    switch (random(7)) {
      case 0:
      case 1: {
        const int file = open(a, O_RDWR | O_CREAT | (random(2) == 0 ? O_TRUNC : 0), 0644);
        if (file < 0) break;
        memset(bytes, static_cast<int>('a' + seed), sizeof bytes);
        if (pwrite(file, bytes, random(sizeof bytes), random(100'000)) < 0 && errno != ENOSPC) _exit(1);
        if (random(3) == 0 && ftruncate(file, random(60'000)) != 0) _exit(2);
        close(file);
        break;
      }
      case 2: unlink(a); break;
      case 3: rename(a, b); break;
      case 4: link(a, b); break;
      case 5:
        if (random(2) == 0) {
          mkdir(a, 0755);
        } else {
          rmdir(a);
        }
        break;
      default: {
        const int file = open(a, O_RDONLY);
        if (file >= 0) {
          while (read(file, bytes, sizeof bytes) > 0) {}
          close(file);
        }
        if (random(20) == 0) sync();
      }
    }
  }
  _exit(0);
}

void many_at_once() {
  CHECK(mkdir("storm0", 0755) == 0 && mkdir("storm1", 0755) == 0 && mkdir("storm2", 0755) == 0);
  const int processes = 6;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) storm(static_cast<unsigned>(i + 1), static_cast<int>(300 * check_effort));
  }
  for (int i = 0; i < processes; ++i) {
    int status = 0;
    CHECK(wait(&status) > 0 && status == 0);
  }
}

// There is no room for what a hole is to hold: SIGBUS. What can be kept can be written.
void write_into_hole(int file) {
  void* mapped = mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(mapped != MAP_FAILED);
  auto* shared = static_cast<volatile char*>(mapped);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    shared[0] = 'w';
    shared[4096] = 'w';
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  CHECK(shared[0] == 'w' && shared[4096] == 0);
  CHECK(munmap(mapped, 2 * 4096) == 0);
}

void full() {
  static char block[65536];
  struct statfs before = {}, after = {};
  CHECK(statfs(".", &before) == 0);
  if (before.f_bfree * static_cast<unsigned long>(before.f_bsize) > (64ul << 20)) return;  // that would take long
  const int holes = open("holes", O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(holes >= 0 && write(holes, block, 4096) == 4096 && ftruncate(holes, 2 * 4096) == 0 && fsync(holes) == 0);
  const int file = open("filler", O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(file >= 0);
  unsigned long size = 0;
  for (;;) {
    const ssize_t now = write(file, block, sizeof block);
    if (now < 0) break;
    size += static_cast<unsigned long>(now);
  }
  CHECK(errno == ENOSPC);
  CHECK(size > 0);
  // What is less than a page of the file, several blocks maybe, is room for directories.
  char name[16];
  int made = 0;
  while (snprintf(name, sizeof name, "room%d", made), mkdir(name, 0755) == 0) ++made;
  CHECK(errno == ENOSPC && made < 4);
  write_into_hole(holes);
  while (made-- > 0) CHECK(snprintf(name, sizeof name, "room%d", made) > 0 && rmdir(name) == 0);
  CHECK(close(holes) == 0 && unlink("holes") == 0);
  CHECK(close(file) == 0 && unlink("filler") == 0);
  CHECK(mkdir("room", 0755) == 0 && rmdir("room") == 0);
  CHECK(statfs(".", &after) == 0 && after.f_bfree + 2 >= before.f_bfree);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("ext2test", argc, argv);
  const char* directory = getenv("DIRECTORY");
  CHECK(chdir(directory != nullptr ? directory : "/tmp") == 0);
  char own[64];
  snprintf(own, sizeof own, "ext2test-%d", static_cast<int>(getpid()));
  CHECK(mkdir(own, 0755) == 0 && chdir(own) == 0);
  data();
  grown();
  names();
  large_directory();
  full();
  many_at_once();
  return check_done();
}
