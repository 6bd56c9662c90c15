// Programs that their user may execute but not read: nobody but root sees their memory, in /proc, by ptrace or in a core file. Is root at
// first; each part is played by a child that becomes somebody else. Gives the same result on Linux.

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "tests/tracing.h"
#include "tests/users.h"

namespace {

using namespace users;
using tracing::traced;
using Names = const char* const[];

// What the program does when it is executed again: says whether it may be dumped, and stands.
int stand() {
  if (write(1, prctl(PR_GET_DUMPABLE) == 1 ? "1" : "0", 1) != 1) return 1;
  for (;;) pause();
}

pid_t execute(const char* name, int output, bool to_be_traced) {
  return children::spawn([&] {
    const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK_EQ(setrlimit(RLIMIT_CORE, &unlimited), 0);
    CHECK_EQ(dup2(output, 1), 1);
    if (to_be_traced) CHECK_EQ(traced(PTRACE_TRACEME, 0, 0, 0l), 0);
    execl(path(name), "hiddentest", "--stand", nullptr);
    return 9;
  });
}

bool dumpable_at_first;

pid_t standing(const char* name) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t process = execute(name, ends[1], false);
  char told = 0;
  CHECK_EQ(read(ends[0], &told, 1), 1);
  CHECK_EQ(close(ends[0]), 0);
  CHECK_EQ(close(ends[1]), 0);
  dumpable_at_first = told == '1';
  return process;
}

void check_opens(pid_t process, const char* name, bool allowed) {
  const int file = open(process_path(process, name), O_RDONLY);
  if (allowed) {
    CHECK(file >= 0);
    CHECK_EQ(close(file), 0);
  } else {
    CHECK_ERRNO(file, EACCES);
  }
}

long word_of(pid_t process) {
  long word = 0;
  const iovec here = {&word, sizeof word}, there = {reinterpret_cast<void*>(&stand), sizeof word};
  return process_vm_readv(process, &here, 1, &there, 1, 0);
}

void check_from_outside(const char* name, unsigned owner, bool seen) {
  const pid_t process = standing(name);
  CHECK_EQ(dumpable_at_first, seen);
  struct stat found;
  CHECK_EQ(stat(process_path(process, "mem"), &found), 0);
  CHECK_EQ(found.st_uid, seen ? owner : 0);
  for (const char* const file : Names{"mem", "maps", "smaps", "environ", "auxv"}) check_opens(process, file, seen);
  check_opens(process, "stat", true);
  char text[128];
  CHECK_EQ(readlink(process_path(process, "exe"), text, sizeof text) > 0, seen);
  CHECK_EQ(word_of(process), seen ? 8 : -1);
  if (!seen) CHECK_ERRNO(word_of(process), EPERM);
  CHECK_EQ(traced(PTRACE_SEIZE, process, 0, 0l), seen ? 0 : EPERM);
  CHECK_EQ(kill(process, seen ? SIGKILL : SIGSEGV), 0);
  const int status = children::wait_for(process);
  CHECK(WIFSIGNALED(status));
  if (!seen) CHECK(!WCOREDUMP(status));
}

// Who traces it already keeps its registers, but does not see its memory.
void check_traced_already(const char* name, bool seen) {
  const pid_t process = execute(name, 2, true);
  tracing::expect_stop(process, SIGTRAP);
  user_regs_struct registers;
  CHECK_EQ(traced(PTRACE_GETREGS, process, 0, &registers), 0);
  const auto place = static_cast<long>(registers.rip);
  long word = 0;
  CHECK_EQ(traced(PTRACE_PEEKDATA, process, place, &word), seen ? 0 : EIO);
  CHECK_EQ(traced(PTRACE_POKEDATA, process, place, word), seen ? 0 : EIO);
  CHECK_EQ(kill(process, SIGKILL), 0);
  children::expect_signal(process, SIGKILL);
}

void test_programs() {
  copy_own_program("hidden", 0711);
  copy_own_program("shown", 0755);
  CHECK_EQ(mkdir(path("room"), 0777), 0);
  CHECK_EQ(chmod(path("room"), 0777), 0);
  in_child([] {
    become(alice, alice);
    CHECK_EQ(chdir(path("room")), 0);
    check_from_outside("shown", alice, true);
    check_from_outside("hidden", alice, false);
    check_traced_already("shown", true);
    check_traced_already("hidden", false);
    struct stat found;
    CHECK_ERRNO(stat("core", &found), ENOENT);
  });
  check_from_outside("hidden", 0, true);  // root may read it
  check_traced_already("hidden", true);
  const pid_t child = children::spawn([] {  // and sees it whoever executes it
    become(alice, alice);
    CHECK_EQ(dup2(open("/dev/null", O_WRONLY), 1), 1);
    execl(path("hidden"), "hiddentest", "--stand", nullptr);
    return 9;
  });
  CHECK_EQ(traced(PTRACE_SEIZE, child, 0, 0l), 0);
  CHECK_EQ(kill(child, SIGKILL), 0);
  children::expect_signal(child, SIGKILL);
}

// A child is as its parent; a program that its user may read is seen again.
void test_what_goes_on() {
  in_child([] {
    become(alice, alice);
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const pid_t child = children::spawn([&] {
      CHECK_EQ(dup2(ends[1], 1), 1);
      execl(path("hidden"), "hiddentest", "--fork", path("shown"), nullptr);
      return 9;
    });
    children::expect_exit(child, 0);
    char told[3] = {};
    CHECK_EQ(read(ends[0], told, 2), 2);
    CHECK(strcmp(told, "01") == 0);
  });
}

int say() {
  return write(1, prctl(PR_GET_DUMPABLE) == 1 ? "1" : "0", 1) == 1 ? 0 : 1;
}

int fork_and_say(const char* then) {
  const pid_t child = children::spawn([&] {
    if (say() != 0) return 1;
    execl(then, "hiddentest", "--say", nullptr);
    return 9;
  });
  return children::wait_for(child);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--stand") == 0) return stand();
  if (argc == 2 && strcmp(argv[1], "--say") == 0) return say();
  if (argc == 3 && strcmp(argv[1], "--fork") == 0) return fork_and_say(argv[2]);
  check_begin("hiddentest", argc, argv);
  begin();
  test_programs();
  test_what_goes_on();
  return end();
}
