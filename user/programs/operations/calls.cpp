// Single system calls, and signals to oneself.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

namespace {

constexpr long no_such_call = 1023;

// As the processor sees it, so that no library is measured.
long call(long number, long a = 0, long b = 0, long c = 0) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

int open_or_fail(Run& run, const char* name, int flags) {
  const int descriptor = open(name, flags);
  if (descriptor < 0) run.failed(name);
  return descriptor;
}

volatile sig_atomic_t handled;

void handler(int) {
  handled = handled + 1;
}

}  // namespace

void null_call(Run& run) {
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) call(no_such_call);
    run.stop();
  }
}

void getpid_call(Run& run) {
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) call(SYS_getpid);
    run.stop();
  }
}

void read_byte(Run& run) {
  const int zero = open_or_fail(run, "/dev/zero", O_RDONLY);
  char byte = 1;
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      if (call(SYS_read, zero, reinterpret_cast<long>(&byte), 1) != 1) run.failed("read");
    }
    run.stop();
  }
}

void write_byte(Run& run) {
  const int sink = open_or_fail(run, "/dev/null", O_WRONLY);
  const char byte = 1;
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      if (call(SYS_write, sink, reinterpret_cast<long>(&byte), 1) != 1) run.failed("write");
    }
    run.stop();
  }
}

void select_100(Run& run) {
  constexpr int descriptors = 100;
  int ends[2];
  if (pipe(ends) != 0) run.failed("pipe");
  fd_set set;
  FD_ZERO(&set);
  int highest = 0;
  for (int i = 0; i < descriptors; ++i) {
    const int copy = dup(ends[0]);
    if (copy < 0 || copy >= FD_SETSIZE) run.failed("dup");
    FD_SET(copy, &set);
    highest = copy > highest ? copy : highest;
  }
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      fd_set asked = set;
      timeval none{};
      if (select(highest + 1, &asked, nullptr, nullptr, &none) != 0) run.failed("select");
    }
    run.stop();
  }
}

void event_counter(Run& run) {
  const int counter = eventfd(0, 0);
  if (counter < 0) run.unsupported("eventfd");
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      unsigned long value = 1;
      if (write(counter, &value, sizeof value) != sizeof value || read(counter, &value, sizeof value) != sizeof value) {
        run.failed("eventfd");
      }
    }
    run.stop();
  }
}

void epoll_100(Run& run) {
  constexpr int descriptors = 100;
  const int instance = epoll_create1(0);
  if (instance < 0) run.unsupported("epoll_create1");
  for (int i = 0; i < descriptors; ++i) {
    const int counter = eventfd(i == descriptors / 2 ? 1 : 0, 0);
    epoll_event event{};
    event.events = EPOLLIN;
    if (counter < 0 || epoll_ctl(instance, EPOLL_CTL_ADD, counter, &event) != 0) run.failed("epoll_ctl");
  }
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      epoll_event events[8];
      if (epoll_wait(instance, events, 8, -1) != 1) run.failed("epoll_wait");
    }
    run.stop();
  }
}

void signal_delivery(Run& run) {
  struct sigaction action{};
  action.sa_handler = handler;
  if (sigaction(SIGUSR1, &action, nullptr) != 0) run.failed("sigaction");
  const long process = getpid();
  const long thread = syscall(SYS_gettid);
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < run.count; ++i) {
      if (call(SYS_tgkill, process, thread, SIGUSR1) != 0) run.failed("tgkill");
    }
    run.stop();
  }
  if (handled < run.count) run.failed("handler");
}
