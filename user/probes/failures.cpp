// Lets each allocation of each operation fail once, and judges: the call answers with an error that means "no memory", or the
// process that made it is ended; afterwards the same operation works, and nothing that it took is kept.
//
//   failures [NAME]       NAME: only the operations whose names contain it
//
// Needs a guest with the boot option `provoke`, and nobody else at work there. The environment variable DISK names a disk with an
// ext2 that may be changed, /mnt is where it is mounted; without one those operations are left out.
// Each operation's line: how many allocations it has been tried with, how many errors and ended processes came of it.

#include "probes/failures/operation.h"
#include "probes/memory_in_use.h"
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

namespace {

using failures::Operation;
using failures::Operations;

constexpr long most_allocations = 600;
constexpr int patience = 3;  // so many plans in a row that were not used up end the walk
constexpr char plan_prefix[] = "fail-allocation ";

// What a child says of itself before it ends.
struct Report {
  volatile bool acted;
  volatile long answer;
  volatile int error;
  volatile long left;
};
Report* report;
int provoke = -1;  // open before, and for whoever the child becomes

void plan(long nth) {
  char text[64];
  const int size = snprintf(text, sizeof text, "%s%ld", plan_prefix, nth);
  CHECK_EQ(pwrite(provoke, text, static_cast<size_t>(size), 0), size);
}

// How many allocations the plan still waits for; 0: it has been carried out, be it by this question.
long left() {
  char text[512];
  const ssize_t size = pread(provoke, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* at = strstr(text, plan_prefix);
  CHECK(at != nullptr);
  return strtol(at + strlen(plan_prefix), nullptr, 10);
}

[[noreturn]] void act(const Operation& operation, long nth) {
  signal(SIGPIPE, SIG_IGN);
  if (operation.prepare != nullptr) operation.prepare();
  plan(nth);
  report->answer = operation.act();
  report->error = errno;
  if (nth != 0) report->left = left();
  plan(0);
  report->acted = true;
  if (operation.undo != nullptr) operation.undo();
  _exit(0);
}

struct Totals {
  long tried = 0, errors = 0, ended = 0;
};

bool means_no_memory(int error) {
  return error == ENOMEM || error == EAGAIN || error == ENOBUFS || error == ENOSPC;
}

int failed = 0;
long cores = 1;

void fail(const Operation& operation, long nth, const char* what, long value) {
  printf("failures: FAILED: %s, allocation %ld: %s %ld\n", operation.name, nth, what, value);
  ++failed;
}

// One child, whose nth allocation fails. True: the plan was used up.
bool attempt(const Operation& operation, long nth, Totals& totals) {
  *report = {};
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) act(operation, nth);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  const long still = report->acted ? report->left : left();
  plan(0);
  if (report->acted) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail(operation, nth, "undone with status", status);
    if (report->answer == -1) {
      if (nth == 0 || !means_no_memory(report->error)) fail(operation, nth, "errno", report->error);
      ++totals.errors;
    }
  } else if (!operation.executes || status != 0) {
    // A page of its own that it cannot have, or a program that is half there.
    if (nth == 0 || !(WIFSIGNALED(status) || operation.executes)) fail(operation, nth, "ended with status", status);
    ++totals.ended;
    if (operation.undo != nullptr) operation.undo();
  }
  return nth != 0 && still == 0;
}

// Cores keep a page or two each.
void judge(const char* what, const MemoryInUse& before, const MemoryInUse& after) {
  const long allowed = (cores - 1) * 8;  // KiB
  const long objects = after.objects() - before.objects(), pages = after.used_besides() - before.used_besides();
  if (objects <= 0 && pages <= allowed) return;
  printf("failures: FAILED: %s: kept\n", what);
  ++failed;
  tell_difference(before, after);
}

void walk(const Operation& operation, bool keeps_nothing) {
  Totals totals;
  (void)attempt(operation, 0, totals);
  (void)attempt(operation, 1, totals);
  const MemoryInUse before = memory_in_use();
  int unused = 0;
  for (long nth = 1; unused < patience && nth < most_allocations; ++nth) {
    unused = attempt(operation, nth, totals) ? 0 : unused + 1;
    ++totals.tried;
  }
  if (unused < patience) fail(operation, totals.tried, "is not the last of", most_allocations);
  (void)attempt(operation, 0, totals);
  printf("%-24s %3ld allocations, %3ld errors, %3ld ended\n", operation.name, totals.tried - patience, totals.errors,
         totals.ended);
  CHECK(totals.tried > patience);
  if (operation.settles_us != 0) check_sleep_us(operation.settles_us);
  if (keeps_nothing) judge(operation.name, before, memory_in_use());
}

void walk_all(const Operations& operations, const char* only, bool keeps_nothing = true) {
  for (const Operation& operation : operations) {
    if (strstr(operation.name, only) != nullptr) walk(operation, keeps_nothing);
  }
}

// Files of a disk stay in memory until it is unmounted.
void walk_disk(const char* disk, const char* only) {
  walk_all(failures::mount_operations(), only);
  const MemoryInUse before = memory_in_use();
  printf("on %s:\n", disk);
  CHECK_EQ(mount(disk, "/mnt", "ext2", 0, nullptr), 0);
  CHECK_EQ(chdir("/mnt"), 0);
  walk_all(failures::file_operations(), only, false);
  CHECK_EQ(chdir("/"), 0);
  CHECK_EQ(umount("/mnt"), 0);
  check_sleep_us(2'000'000);  // what was written last is let go of when it is next looked at
  judge(disk, before, memory_in_use());
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "failures";
  if (argc > 1 && strcmp(argv[1], "--nothing") == 0) return 0;  // it is the program that was executed
  const char* only = argc > 1 ? argv[1] : "";
  cores = sysconf(_SC_NPROCESSORS_ONLN);
  provoke = open("/proc/provoke", O_RDWR);
  CHECK(provoke >= 0);
  void* area = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(area != MAP_FAILED);
  report = static_cast<Report*>(area);
  CHECK_EQ(chdir("/tmp"), 0);
  walk_all(failures::process_operations(), only);
  walk_all(failures::memory_operations(), only);
  walk_all(failures::message_operations(), only);
  walk_all(failures::event_operations(), only);
  walk_all(failures::file_operations(), only);
  if (const char* disk = getenv("DISK")) walk_disk(disk, only);
  if (failed != 0) return 1;
  return check_done();
}
