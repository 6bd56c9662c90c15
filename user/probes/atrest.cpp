// Shows files of /proc while nothing else is in use, for comparisons to the page.
//
//   atrest SECONDS FILE…
//
// A core that rests keeps the page table loaded that it used last, even of a process that has ended. So this program waits
// until others have come to rest, runs for a moment on each core that it may use, and then shows the files: what is kept
// is its own. Runs on Linux as well.

#include "probes/argument.h"
#include "tests/check.h"

#include <fcntl.h>
#include <sched.h>

namespace {

constexpr char usage[] = "atrest SECONDS FILE…";

void visit_cores() {
  cpu_set_t allowed;
  CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(sched_getcpu(), core);
  }
  CHECK_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

void show(const char* name) {
  static char text[65536];
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  for (;;) {
    const ssize_t got = read(file, text, sizeof text);
    CHECK(got >= 0);
    if (got == 0) break;
    CHECK_EQ(write(STDOUT_FILENO, text, static_cast<size_t>(got)), got);
  }
  close(file);
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "atrest";
  const long seconds = number_of(argc > 1 ? argv[1] : "", 3600, usage);
  check_sleep_us(seconds * 1000000);
  visit_cores();
  for (int i = 2; i < argc; ++i) show(argv[i]);
  return 0;
}
