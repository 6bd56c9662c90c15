// Signals that tell of a file (F_SETOWN, F_SETSIG, O_ASYNC), and leases and changes of directories (F_NOTIFY), which are told by them.

#include "tests/children.h"
#include "tests/signals.h"
#include "tests/terminals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace {

using children::Gate;
using children::spawn;

constexpr const char* path = "/tmp/filesignals.file";
constexpr int told_by = 40;  // a real-time signal that no library uses

void set_blocked(int signal, bool blocked) {
  const sigset_t set = signals::only(signal);
  CHECK_EQ(sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr), 0);
}

// The next signal about a file; it is blocked.
siginfo_t next_told() {
  const sigset_t set = signals::only(told_by);
  siginfo_t info{};
  for (;;) {
    const int signal = sigwaitinfo(&set, &info);
    if (signal == told_by) { return info; }
    CHECK_EQ(errno, EINTR);
  }
}

bool none_told() {
  const sigset_t set = signals::only(told_by);
  const timespec at_once{};
  siginfo_t info{};
  return sigtimedwait(&set, &info, &at_once) == -1 && errno == EAGAIN;
}

void listen_to(int file) {
  CHECK_EQ(fcntl(file, F_SETOWN, getpid()), 0);
  CHECK_EQ(fcntl(file, F_SETSIG, told_by), 0);
  CHECK_EQ(fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_ASYNC), 0);
}

void expect_told(int file, int code, short bits) {
  const siginfo_t info = next_told();
  CHECK_EQ(info.si_code, code);
  CHECK_EQ(info.si_fd, file);
  CHECK((info.si_band & bits) == bits);
}

// ---- who is told -------------------------------------------------------------------------------------------------------

void test_owners() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  f_owner_ex owner{F_OWNER_PID, -1};
  CHECK_EQ(fcntl(ends[0], F_GETOWN), 0);
  CHECK_EQ(fcntl(ends[0], F_GETOWN_EX, &owner), 0);
  CHECK_EQ(owner.pid, 0);
  CHECK_EQ(fcntl(ends[0], F_GETSIG), 0);
  CHECK_EQ(fcntl(ends[0], F_SETOWN, getpid()), 0);
  CHECK_EQ(fcntl(ends[0], F_GETOWN), getpid());
  CHECK_EQ(fcntl(ends[1], F_GETOWN), 0);  // of the open file, not of the pipe
  CHECK_EQ(fcntl(ends[0], F_GETOWN_EX, &owner), 0);
  CHECK(owner.type == F_OWNER_PID && owner.pid == getpid());
  owner = {F_OWNER_PGRP, getpgrp()};
  CHECK_EQ(fcntl(ends[0], F_SETOWN_EX, &owner), 0);
  owner = {F_OWNER_TID, signals::thread_number()};
  CHECK_EQ(fcntl(ends[0], F_SETOWN_EX, &owner), 0);
  CHECK_EQ(fcntl(ends[0], F_GETOWN_EX, &owner), 0);
  CHECK(owner.type == F_OWNER_TID && owner.pid == signals::thread_number());
  const int copy = dup(ends[0]);
  CHECK_EQ(fcntl(copy, F_GETOWN_EX, &owner), 0);
  CHECK_EQ(owner.pid, signals::thread_number());
  owner = {static_cast<decltype(owner.type)>(3), getpid()};
  CHECK_ERRNO(fcntl(ends[0], F_SETOWN_EX, &owner), EINVAL);
  owner = {F_OWNER_PID, 0x3ffffff0};
  CHECK_ERRNO(fcntl(ends[0], F_SETOWN_EX, &owner), ESRCH);
  CHECK_ERRNO(fcntl(ends[0], F_SETOWN, 0x3ffffff0), ESRCH);
  CHECK_ERRNO(fcntl(ends[0], F_SETSIG, 65), EINVAL);
  CHECK_EQ(fcntl(ends[0], F_SETSIG, SIGUSR1), 0);
  CHECK_EQ(fcntl(copy, F_GETSIG), SIGUSR1);
  // Nobody, once the process is gone.
  const pid_t child = spawn([] { return 0; });
  children::expect_exit(child, 0);
  CHECK_ERRNO(fcntl(ends[0], F_SETOWN, child), ESRCH);
  const pid_t waiting = spawn([] { return pause(); });
  CHECK_EQ(fcntl(ends[0], F_SETOWN, waiting), 0);
  CHECK_EQ(fcntl(ends[0], F_GETOWN), waiting);
  CHECK_EQ(kill(waiting, SIGKILL), 0);
  children::expect_signal(waiting, SIGKILL);
  CHECK_EQ(fcntl(ends[0], F_GETOWN), 0);
  CHECK_EQ(fcntl(ends[0], F_SETOWN, 0), 0);
  for (const int end : ends) { CHECK_EQ(close(end), 0); }
  CHECK_EQ(close(copy), 0);
}

// ---- changes of readiness ----------------------------------------------------------------------------------------------

void test_pipe() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  listen_to(ends[0]);
  CHECK((fcntl(ends[0], F_GETFL) & O_ASYNC) != 0);
  CHECK(none_told());
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(write(ends[1], "x", 1), 1);
    expect_told(ends[0], POLL_IN, POLLIN);
  }
  CHECK(none_told());
  // Told by whoever writes, also after a fork.
  children::expect_exit(spawn([&] { return write(ends[1], "y", 1) == 1 ? 0 : 1; }), 0);
  expect_told(ends[0], POLL_IN, POLLIN);
  CHECK_EQ(fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) & ~O_ASYNC), 0);
  CHECK_EQ(write(ends[1], "x", 1), 1);
  CHECK(none_told());
  int on = 1;
  CHECK_EQ(ioctl(ends[0], FIOASYNC, &on), 0);
  CHECK((fcntl(ends[0], F_GETFL) & O_ASYNC) != 0);
  CHECK_EQ(close(ends[1]), 0);  // the end of the file can be read
  expect_told(ends[0], POLL_IN, POLLIN);
  CHECK_EQ(close(ends[0]), 0);
}

void test_sockets() {
  int pair[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  listen_to(pair[0]);
  CHECK_EQ(write(pair[1], "x", 1), 1);
  siginfo_t info = next_told();
  CHECK_EQ(info.si_fd, pair[0]);
  CHECK_EQ(info.si_code, POLL_IN);
  CHECK_EQ(fcntl(pair[0], F_SETFL, 0), 0);
  for (const int end : pair) { CHECK_EQ(close(end), 0); }
  while (!none_told()) {}
}

void test_terminals() {
  const terminals::Pair pair = terminals::open_pair();
  listen_to(pair.slave);
  CHECK_EQ(write(pair.master, "line\n", 5), 5);
  const siginfo_t info = next_told();
  CHECK_EQ(info.si_code, POLL_IN);
  CHECK_EQ(info.si_fd, pair.slave);
  terminals::close_pair(pair);
  while (!none_told()) {}
}

// Without a signal of one's own it is SIGIO, which tells nothing; files that cannot tell do not.
void test_plain_signal() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  signals::on_info(SIGIO, signals::keep_info);
  signals::handled = 0;
  CHECK_EQ(fcntl(ends[0], F_SETOWN, getpid()), 0);
  CHECK_EQ(fcntl(ends[0], F_SETFL, O_ASYNC), 0);
  CHECK_EQ(write(ends[1], "x", 1), 1);
  CHECK_EQ(signals::handled, 1);
  CHECK_EQ(signals::last_info.si_code, SI_KERNEL);
  for (const int end : ends) { CHECK_EQ(close(end), 0); }
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  int on = 1;
  CHECK_ERRNO(ioctl(file, FIOASYNC, &on), ENOTTY);
  CHECK_EQ(close(file), 0);
  signals::on(SIGIO, SIG_DFL);
}

// Writers on several cores, and one who switches the signals on and off.
void test_many() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  listen_to(ends[0]);
  constexpr int writers = 4;
  const long rounds = 200 * check_effort;
  pid_t pids[writers];
  for (pid_t& pid : pids) {
    pid = spawn([&] {
      for (long i = 0; i < rounds; ++i) {
        if (write(ends[1], "z", 1) != 1) { return 1; }
      }
      return 0;
    });
  }
  char byte = 0;
  for (long i = 0; i < writers * rounds; ++i) {
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    if (i % 16 == 0) { CHECK_EQ(fcntl(ends[0], F_SETFL, i % 32 == 0 ? 0 : O_ASYNC), 0); }
  }
  for (const pid_t pid : pids) { children::expect_exit(pid, 0); }
  CHECK_EQ(fcntl(ends[0], F_SETFL, O_ASYNC), 0);
  while (!none_told()) {}
  CHECK_EQ(write(ends[1], "x", 1), 1);
  expect_told(ends[0], POLL_IN, POLLIN);
  for (const int end : ends) { CHECK_EQ(close(end), 0); }
}

// ---- leases ------------------------------------------------------------------------------------------------------------

void test_lease_rules() {
  const int writer = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK_EQ(fcntl(writer, F_GETLEASE), F_UNLCK);
  CHECK_ERRNO(fcntl(writer, F_SETLEASE, F_UNLCK), EAGAIN);  // there is none
  CHECK_ERRNO(fcntl(writer, F_SETLEASE, F_RDLCK), EAGAIN);  // somebody, the holder, writes
  CHECK_ERRNO(fcntl(writer, F_SETLEASE, 7), EINVAL);
  CHECK_EQ(fcntl(writer, F_SETLEASE, F_WRLCK), 0);
  CHECK_EQ(fcntl(writer, F_GETLEASE), F_WRLCK);
  CHECK_EQ(fcntl(writer, F_SETLEASE, F_UNLCK), 0);
  CHECK_EQ(close(writer), 0);
  const int first = open(path, O_RDONLY);
  const int second = open(path, O_RDONLY);
  CHECK_ERRNO(fcntl(first, F_SETLEASE, F_WRLCK), EAGAIN);  // somebody else has it open
  CHECK_EQ(fcntl(first, F_SETLEASE, F_RDLCK), 0);
  CHECK_EQ(fcntl(second, F_SETLEASE, F_RDLCK), 0);
  CHECK_EQ(close(open(path, O_RDONLY)), 0);  // goes against neither
  CHECK(none_told());
  CHECK_EQ(close(first), 0);
  CHECK_EQ(close(second), 0);
  CHECK_EQ(close(open(path, O_RDWR | O_NONBLOCK)), 0);  // they ended with their files
  const int directory = open("/tmp", O_RDONLY);
  CHECK_ERRNO(fcntl(directory, F_SETLEASE, F_RDLCK), EINVAL);
  CHECK_EQ(close(directory), 0);
}

// Holds a lease; a child does `what` to the file, and goes on when the lease has become `then`.
template <typename What>
void expect_broken(int kind, int wanted, int then, What what) {
  const int file = open(path, O_RDONLY);
  CHECK_EQ(fcntl(file, F_SETSIG, told_by), 0);
  CHECK_EQ(fcntl(file, F_SETLEASE, kind), 0);
  Gate done;
  const pid_t child = spawn([&] {
    what();
    done.open();
    return 0;
  });
  expect_told(file, POLL_MSG, POLLIN);
  CHECK_EQ(fcntl(file, F_GETLEASE), wanted);
  pollfd looks{done.ends[0], POLLIN, 0};
  CHECK_EQ(poll(&looks, 1, 0), 0);  // it waits
  if (wanted == F_UNLCK) { CHECK_ERRNO(fcntl(file, F_SETLEASE, F_RDLCK), EAGAIN); }
  CHECK_EQ(fcntl(file, F_SETLEASE, then), 0);
  done.pass();
  children::expect_exit(child, 0);
  CHECK_EQ(fcntl(file, F_GETLEASE), then);
  CHECK_EQ(close(file), 0);
  CHECK(none_told());
}

void test_breaking() {
  expect_broken(F_WRLCK, F_RDLCK, F_RDLCK, [] { CHECK(open(path, O_RDONLY) >= 0); });
  expect_broken(F_WRLCK, F_RDLCK, F_UNLCK, [] { CHECK(open(path, O_RDONLY) >= 0); });
  expect_broken(F_WRLCK, F_UNLCK, F_UNLCK, [] { CHECK(open(path, O_WRONLY) >= 0); });
  expect_broken(F_RDLCK, F_UNLCK, F_UNLCK, [] { CHECK(open(path, O_RDWR | O_TRUNC) >= 0); });
  expect_broken(F_RDLCK, F_UNLCK, F_UNLCK, [] { CHECK_EQ(truncate(path, 0), 0); });
  CHECK_EQ(chmod(path, 0700), 0);
  expect_broken(F_WRLCK, F_RDLCK, F_UNLCK, [] { CHECK_ERRNO(execl(path, path, nullptr), ENOEXEC); });
}

// Who executes a file first waits for the holder of a lease; that the holder has it open for writing matters after that.
void test_executing_what_is_written() {
  const int file = open(path, O_RDWR);
  CHECK_EQ(fcntl(file, F_SETSIG, told_by), 0);
  CHECK_EQ(fcntl(file, F_SETLEASE, F_WRLCK), 0);
  const pid_t child = spawn([&] {
    CHECK_EQ(close(file), 0);
    CHECK_ERRNO(execl(path, path, nullptr), ENOEXEC);
    return 0;
  });
  expect_told(file, POLL_MSG, POLLIN);
  CHECK_EQ(fcntl(file, F_GETLEASE), F_RDLCK);
  CHECK_EQ(close(file), 0);
  children::expect_exit(child, 0);
  CHECK(none_told());
}

// There are no leases for writing of a program that runs, only those for reading.
void test_leases_of_programs() {
  const int own = open("/proc/self/exe", O_RDONLY);
  CHECK(own >= 0);
  CHECK_ERRNO(fcntl(own, F_SETLEASE, F_WRLCK), EAGAIN);
  CHECK_EQ(fcntl(own, F_SETLEASE, F_RDLCK), 0);
  CHECK_EQ(fcntl(own, F_GETLEASE), F_RDLCK);
  CHECK_EQ(close(own), 0);
}

// A file without a name is open for writing like any other.
void test_unnamed() {
  const int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (file < 0) return;  // there are file systems without such
  CHECK_ERRNO(fcntl(file, F_SETLEASE, F_RDLCK), EAGAIN);
  CHECK_EQ(fcntl(file, F_SETLEASE, F_WRLCK), 0);
  CHECK_EQ(close(file), 0);
}

// Who does not wait is told so, and the holder all the same; who waits is let in when the holder ends.
void test_not_waiting() {
  const int file = open(path, O_RDONLY);
  CHECK_EQ(fcntl(file, F_SETSIG, told_by), 0);
  CHECK_EQ(fcntl(file, F_SETLEASE, F_RDLCK), 0);
  CHECK_ERRNO(open(path, O_RDWR | O_NONBLOCK), EWOULDBLOCK);
  expect_told(file, POLL_MSG, POLLIN);
  CHECK_EQ(fcntl(file, F_GETLEASE), F_UNLCK);
  CHECK_ERRNO(open(path, O_RDWR | O_NONBLOCK), EWOULDBLOCK);
  CHECK(none_told());  // once is enough
  Gate opens;
  const pid_t child = spawn([&] {
    CHECK_EQ(close(file), 0);  // or it would hold the lease, too
    opens.open();
    return open(path, O_RDWR) >= 0 ? 0 : 1;
  });
  opens.pass();
  CHECK_EQ(close(file), 0);
  children::expect_exit(child, 0);
}

// ---- changes of directories ----------------------------------------------------------------------------------------------

constexpr const char* directory = "/tmp/filesignals.d";

int notify(int file, unsigned what) {
  return fcntl(file, F_NOTIFY, static_cast<unsigned long>(what));
}

// So many signals, all of this directory.
void expect_changes(int file, int count) {
  for (int i = 0; i < count; ++i) {
    siginfo_t info{};
    const sigset_t set = signals::only(told_by);
    const timespec at_once{};  // they come before the call that made the change returns
    CHECK_EQ(sigtimedwait(&set, &info, &at_once), told_by);
    CHECK_EQ(info.si_code, POLL_MSG);
    CHECK_EQ(info.si_fd, file);
  }
  CHECK(none_told());
}

void make(const char* name) {
  const int file = open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  CHECK(file >= 0);
  CHECK_EQ(close(file), 0);
}

void test_directories() {
  CHECK_EQ(mkdir(directory, 0700), 0);
  const int here = open("/", O_RDONLY);
  CHECK_EQ(chdir(directory), 0);
  const int file = open(".", O_RDONLY);
  CHECK(file >= 0);
  const int plain = open("plain", O_CREAT | O_RDWR, 0600);
  CHECK_ERRNO(notify(plain, DN_CREATE), ENOTDIR);
  CHECK_EQ(notify(plain, 0), 0);
  CHECK_EQ(notify(file, DN_MULTISHOT), 0);
  CHECK_EQ(fcntl(file, F_SETSIG, told_by), 0);
  CHECK_EQ(notify(file, DN_CREATE), 0);
  CHECK_EQ(fcntl(file, F_GETOWN), getpid());
  make("a");
  make("b");
  expect_changes(file, 1);  // once
  CHECK_EQ(notify(file, DN_CREATE | DN_MULTISHOT), 0);
  CHECK_EQ(unlink("a"), 0);
  expect_changes(file, 0);
  CHECK_EQ(notify(file, DN_DELETE), 0);  // as well
  make("a");
  CHECK_EQ(unlink("a"), 0);
  CHECK_EQ(mkdir("below", 0700), 0);
  expect_changes(file, 3);
  CHECK_EQ(rename("b", "c"), 0);  // here it is deleted and made
  expect_changes(file, 2);
  CHECK_EQ(notify(file, 0), 0);
  CHECK_EQ(rename("c", "d"), 0);
  expect_changes(file, 0);
  CHECK_EQ(notify(file, DN_RENAME | DN_MULTISHOT), 0);
  CHECK_EQ(rename("d", "e"), 0);
  expect_changes(file, 1);
  CHECK_EQ(rename("e", "below/e"), 0);
  CHECK_EQ(rename("below/e", "e"), 0);
  expect_changes(file, 0);  // not from here to here
  CHECK_EQ(notify(file, 0), 0);
  CHECK_EQ(notify(file, DN_MODIFY | DN_ATTRIB | DN_MULTISHOT), 0);
  CHECK_EQ(write(plain, "x", 1), 1);
  CHECK_EQ(chmod("plain", 0400), 0);
  expect_changes(file, 2);
  const int below = open("below", O_RDONLY);
  CHECK_EQ(fcntl(below, F_SETSIG, told_by), 0);
  CHECK_EQ(notify(below, DN_ATTRIB), 0);
  CHECK_EQ(notify(file, 0), 0);
  CHECK_EQ(chmod("below", 0500), 0);  // its own
  expect_changes(below, 1);
  // A child that closes its descriptor ends nothing; nor does its end. The process itself does, whichever descriptor it is.
  CHECK_EQ(notify(file, DN_CREATE | DN_DELETE | DN_MULTISHOT), 0);
  children::expect_exit(spawn([file] { return close(file); }), 0);
  children::expect_exit(spawn([] { return 0; }), 0);
  make("f");
  expect_changes(file, 1);
  const int same = dup(file);
  CHECK_EQ(close(same), 0);
  CHECK_EQ(unlink("f"), 0);
  expect_changes(file, 0);
  if (const int enabled = open("/proc/sys/fs/dir-notify-enable", O_WRONLY); enabled >= 0) {
    CHECK_EQ(write(enabled, "0", 1), 1);
    CHECK_ERRNO(notify(file, DN_DELETE), EINVAL);
    CHECK_EQ(write(enabled, "1", 1), 1);
    CHECK_EQ(close(enabled), 0);
  }
  CHECK_EQ(notify(file, DN_DELETE), 0);
  CHECK_EQ(close(file), 0);
  CHECK_EQ(unlink("plain"), 0);
  CHECK_EQ(unlink("e"), 0);
  CHECK_EQ(rmdir("below"), 0);
  CHECK(none_told());
  CHECK_EQ(fchdir(here), 0);
  CHECK_EQ(rmdir(directory), 0);
  for (const int open_file : children::Numbers{plain, below, here}) { CHECK_EQ(close(open_file), 0); }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("filesignals", argc, argv);
  set_blocked(told_by, true);
  test_owners();
  test_pipe();
  test_sockets();
  test_terminals();
  test_plain_signal();
  test_many();
  test_lease_rules();
  test_breaking();
  test_executing_what_is_written();
  test_leases_of_programs();
  test_unnamed();
  test_not_waiting();
  test_directories();
  CHECK_EQ(unlink(path), 0);
  return check_done();
}
