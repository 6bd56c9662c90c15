// poll, ppoll, select: readiness, time-outs, wake-ups from other threads and processes (none lost), signals and masks.

#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

constexpr int64_t ms = 1000000;

struct Pipe {
  int reader, writer;
  Pipe() {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    reader = ends[0];
    writer = ends[1];
  }
  ~Pipe() {
    close_end(reader);
    close_end(writer);
  }
  static void close_end(int& end) {
    if (end >= 0) { CHECK_EQ(close(end), 0); }
    end = -1;
  }
};

void* write_later(void* argument) {
  check_sleep_us(50000);
  CHECK_EQ(write(*static_cast<int*>(argument), "x", 1), 1);
  return nullptr;
}

short ready_of(int descriptor, short events) {
  pollfd polled = {descriptor, events, 0};
  const int ready = poll(&polled, 1, 0);
  CHECK_EQ(ready, polled.revents != 0 ? 1 : 0);
  return polled.revents;
}

void test_readiness() {
  Pipe pipe;
  CHECK_EQ(ready_of(pipe.reader, POLLIN), 0);
  CHECK_EQ(ready_of(pipe.writer, POLLOUT), POLLOUT);
  CHECK_EQ(write(pipe.writer, "x", 1), 1);
  CHECK_EQ(ready_of(pipe.reader, POLLIN | POLLOUT), POLLIN);
  Pipe::close_end(pipe.writer);
  CHECK_EQ(ready_of(pipe.reader, POLLIN), POLLIN | POLLHUP);
  CHECK_EQ(ready_of(pipe.reader, 0), POLLHUP);  // told though not asked for
  CHECK_EQ(ready_of(-1, POLLIN), 0);
  CHECK_EQ(ready_of(900, POLLIN), POLLNVAL);

  Pipe other;
  Pipe::close_end(other.reader);
  CHECK_EQ(ready_of(other.writer, POLLOUT) & POLLERR, POLLERR);
  const int file = open("/proc/self/stat", O_RDONLY);
  CHECK(file >= 0);
  CHECK_EQ(ready_of(file, POLLIN), POLLIN);
  CHECK_EQ(close(file), 0);
  CHECK_ERRNO(poll(reinterpret_cast<pollfd*>(8), 1, 0), EFAULT);
}

void test_time() {
  Pipe pipe;
  pollfd polled = {pipe.reader, POLLIN, 0};
  int64_t start = check_now_ns();
  CHECK_EQ(poll(&polled, 1, 40), 0);
  CHECK(check_now_ns() - start >= 40 * ms);
  timespec wait = {0, 30 * ms};
  start = check_now_ns();
  CHECK_EQ(ppoll(&polled, 1, &wait, nullptr), 0);
  CHECK(check_now_ns() - start >= 30 * ms);
  start = check_now_ns();
  CHECK_EQ(poll(nullptr, 0, 20), 0);
  CHECK(check_now_ns() - start >= 20 * ms);
  wait.tv_nsec = 1000000000;
  CHECK_ERRNO(ppoll(&polled, 1, &wait, nullptr), EINVAL);
}

void test_wakeups() {
  Pipe quiet;
  Pipe pipe;
  pollfd polled[2] = {{quiet.reader, POLLIN, 0}, {pipe.reader, POLLIN, 0}};
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, write_later, &pipe.writer), 0);
  CHECK_EQ(poll(polled, 2, -1), 1);
  CHECK_EQ(polled[0].revents, 0);
  CHECK_EQ(polled[1].revents, POLLIN);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
    // The same file twice, each told.
  pollfd twice[2] = {{pipe.reader, POLLIN, 0}, {pipe.reader, POLLIN, 0}};
  CHECK_EQ(poll(twice, 2, -1), 2);
}

// A byte goes round between two processes that both wait in poll or select: no wake-up may be lost.
void test_exchange() {
  Pipe there;
  Pipe back;
  Pipe quiet;
  const long rounds = 700 * check_effort;
  const pid_t child = fork();
  CHECK(child >= 0);
  char byte = 0;
  if (child == 0) {
    for (long i = 0; i < rounds; ++i) {
      pollfd polled[2] = {{quiet.reader, POLLIN, 0}, {there.reader, POLLIN, 0}};
      CHECK_EQ(poll(polled, 2, 20000), 1);
      CHECK_EQ(read(there.reader, &byte, 1), 1);
      CHECK_EQ(write(back.writer, &byte, 1), 1);
    }
    _exit(0);
  }
  for (long i = 0; i < rounds; ++i) {
    const char sent = static_cast<char>(i);
    CHECK_EQ(write(there.writer, &sent, 1), 1);
    fd_set readers;
    FD_ZERO(&readers);
    FD_SET(back.reader, &readers);
    FD_SET(quiet.reader, &readers);
    timeval wait = {20, 0};
    const int highest = back.reader > quiet.reader ? back.reader : quiet.reader;
    CHECK_EQ(select(highest + 1, &readers, nullptr, nullptr, &wait), 1);
    CHECK(FD_ISSET(back.reader, &readers) && !FD_ISSET(quiet.reader, &readers));
    CHECK_EQ(read(back.reader, &byte, 1), 1);
    CHECK_EQ(byte, sent);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

// Several threads poll one pipe: a change wakes them all, and each byte goes to one.
void test_crowd() {
  static Pipe* pipe;
  static long taken;
  Pipe own;
  pipe = &own;
  taken = 0;
  constexpr int crowd = 6;
  const long bytes = 500 * check_effort;
  CHECK_EQ(fcntl(own.reader, F_SETFL, O_NONBLOCK), 0);
  pthread_t threads[crowd];
  for (pthread_t& thread : threads) {
    const auto run = [](void*) -> void* {
      for (;;) {
        pollfd polled = {pipe->reader, POLLIN, 0};
        CHECK_EQ(poll(&polled, 1, 20000), 1);
        char byte;
        const ssize_t got = read(pipe->reader, &byte, 1);
        if (got == 0) { return nullptr; }
        CHECK(got == 1 || errno == EAGAIN);
        if (got == 1) { __atomic_fetch_add(&taken, 1, __ATOMIC_SEQ_CST); }
      }
    };
    CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  }
  for (long i = 0; i < bytes; ++i) { CHECK_EQ(write(own.writer, "x", 1), 1); }
  Pipe::close_end(own.writer);
  for (pthread_t thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
  CHECK_EQ(taken, bytes);
}

void test_select() {
  Pipe pipe;
  fd_set readers;
  fd_set writers;
  FD_ZERO(&readers);
  FD_ZERO(&writers);
  FD_SET(pipe.reader, &readers);
  FD_SET(pipe.writer, &writers);
  timeval wait = {0, 1000};
  CHECK_EQ(select(pipe.writer + 1, &readers, &writers, nullptr, &wait), 1);
  CHECK(!FD_ISSET(pipe.reader, &readers) && FD_ISSET(pipe.writer, &writers));
  FD_ZERO(&readers);
  FD_SET(50, &readers);
  CHECK_ERRNO(select(51, &readers, nullptr, nullptr, &wait), EBADF);
  CHECK_ERRNO(select(-1, nullptr, nullptr, nullptr, &wait), EINVAL);
  wait = {0, 10000};
  const int64_t start = check_now_ns();
  CHECK_EQ(select(0, nullptr, nullptr, nullptr, &wait), 0);
  CHECK(check_now_ns() - start >= 10 * ms);
  Pipe::close_end(pipe.writer);
  FD_ZERO(&readers);
  FD_SET(pipe.reader, &readers);
  CHECK_EQ(select(pipe.reader + 1, &readers, nullptr, nullptr, nullptr), 1);  // the end of the file can be read
}

// The calls themselves: the libraries hand them a copy of the time. What is left of it is written whatever comes of the call.
void test_rest_of_time() {
  Pipe pipe;
  pollfd polled = {pipe.reader, POLLIN, 0};
  timespec time = {100, 0};
  timespec* const no_rest = nullptr;
  CHECK_EQ(write(pipe.writer, "x", 1), 1);
  CHECK_EQ(syscall(SYS_ppoll, &polled, 1, &time, nullptr, 8), 1);
  CHECK(time.tv_sec < 100 && time.tv_sec > 0);
  CHECK_EQ(syscall(SYS_ppoll, &polled, 1, no_rest, nullptr, 8), 1);
  char byte;
  CHECK_EQ(read(pipe.reader, &byte, 1), 1);
  time = {0, 2000000};
  CHECK_EQ(syscall(SYS_ppoll, &polled, 1, &time, nullptr, 8), 0);
  CHECK_EQ(time.tv_sec, 0);
  CHECK_EQ(time.tv_nsec, 0);
  timeval wait = {100, 0};
  fd_set readers;
  FD_ZERO(&readers);
  FD_SET(50, &readers);
  CHECK_ERRNO(syscall(SYS_select, 51, &readers, nullptr, nullptr, &wait), EBADF);
  wait = {100, 0};
  FD_ZERO(&readers);
  FD_SET(pipe.writer, &readers);
  CHECK_EQ(syscall(SYS_select, pipe.writer + 1, nullptr, &readers, nullptr, &wait), 1);
  CHECK(wait.tv_sec < 100 && wait.tv_sec > 0 && wait.tv_usec < 1000000);
  // Memory that cannot be written: the call counts nevertheless.
  static const timeval kept = {0, 1000};
  CHECK_EQ(syscall(SYS_select, 0, nullptr, nullptr, nullptr, &kept), 0);
}

// The time is read once: what another thread does to it while the call waits has no effect.
void test_time_is_read_once() {
  Pipe pipe;
  auto* time = static_cast<timespec*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(time != MAP_FAILED);
  *time = {100, 0};
  struct Other {
    timespec* time;
    int writer;
  } other = {time, pipe.writer};
  const auto change = [](void* argument) -> void* {
    const auto* given = static_cast<Other*>(argument);
    check_sleep_us(20000);
    CHECK_EQ(munmap(given->time, 4096), 0);
    CHECK_EQ(write(given->writer, "x", 1), 1);
    return nullptr;
  };
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, nullptr, change, &other), 0);
  pollfd polled = {pipe.reader, POLLIN, 0};
  CHECK_EQ(syscall(SYS_ppoll, &polled, 1, time, nullptr, 8), 1);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

volatile sig_atomic_t handled;

void test_signals() {
  Pipe pipe;
  struct sigaction action{};
  action.sa_handler = [](int) { handled = handled + 1; };
  action.sa_flags = SA_RESTART;  // poll is never restarted
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  sigset_t only;
  sigset_t before;
  sigset_t none;
  sigemptyset(&none);
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &only, &before), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  pollfd polled = {pipe.reader, POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, 5), 0);  // blocked: it does not end the wait
  CHECK_EQ(handled, 0);
  CHECK_ERRNO(ppoll(&polled, 1, nullptr, &none), EINTR);  // the mask lets it in, for the time of the call
  CHECK_EQ(handled, 1);
  sigset_t now;
  CHECK_EQ(sigprocmask(SIG_SETMASK, nullptr, &now), 0);
  CHECK(sigismember(&now, SIGUSR1));
  CHECK_EQ(raise(SIGUSR1), 0);
  fd_set readers;
  FD_ZERO(&readers);
  FD_SET(pipe.reader, &readers);
  CHECK_ERRNO(pselect(pipe.reader + 1, &readers, nullptr, nullptr, nullptr, &none), EINTR);
  CHECK_EQ(handled, 2);
  CHECK_EQ(sigprocmask(SIG_SETMASK, &before, nullptr), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("polltest", argc, argv);
  test_readiness();
  test_time();
  test_wakeups();
  test_select();
  test_rest_of_time();
  test_time_is_read_once();
  test_signals();
  test_exchange();
  test_crowd();
  return check_done();
}
