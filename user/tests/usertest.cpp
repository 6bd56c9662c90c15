// Users: changing them, what becomes of capabilities then, programs that run as their owner. Is root at first; each part is played
// by a child that becomes somebody else. Gives the same result on Linux.

#include "tests/users.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

namespace {

using namespace users;

void check_users(unsigned real, unsigned effective, unsigned saved) {
  unsigned r = 0, e = 0, s = 0;
  CHECK_EQ(getresuid(&r, &e, &s), 0);
  CHECK_EQ(r, real);
  CHECK_EQ(e, effective);
  CHECK_EQ(s, saved);
}

// What a parent hears of a child says whose that is: by the signal, and when it asks.
void test_children() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(setresuid(alice, bob, bob), 0);
    raise(SIGSTOP);
    pause();
    _exit(1);
  }
  const auto expect_news = [&](int code, int kind) {
    siginfo_t told{}, asked{};
    CHECK_EQ(sigwaitinfo(&set, &told), SIGCHLD);
    CHECK_EQ(told.si_code, code);
    CHECK_EQ(told.si_pid, child);
    CHECK_EQ(told.si_uid, alice);
    CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &asked, kind), 0);
    CHECK_EQ(asked.si_code, code);
    CHECK_EQ(asked.si_uid, alice);
  };
  expect_news(CLD_STOPPED, WSTOPPED);
  CHECK_EQ(kill(child, SIGCONT), 0);
  expect_news(CLD_CONTINUED, WCONTINUED);
  CHECK_EQ(kill(child, SIGTERM), 0);
  expect_news(CLD_KILLED, WEXITED);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);
}

// ---- changing users --------------------------------------------------------------------------------------------------------

void test_changing() {
  in_child([] {  // root gives everything up at once
    CHECK_EQ(setuid(alice), 0);
    check_users(alice, alice, alice);
    CHECK_ERRNO(setuid(0), EPERM);
    CHECK_ERRNO(setuid(bob), EPERM);
    CHECK_ERRNO(setreuid(bob, static_cast<unsigned>(-1)), EPERM);
    CHECK_ERRNO(setresuid(alice, bob, alice), EPERM);
    CHECK_EQ(setresuid(alice, alice, alice), 0);
    CHECK_ERRNO(setgid(staff), EPERM);
    const gid_t group = staff;
    CHECK_ERRNO(setgroups(1, &group), EPERM);
  });
  in_child([] {  // for a time
    CHECK_EQ(setresuid(alice, bob, 0), 0);
    check_users(alice, bob, 0);
    CHECK_EQ(setuid(alice), 0);
    check_users(alice, alice, 0);
    CHECK_EQ(setuid(0), 0);
    check_users(alice, 0, 0);
    CHECK_EQ(setreuid(0, bob), 0);
    check_users(0, bob, bob);
  });
  in_child([] {
    CHECK_EQ(setreuid(static_cast<unsigned>(-1), alice), 0);
    check_users(0, alice, alice);
    CHECK_EQ(setreuid(alice, 0), 0);
    check_users(alice, 0, 0);
    CHECK_ERRNO(setuid(static_cast<unsigned>(-1)), EINVAL);
    CHECK_ERRNO(setgid(static_cast<unsigned>(-1)), EINVAL);
  });
  in_child([] {  // for files alone
    CHECK_EQ(syscall(SYS_setfsuid, alice), 0);
    CHECK_EQ(syscall(SYS_setfsuid, -1), alice);
    CHECK_EQ(capabilities().effective & bit(CAP_DAC_OVERRIDE), 0);
    CHECK(capabilities().effective & bit(CAP_KILL));
    CHECK_EQ(syscall(SYS_setfsuid, 0), alice);
    CHECK(capabilities().effective & bit(CAP_DAC_OVERRIDE));
    CHECK_EQ(setresuid(alice, alice, alice), 0);
    CHECK_EQ(syscall(SYS_setfsuid, bob), alice);
    CHECK_EQ(syscall(SYS_setfsuid, alice), alice);
  });
  in_child([] {
    const gid_t groups[] = {30, 10, 20, 10};
    CHECK_EQ(setgroups(4, groups), 0);
    gid_t got[4] = {};
    CHECK_EQ(getgroups(0, nullptr), 4);
    CHECK_ERRNO(getgroups(3, got), EINVAL);
    CHECK_EQ(getgroups(4, got), 4);
    CHECK_EQ(got[0], 10);
    CHECK_EQ(got[3], 30);
    CHECK_ERRNO(setgroups(65537, got), EINVAL);
    CHECK_EQ(setgid(alice), 0);
    CHECK_EQ(getegid(), alice);
  });
}

// ---- capabilities ----------------------------------------------------------------------------------------------------------

void test_capabilities() {
  in_child([] {  // kept over a change of users
    CHECK_EQ(prctl(PR_GET_KEEPCAPS), 0);
    CHECK_EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
    CHECK_EQ(setresuid(alice, alice, alice), 0);
    const Sets now = capabilities();
    CHECK_EQ(now.effective, 0);
    CHECK(now.permitted & bit(CAP_SETUID));
    CHECK_EQ(set_capabilities({bit(CAP_SETUID), bit(CAP_SETUID), 0}), 0);
    CHECK_EQ(setresuid(0, 0, 0), 0);
    CHECK_ERRNO(set_capabilities({0, bit(CAP_CHOWN), 0}), EPERM);
    CHECK_ERRNO(set_capabilities({bit(CAP_SETUID), 0, 0}), EPERM);
  });
  in_child([] {  // bounded
    CHECK_EQ(prctl(PR_CAPBSET_READ, CAP_SYS_TIME), 1);
    CHECK_EQ(prctl(PR_CAPBSET_DROP, CAP_SYS_TIME), 0);
    CHECK_EQ(prctl(PR_CAPBSET_READ, CAP_SYS_TIME), 0);
    CHECK_ERRNO(prctl(PR_CAPBSET_READ, 64), EINVAL);
    CHECK_ERRNO(prctl(PR_CAPBSET_DROP, 64), EINVAL);
    become(alice, alice);
    CHECK_ERRNO(prctl(PR_CAPBSET_DROP, CAP_CHOWN), EPERM);
  });
  in_child([] {  // ambient ones
    CHECK_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), EPERM);
    Sets sets = capabilities();
    sets.inheritable = bit(CAP_CHOWN);
    CHECK_EQ(set_capabilities(sets), 0);
    CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), 0);
    CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 1);
    CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0), 0);
    CHECK_ERRNO(prctl(PR_CAP_AMBIENT, 9, CAP_KILL, 0, 0), EINVAL);
    CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
  });
  in_child([] {
    CHECK_EQ(prctl(PR_SET_SECUREBITS, 1 << 4 | 1 << 5), 0);  // keep capabilities, and that locked
    CHECK_ERRNO(prctl(PR_SET_KEEPCAPS, 0), EPERM);
    CHECK_ERRNO(prctl(PR_SET_SECUREBITS, 0), EPERM);
    CHECK_EQ(prctl(PR_GET_SECUREBITS), 1 << 4 | 1 << 5);
  });
}

// ---- programs --------------------------------------------------------------------------------------------------------------

// What the program says of itself when it is executed again: see main().
void check_identity(const char* expected) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(dup2(ends[1], 1), 1);
    execl(path("identity"), "usertest", "--identity", nullptr);
    _exit(9);
  }
  CHECK_EQ(close(ends[1]), 0);
  char text[128] = {};
  ssize_t size = 0;
  while (true) {
    const ssize_t more = read(ends[0], text + size, sizeof text - 1 - static_cast<size_t>(size));
    if (more <= 0) break;
    size += more;
  }
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK_EQ(close(ends[0]), 0);
  if (strcmp(text, expected) != 0) fprintf(stderr, "usertest: %s instead of %s\n", text, expected);
  CHECK(strcmp(text, expected) == 0);
}

void test_programs() {
  copy_own_program("identity", 0755);
  check_identity("0 0 0 0 secure 0 all 1");
  in_child([] {
    become(alice, alice);
    check_identity("1001 1001 1001 1001 secure 0 all 0");
  });
  CHECK_EQ(chown(path("identity"), bob, staff), 0);
  CHECK_EQ(chmod(path("identity"), 04755), 0);
  in_child([] {
    become(alice, alice);
    check_identity("1001 1002 1001 1001 secure 1 all 0");
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    check_identity("1001 1001 1001 1001 secure 0 all 0");
  });
  CHECK_EQ(chmod(path("identity"), 02755), 0);
  in_child([] {
    become(alice, alice);
    check_identity("1001 1001 1001 2001 secure 1 all 0");
  });
  CHECK_EQ(chown(path("identity"), 0, 0), 0);
  CHECK_EQ(chmod(path("identity"), 04755), 0);
  in_child([] {
    become(alice, alice);
    check_identity("1001 0 1001 1001 secure 1 all 1");
  });
}

int tell_identity() {
  printf("%u %u %u %u secure %lu all %d", getuid(), geteuid(), getgid(), getegid(), getauxval(AT_SECURE),
         capabilities().effective & bit(CAP_SETUID) ? 1 : 0);
  const bool vector_agrees = getauxval(AT_UID) == getuid() && getauxval(AT_EUID) == geteuid() &&
                             getauxval(AT_GID) == getgid() && getauxval(AT_EGID) == getegid();
  if (!vector_agrees) printf(" but the vector says otherwise");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--identity") == 0) return tell_identity();
  check_begin("usertest", argc, argv);
  begin();
  test_children();
  test_changing();
  test_capabilities();
  test_programs();
  return end();
}
