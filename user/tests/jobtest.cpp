// Job control on a pseudo-terminal: sessions and process groups, the controlling terminal, who is in front, what background
// processes may do, signals typed, window size, orphaned groups, and what happens when a session's leader or its terminal goes.

#include "tests/signals.h"
#include "tests/terminals.h"

#include <sys/mman.h>

using namespace signals;
using namespace terminals;

namespace {

struct Shared {  // what children tell
  volatile int step;
  volatile int signal_count[65];
  volatile int result;
};
Shared* shared;

void note_signal(int number) {
  shared->signal_count[number] = shared->signal_count[number] + 1;
}

template <typename Condition>
void await(Condition condition) {
  for (int tries = 0; !condition(); ++tries) {
    CHECK(tries < 5000);
    check_sleep_us(2000);
  }
}

// Runs body in a child that leads a session with the pair's terminal.
template <typename Body>
pid_t start_session(const Pair& pty, Body body) {
  memset(static_cast<void*>(const_cast<Shared*>(shared)), 0, sizeof *shared);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);
    CHECK_EQ(close(pty.master), 0);
    CHECK_EQ(setsid(), getpid());
    CHECK_EQ(ioctl(pty.slave, TIOCSCTTY, 0), 0);
    body(pty.slave);
    _exit(0);
  }
  return child;
}

void expect_success(pid_t child) {
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

void test_sessions() {
  const Pair pty = open_pair();
  CHECK_ERRNO(ioctl(pty.slave, TIOCGPGRP, &shared->result), ENOTTY);
  int front = -1;
  CHECK_EQ(ioctl(pty.master, TIOCGPGRP, &front), 0);
  CHECK_EQ(front, 0);
  const pid_t child = start_session(pty, [](int terminal) {
    CHECK_ERRNO(setsid(), EPERM);
    CHECK_ERRNO(setpgid(0, 0), EPERM);  // a leader stays
    int number = 0;
    CHECK_EQ(ioctl(terminal, TIOCGSID, &number), 0);
    CHECK_EQ(number, getpid());
    CHECK_EQ(tcgetpgrp(terminal), getpid());
    const int own = open("/dev/tty", O_RDWR);
    CHECK(own >= 0);
    CHECK_EQ(tcgetpgrp(own), getpid());
    CHECK_EQ(ioctl(terminal, TIOCSCTTY, 0), 0);  // again
    CHECK_ERRNO(tcsetpgrp(terminal, 0x3fffffff), ESRCH);
    CHECK_ERRNO(tcsetpgrp(terminal, -1), EINVAL);
    CHECK_ERRNO(tcsetpgrp(terminal, getpgid(getppid())), EPERM);
    CHECK_ERRNO(tcsetpgrp(terminal, getppid()), EPERM);  // a process of another session, be it a group or not
    CHECK_ERRNO(ioctl(terminal, TIOCGPTPEER, O_RDWR), EIO);
    // A second terminal is not for it.
    const Pair other = open_pair();
    CHECK_ERRNO(ioctl(other.slave, TIOCSCTTY, 0), EPERM);
    CHECK_ERRNO(tcgetpgrp(other.slave), ENOTTY);
    close_pair(other);
    // A child that gives the terminal up has none; the session keeps it.
    const pid_t second = fork();
    if (second == 0) {
      CHECK_EQ(ioctl(own, TIOCNOTTY), 0);
      CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
      CHECK_ERRNO(tcgetpgrp(own), ENOTTY);
      _exit(0);
    }
    expect_success(second);
    CHECK_EQ(tcgetpgrp(own), getpid());
    CHECK_EQ(signal(SIGHUP, SIG_IGN) == SIG_ERR, 0);
    CHECK_EQ(ioctl(own, TIOCNOTTY), 0);
    CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
  });
  expect_success(child);
  close_pair(pty);
}

void test_groups() {
  const pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(setpgid(0, 0), 0);
    CHECK_EQ(getpgrp(), getpid());
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const pid_t second = fork();
    if (second == 0) {
      char byte = 0;
      CHECK_EQ(read(ends[0], &byte, 1), 1);
      _exit(0);
    }
    CHECK_EQ(setpgid(second, second), 0);
    CHECK_EQ(getpgid(second), second);
    CHECK_EQ(setpgid(second, getpid()), 0);
    CHECK_ERRNO(setpgid(second, 0x3fffffff), EPERM);
    CHECK_ERRNO(setpgid(-1, 0), EINVAL);  // the group would be that number
    CHECK_ERRNO(setpgid(getppid(), 0), ESRCH);
    CHECK_ERRNO(setpgid(0x3fffffff, 0), ESRCH);
    CHECK_ERRNO(setpgid(0, -1), EINVAL);
    CHECK_EQ(write(ends[1], "x", 1), 1);
    expect_success(second);
    _exit(0);
  }
  expect_success(child);
}

// Characters that are signals go to the group in front, and to nobody else.
void test_typed_signals() {
  const Pair pty = open_pair();
  const pid_t child = start_session(pty, [](int terminal) {
    for (const int number : Pids{SIGINT, SIGQUIT, SIGTSTP, SIGWINCH}) { on(number, note_signal, SA_RESTART); }
    const pid_t other = fork();
    if (other == 0) {
      setpgid(0, 0);
      for (const int number : Pids{SIGINT, SIGQUIT, SIGTSTP, SIGWINCH}) {
        on(number, [](int) { _exit(9); });
      }
      for (;;) { pause(); }
    }
    setpgid(other, other);
    shared->step = 1;
    char byte = 0;
    CHECK_EQ(read(terminal, &byte, 1), 1);  // goes on over all of them
    CHECK_EQ(kill(other, SIGKILL), 0);
    int status = 0;
    CHECK_EQ(waitpid(other, &status, 0), other);
    CHECK(WIFSIGNALED(status));
  });
  await([] { return shared->step == 1; });
  put(pty.master, "\x03");
  await([] { return shared->signal_count[SIGINT] == 1; });
  put(pty.master, "\x1c");
  await([] { return shared->signal_count[SIGQUIT] == 1; });
  put(pty.master, "\x1a");
  await([] { return shared->signal_count[SIGTSTP] == 1; });
  winsize size{30, 100, 0, 0};
  CHECK_EQ(ioctl(pty.master, TIOCSWINSZ, &size), 0);
  await([] { return shared->signal_count[SIGWINCH] == 1; });
  winsize seen{};
  CHECK_EQ(ioctl(pty.slave, TIOCGWINSZ, &seen), 0);
  CHECK(seen.ws_row == 30 && seen.ws_col == 100);
  CHECK_EQ(ioctl(pty.slave, TIOCSWINSZ, &size), 0);  // no change, no signal
  settle();
  CHECK_EQ(shared->signal_count[SIGWINCH], 1);
  put(pty.master, "\n");
  expect_success(child);
  close_pair(pty);
}

// A background process that reads, or changes the terminal, stops; one that is deaf is told so.
void test_background() {
  const Pair pty = open_pair();
  const pid_t child = start_session(pty, [](int terminal) {
    const auto in_background = [&](auto body) {
      const pid_t other = fork();
      if (other == 0) {
        setpgid(0, 0);
        body();
        _exit(0);
      }
      setpgid(other, other);
      return other;
    };
    const auto expect_stop = [](pid_t other, int number) {
      int status = 0;
      CHECK_EQ(waitpid(other, &status, WUNTRACED), other);
      CHECK(WIFSTOPPED(status));
      CHECK_EQ(WSTOPSIG(status), number);
    };
    char byte = 0;
    termios settings{};
    CHECK_EQ(tcgetattr(terminal, &settings), 0);
    pid_t other = in_background([&] {
      CHECK_EQ(read(terminal, &byte, 1), 1);
      CHECK_EQ(byte, 'r');
    });
    expect_stop(other, SIGTTIN);
    CHECK_EQ(tcsetpgrp(terminal, other), 0);
    CHECK_EQ(kill(-other, SIGCONT), 0);
    shared->step = 1;  // a line is typed now
    expect_success(other);
    // The group in front is gone: the leader is in the background itself, and takes the terminal back.
    on(SIGTTOU, SIG_IGN);
    CHECK_EQ(tcsetpgrp(terminal, getpgrp()), 0);
    on(SIGTTOU, SIG_DFL);
    other = in_background([&] { CHECK_EQ(tcsetattr(terminal, TCSANOW, &settings), 0); });
    expect_stop(other, SIGTTOU);
    CHECK_EQ(tcsetpgrp(terminal, other), 0);
    CHECK_EQ(kill(-other, SIGCONT), 0);
    expect_success(other);
    on(SIGTTOU, SIG_IGN);
    CHECK_EQ(tcsetpgrp(terminal, getpgrp()), 0);
    on(SIGTTOU, SIG_DFL);
    // Output is allowed unless TOSTOP is set.
    expect_success(in_background([&] { CHECK_EQ(write(terminal, "", 0), 0); }));
    expect_success(in_background([&] { CHECK_EQ(write(terminal, "b", 1), 1); }));
    settings.c_lflag |= TOSTOP;
    CHECK_EQ(tcsetattr(terminal, TCSANOW, &settings), 0);
    other = in_background([&] { CHECK_EQ(write(terminal, "c", 1), 1); });
    expect_stop(other, SIGTTOU);
    CHECK_EQ(kill(other, SIGKILL), 0);
    int status = 0;
    CHECK_EQ(waitpid(other, &status, 0), other);
    expect_success(in_background([&] {
      on(SIGTTOU, SIG_IGN);
      CHECK_EQ(write(terminal, "d", 1), 1);
      on(SIGTTIN, SIG_IGN);
      CHECK_ERRNO(read(terminal, &byte, 1), EIO);
      on(SIGTTIN, SIG_DFL);
      const sigset_t set = only(SIGTTIN);
      sigprocmask(SIG_BLOCK, &set, nullptr);
      CHECK_ERRNO(read(terminal, &byte, 1), EIO);
    }));
  });
  await([] { return shared->step == 1; });
  put(pty.master, "r\n");
  expect_success(child);
  close_pair(pty);
}

// A group whose last connection to the session goes: what is stopped in it is woken by SIGHUP and SIGCONT.
void test_orphans() {
  const Pair pty = open_pair();
  const pid_t child = start_session(pty, [](int) {
    const pid_t parent = fork();
    if (parent == 0) {
      setpgid(0, 0);
      const pid_t stopped = fork();
      if (stopped == 0) {
        setpgid(0, 0);
        on(SIGHUP, note_signal);
        on(SIGCONT, note_signal);
        raise(SIGSTOP);
        for (int tries = 0; tries < 5000 && (shared->signal_count[SIGHUP] == 0 || shared->signal_count[SIGCONT] == 0);
             ++tries) {
          check_sleep_us(1000);
        }
        // In an orphaned group these stop nobody.
        for (const int number : Pids{SIGTSTP, SIGTTIN, SIGTTOU}) { raise(number); }
        char byte = 0;
        const int terminal = open("/dev/tty", O_RDWR);
        shared->result = terminal >= 0 && read(terminal, &byte, 1) == -1 && errno == EIO ? 1 : 2;
        shared->step = 2;
        _exit(0);
      }
      int status = 0;
      CHECK_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
      CHECK(WIFSTOPPED(status));
      _exit(0);  // the stopped one's group is orphaned
    }
    expect_success(parent);
    await([] { return shared->step == 2; });
  });
  expect_success(child);
  CHECK_EQ(shared->signal_count[SIGHUP], 1);
  CHECK_EQ(shared->signal_count[SIGCONT], 1);
  CHECK_EQ(shared->result, 1);
  close_pair(pty);
}

// The end of the session's leader: the group in front gets SIGHUP, the terminal is free.
void test_leader_ends() {
  const Pair pty = open_pair();
  const pid_t child = start_session(pty, [](int terminal) {
    const pid_t front = fork();
    if (front == 0) {
      setpgid(0, 0);
      on(SIGHUP, note_signal);
      shared->step = 1;
      await([] { return shared->signal_count[SIGHUP] > 0; });
      shared->step = 2;
      _exit(0);
    }
    setpgid(front, front);
    on(SIGTTOU, SIG_IGN);
    CHECK_EQ(tcsetpgrp(terminal, front), 0);
    await([] { return shared->step == 1; });
  });
  expect_success(child);
  await([] { return shared->step == 2; });
  int front = -1;
  CHECK_EQ(ioctl(pty.master, TIOCGPGRP, &front), 0);
  CHECK_EQ(front, 0);
  // Another session may have it.
  const pid_t second = start_session(pty, [](int terminal) { CHECK_EQ(tcgetpgrp(terminal), getpid()); });
  expect_success(second);
  close_pair(pty);
}

// The master is closed: the leader gets SIGHUP and SIGCONT, its files are useless.
void test_terminal_goes() {
  const Pair pty = open_pair();
  const pid_t child = start_session(pty, [](int terminal) {
    on(SIGHUP, note_signal, SA_RESTART);
    on(SIGCONT, note_signal, SA_RESTART);
    shared->step = 1;
    char byte = 0;
    const ssize_t count = read(terminal, &byte, 1);
    CHECK(count == 0 || (count == -1 && errno == EIO));
    await([] { return shared->signal_count[SIGHUP] == 1 && shared->signal_count[SIGCONT] == 1; });
    CHECK_ERRNO(write(terminal, "x", 1), EIO);
    CHECK_ERRNO(tcgetpgrp(terminal), EIO);
    CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
  });
  CHECK_EQ(close(pty.slave), 0);
  await([] { return shared->step == 1; });
  settle();
  CHECK_EQ(close(pty.master), 0);
  expect_success(child);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("jobtest", argc, argv);
  shared = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  test_sessions();
  test_groups();
  test_typed_signals();
  test_background();
  test_orphans();
  test_leader_ends();
  test_terminal_goes();
  return check_done();
}
