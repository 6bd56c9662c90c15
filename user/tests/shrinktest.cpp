// Files that become shorter while they are mapped: pages behind the end are SIGBUS from then on, in every process and thread, and what
// comes back when the file grows is zeros. And msync. usage: shrinktest [EFFORT]
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

namespace {

constexpr size_t page = 4096;
__thread sigjmp_buf back;
__thread volatile int expecting;

void on_bus(int) {
  if (!expecting) _exit(99);
  siglongjmp(back, 1);
}

// Whether reading, or writing, this byte is answered by SIGBUS.
bool is_bus_error(volatile char* at, bool write) {
  if (sigsetjmp(back, 1) != 0) {
    expecting = 0;
    return true;
  }
  expecting = 1;
  if (write) {
    *at = 'w';
  } else {
    (void)*at;
  }
  expecting = 0;
  return false;
}

int make_file(bool in_memory) {
  int file = -1;
  if (in_memory) {
    file = memfd_create("shrinktest", 0);
  } else {
    file = open("shrinktest-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
  }
  CHECK(file >= 0);
  char bytes[page];
  memset(bytes, 'x', sizeof bytes);
  for (int i = 0; i < 4; ++i) CHECK(write(file, bytes, page) == static_cast<ssize_t>(page));
  return file;
}

char* map(int file, int flags) {
  void* at = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, flags, file, 0);
  CHECK(at != MAP_FAILED);
  return static_cast<char*>(at);
}

void pages_behind_the_end(bool in_memory) {
  const int file = make_file(in_memory);
  char* shared = map(file, MAP_SHARED);
  char* own = map(file, MAP_PRIVATE);
  char* part = static_cast<char*>(mmap(nullptr, page, PROT_READ, MAP_SHARED, file, 2 * page));
  CHECK(part != MAP_FAILED && *part == 'x');
  for (size_t i = 0; i < 4; ++i) shared[i * page] = own[i * page + 1] = 'y';
  CHECK(ftruncate(file, page + 100) == 0);
  CHECK(!is_bus_error(shared, false) && !is_bus_error(shared + page + 99, true));
  CHECK(shared[page + 100] == 0 && shared[2 * page - 1] == 0);
  for (size_t i = 2; i < 4; ++i) {
    CHECK(is_bus_error(shared + i * page, false) && is_bus_error(shared + i * page, true));
    CHECK(is_bus_error(own + i * page + 1, false));
  }
  CHECK(is_bus_error(part, false));
  CHECK(!is_bus_error(own + 1, false) && own[1] == 'y');
  CHECK(ftruncate(file, 4 * page) == 0);
  for (size_t i = 2; i < 4; ++i) CHECK(!is_bus_error(shared + i * page, false) && shared[i * page] == 0);
  CHECK(!is_bus_error(shared + 3 * page, true));
  CHECK(ftruncate(file, 0) == 0);
  CHECK(is_bus_error(shared, false) && is_bus_error(own + 1, false));
  CHECK(munmap(shared, 4 * page) == 0 && munmap(own, 4 * page) == 0 && munmap(part, page) == 0 && close(file) == 0);
}

void other_ways() {
  int file = make_file(false);
  char* shared = map(file, MAP_SHARED);
  CHECK(!is_bus_error(shared + page, false));
  CHECK(truncate("shrinktest-file", 10) == 0);
  CHECK(is_bus_error(shared + page, false));
  CHECK(ftruncate(file, 2 * page) == 0 && !is_bus_error(shared + page, true));
  const int again = open("shrinktest-file", O_WRONLY | O_TRUNC);
  CHECK(again >= 0 && close(again) == 0);
  CHECK(is_bus_error(shared, false) && is_bus_error(shared + page, false));
  CHECK(munmap(shared, 4 * page) == 0 && close(file) == 0 && unlink("shrinktest-file") == 0);
}

// A process that looks at a page for as long as it can.
void in_other_processes() {
  const int file = make_file(true);
  char* shared = map(file, MAP_SHARED);
  int told[2];
  CHECK(pipe(told) == 0);
  pid_t children[3];
  for (pid_t& child : children) {
    child = fork();
    CHECK(child >= 0);
    if (child != 0) continue;
    (void)!*static_cast<volatile char*>(shared + 3 * page);
    CHECK(write(told[1], "", 1) == 1);
    for (;;) {
      if (is_bus_error(shared + 3 * page, false)) _exit(7);
      sched_yield();
    }
  }
  char byte;
  for (int i = 0; i < 3; ++i) CHECK(read(told[0], &byte, 1) == 1);
  CHECK(ftruncate(file, page) == 0);
  for (const pid_t child : children) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  CHECK(close(told[0]) == 0 && close(told[1]) == 0 && munmap(shared, 4 * page) == 0 && close(file) == 0);
}

struct Storm {
  int file;
  char* shared;
  volatile bool end;
};

void* touch(void* context) {
  auto& storm = *static_cast<Storm*>(context);
  for (unsigned turn = 0; !storm.end; ++turn) (void)is_bus_error(storm.shared + turn % 4 * page, turn % 3 == 0);
  return nullptr;
}

// The file's size goes up and down while threads use its pages; processes with the same mapping come and go.
void storms(bool in_memory) {
  Storm storm{make_file(in_memory), nullptr, false};
  storm.shared = map(storm.file, MAP_SHARED);
  pthread_t threads[3];
  for (pthread_t& thread : threads) CHECK(pthread_create(&thread, nullptr, touch, &storm) == 0);
  const int turns = getenv("DIRECTORY") == nullptr ? 150 : 100;  // a disk is waited for each time
  for (int i = 0; i < turns * static_cast<int>(check_effort); ++i) {
    CHECK(ftruncate(storm.file, static_cast<off_t>(page * static_cast<unsigned>(i % 4))) == 0);
    const size_t gone = static_cast<size_t>(i % 4);
    if (i % 10 == 3) {
      const pid_t child = fork();
      CHECK(child >= 0);
      if (child == 0) _exit(is_bus_error(storm.shared + gone * page, false) ? 0 : 1);
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    CHECK(is_bus_error(storm.shared + gone * page, i % 2 == 0));
    CHECK(ftruncate(storm.file, 4 * page) == 0);
  }
  storm.end = true;
  for (const pthread_t thread : threads) CHECK(pthread_join(thread, nullptr) == 0);
  CHECK(munmap(storm.shared, 4 * page) == 0 && close(storm.file) == 0);
  if (!in_memory) CHECK(unlink("shrinktest-file") == 0);
}

void synchronising() {
  const int file = make_file(false);
  char* shared = map(file, MAP_SHARED);
  memset(shared, 's', 4 * page);
  CHECK(msync(shared, 4 * page, MS_SYNC) == 0 && msync(shared, page, MS_ASYNC) == 0 && msync(shared, page, 0) == 0);
  CHECK(msync(shared, page, MS_SYNC | MS_ASYNC) == -1 && errno == EINVAL);
  CHECK(munmap(shared + page, page) == 0);
  CHECK(msync(shared, 4 * page, MS_SYNC) == -1 && errno == ENOMEM);
  char bytes[2] = {};
  CHECK(pread(file, bytes, 2, 2 * page) == 2 && bytes[0] == 's' && bytes[1] == 's');
  CHECK(munmap(shared, 4 * page) == 0 && close(file) == 0 && unlink("shrinktest-file") == 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("shrinktest", argc, argv);
  const char* directory = getenv("DIRECTORY");
  CHECK(chdir(directory != nullptr ? directory : "/tmp") == 0);
  struct sigaction action = {};
  action.sa_handler = on_bus;
  CHECK(sigaction(SIGBUS, &action, nullptr) == 0);
  pages_behind_the_end(true);
  pages_behind_the_end(false);
  other_ways();
  in_other_processes();
  storms(true);
  storms(false);
  synchronising();
  return check_done();
}
