// Mappings and page faults.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

namespace {

constexpr size_t page = 4096;

char* map(Run& run, size_t size, bool small_pages) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) run.failed("mmap");
  // A system that has no large pages need not know the advice.
  if (small_pages) madvise(memory, size, MADV_NOHUGEPAGE);
  return static_cast<char*>(memory);
}

void unmap(Run& run, char* memory, size_t size) {
  if (munmap(memory, size) != 0) run.failed("munmap");
}

void write_pages(char* memory, size_t size) {
  for (size_t at = 0; at < size; at += page) static_cast<volatile char*>(memory)[at] = 1;
}

void touch_new_pages(Run& run, bool small_pages) {
  const size_t size = static_cast<size_t>(run.count) * page;
  while (run.next_round()) {
    char* memory = map(run, size, small_pages);
    run.start();
    write_pages(memory, size);
    run.stop();
    unmap(run, memory, size);
  }
}

}  // namespace

void fault_anonymous(Run& run) {
  touch_new_pages(run, true);
}

void fault_large(Run& run) {
  touch_new_pages(run, false);
}

void fault_copy(Run& run) {
  const size_t size = static_cast<size_t>(run.count) * page;
  char* memory = map(run, size, true);
  write_pages(memory, size);
  while (run.next_round()) {
    const pid_t child = fork();
    if (child < 0) run.failed("fork");
    if (child == 0) {
      for (;;) pause();  // keeps its half of the shared pages
    }
    run.start();
    write_pages(memory, size);
    run.stop();
    kill(child, SIGKILL);
    if (waitpid(child, nullptr, 0) != child) run.failed("waitpid");
  }
  unmap(run, memory, size);
}

void fault_file(Run& run) {
  const size_t size = static_cast<size_t>(run.count) * page;
  const int file = open(run.file_name(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0) run.failed(run.file_name());
  unlink(run.file_name());
  char contents[page];
  memset(contents, 1, sizeof contents);
  for (long i = 0; i < run.count; ++i) {
    if (write(file, contents, page) != static_cast<ssize_t>(page)) run.failed("write");
  }
  while (run.next_round()) {
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) run.unsupported("mmap of a file");
    const volatile char* bytes = static_cast<volatile char*>(memory);
    int sum = 0;
    run.start();
    for (size_t at = 0; at < size; at += page) sum += bytes[at];
    run.stop();
    if (sum != run.count) {
      errno = EIO;
      run.failed("the file's contents");
    }
    munmap(memory, size);
  }
}

void map_unmap(Run& run) {
  constexpr size_t size = 4 * page;
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED || munmap(memory, size) != 0) run.failed("mmap");
    }
    run.stop();
  }
}
