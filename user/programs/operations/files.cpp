// Files in memory.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

namespace {

constexpr size_t page = 4096;

}  // namespace

void file_create(Run& run) {
  const char* name = run.file_name();
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      const int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
      if (file < 0 || close(file) != 0 || unlink(name) != 0) run.failed(name);
    }
    run.stop();
  }
}

void read_page(Run& run) {
  constexpr long pages = 64;
  const int file = open(run.file_name(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0) run.failed(run.file_name());
  unlink(run.file_name());
  alignas(page) static thread_local char contents[page];
  memset(contents, 1, sizeof contents);
  for (long i = 0; i < pages; ++i) {
    if (write(file, contents, page) != static_cast<ssize_t>(page)) run.failed("write");
  }
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      if (pread(file, contents, page, i % pages * static_cast<long>(page)) != static_cast<ssize_t>(page)) run.failed("pread");
    }
    run.stop();
  }
}
