// epoll: levels and edges, once only, exclusive, nesting; descriptors that are closed, duplicated and inherited; wake-ups
// through many instances and threads, counted.

#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

constexpr int64_t ms = 1000000;

struct Pipe {
  int reader = -1, writer = -1;
  Pipe() {
    int ends[2];
    CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
    reader = ends[0];
    writer = ends[1];
  }
  ~Pipe() {
    if (reader >= 0) { close(reader); }
    if (writer >= 0) { close(writer); }
  }
  void put() { CHECK_EQ(write(writer, "x", 1), 1); }
  void take() {
    char byte;
    CHECK_EQ(read(reader, &byte, 1), 1);
  }
};

struct Epoll {
  int instance = epoll_create1(EPOLL_CLOEXEC);
  Epoll() { CHECK(instance >= 0); }
  ~Epoll() { close(instance); }
  int control(int operation, int descriptor, uint32_t events, uint64_t data) const {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = data;
    return epoll_ctl(instance, operation, descriptor, &event);
  }
  void add(int descriptor, uint32_t events, uint64_t data = 1) const {
    CHECK_EQ(control(EPOLL_CTL_ADD, descriptor, events, data), 0);
  }
  // The bits of the only event, or 0.
  uint32_t look(int wait_ms = 0) const {
    epoll_event events[4] = {};
    const int count = epoll_wait(instance, events, 4, wait_ms);
    CHECK(count == 0 || count == 1);
    return count == 0 ? 0 : static_cast<uint32_t>(events[0].events);
  }
};

void test_levels_and_edges() {
  Epoll epoll;
  Pipe pipe;
  epoll.add(pipe.reader, EPOLLIN, 77);
  CHECK_EQ(epoll.look(), 0);
  pipe.put();
  epoll_event event = {};
  CHECK_EQ(epoll_wait(epoll.instance, &event, 1, -1), 1);
  CHECK_EQ(event.events, EPOLLIN);
  CHECK_EQ(event.data.u64, 77);
  CHECK_EQ(epoll.look(), EPOLLIN);  // still
  pipe.take();
  CHECK_EQ(epoll.look(), 0);

  CHECK_EQ(epoll.control(EPOLL_CTL_MOD, pipe.reader, EPOLLIN | EPOLLET, 1), 0);
  pipe.put();
  CHECK_EQ(epoll.look(), EPOLLIN);
  CHECK_EQ(epoll.look(), 0);
  pipe.put();  // a new edge
  CHECK_EQ(epoll.look(), EPOLLIN);
  pipe.take();  // none
  CHECK_EQ(epoll.look(), 0);
  CHECK_EQ(epoll.control(EPOLL_CTL_MOD, pipe.reader, EPOLLIN | EPOLLET, 1), 0);  // asks again
  CHECK_EQ(epoll.look(), EPOLLIN);

  CHECK_EQ(epoll.control(EPOLL_CTL_MOD, pipe.reader, EPOLLIN | EPOLLONESHOT, 1), 0);
  CHECK_EQ(epoll.look(), EPOLLIN);
  pipe.put();
  CHECK_EQ(epoll.look(), 0);
  CHECK_EQ(epoll.control(EPOLL_CTL_MOD, pipe.reader, EPOLLIN | EPOLLONESHOT, 1), 0);
  CHECK_EQ(epoll.look(), EPOLLIN);
  CHECK_EQ(epoll.control(EPOLL_CTL_MOD, pipe.reader, 0, 1), 0);
  CHECK_EQ(close(pipe.writer), 0);
  pipe.writer = -1;
  CHECK_EQ(epoll.look(), EPOLLHUP);  // told unasked

  Pipe other;
  epoll.control(EPOLL_CTL_DEL, pipe.reader, 0, 0);
  epoll.add(other.writer, EPOLLOUT | EPOLLET);
  CHECK_EQ(epoll.look(), EPOLLOUT);
  other.put();
  CHECK_EQ(epoll.look(), 0);
  CHECK_EQ(close(other.reader), 0);
  other.reader = -1;
  CHECK_EQ(epoll.look() & EPOLLERR, EPOLLERR);
}

void test_errors() {
  Epoll epoll;
  Epoll second;
  Pipe pipe;
  epoll_event event = {};
  event.events = EPOLLIN;
  CHECK_ERRNO(syscall(SYS_epoll_create, 0), EINVAL);
  CHECK_ERRNO(epoll_create1(1), EINVAL);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_ADD, pipe.reader, nullptr), EFAULT);
  CHECK_ERRNO(epoll_ctl(999, EPOLL_CTL_ADD, pipe.reader, &event), EBADF);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_ADD, 999, &event), EBADF);
  CHECK_ERRNO(epoll_ctl(pipe.reader, EPOLL_CTL_ADD, pipe.writer, &event), EINVAL);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_ADD, epoll.instance, &event), EINVAL);
  CHECK_ERRNO(epoll_ctl(epoll.instance, 9, pipe.reader, &event), EINVAL);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_DEL, pipe.reader, nullptr), ENOENT);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_MOD, pipe.reader, &event), ENOENT);
  const int file = open("/proc/self/stat", O_RDONLY);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_ADD, file, &event), EPERM);
  const int directory = open("/", O_RDONLY);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_ADD, directory, &event), EPERM);
  close(file);
  close(directory);
  epoll.add(pipe.reader, EPOLLIN);
  CHECK_ERRNO(epoll_ctl(epoll.instance, EPOLL_CTL_ADD, pipe.reader, &event), EEXIST);
  CHECK_ERRNO(epoll_wait(epoll.instance, &event, 0, 0), EINVAL);
  CHECK_ERRNO(epoll_wait(epoll.instance, &event, -1, 0), EINVAL);
  CHECK_ERRNO(epoll_wait(pipe.reader, &event, 1, 0), EINVAL);
  CHECK_ERRNO(epoll_wait(999, &event, 1, 0), EBADF);
  CHECK_EQ(epoll_wait(epoll.instance, reinterpret_cast<epoll_event*>(8), 1, 0), 0);  // nothing to write
  pipe.put();
  CHECK_ERRNO(epoll_wait(epoll.instance, reinterpret_cast<epoll_event*>(8), 1, 0), EFAULT);
  CHECK_EQ(epoll.look(), EPOLLIN);  // not lost
  CHECK_ERRNO(read(epoll.instance, &event, sizeof event), EINVAL);
  CHECK_ERRNO(epoll.control(EPOLL_CTL_MOD, pipe.reader, EPOLLIN | EPOLLEXCLUSIVE, 1), EINVAL);
  CHECK_ERRNO(second.control(EPOLL_CTL_ADD, pipe.reader, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT, 1), EINVAL);
  CHECK_ERRNO(second.control(EPOLL_CTL_ADD, epoll.instance, EPOLLIN | EPOLLEXCLUSIVE, 1), EINVAL);
  second.add(pipe.reader, EPOLLIN | EPOLLEXCLUSIVE);
  CHECK_ERRNO(second.control(EPOLL_CTL_MOD, pipe.reader, EPOLLIN, 1), EINVAL);
}

void test_order_and_limits() {
  Epoll epoll;
  constexpr int count = 40;
  Pipe pipes[count];
  for (int i = 0; i < count; ++i) epoll.add(pipes[i].reader, EPOLLIN, static_cast<uint64_t>(i));
  for (int i = count; i-- > 0;) pipes[i].put();
  epoll_event events[count];
  int seen[count] = {};
  for (int round = 0; round < 4; ++round) {  // ten at a time, each once before any twice
    CHECK_EQ(epoll_wait(epoll.instance, events, 10, 0), 10);
    for (int i = 0; i < 10; ++i) ++seen[events[i].data.u64];
  }
  for (int times : seen) CHECK_EQ(times, 1);
  CHECK_EQ(epoll_wait(epoll.instance, events, count, 0), count);
  for (Pipe& pipe : pipes) pipe.take();
  CHECK_EQ(epoll_wait(epoll.instance, events, count, 0), 0);
}

// A watch belongs to the open file: it stays while any descriptor of it is open, and goes with the last.
void test_closing() {
  Epoll epoll;
  Pipe pipe;
  epoll.add(pipe.reader, EPOLLIN, 5);
  const int copy = dup(pipe.reader);
  epoll.add(copy, EPOLLIN, 6);
  pipe.put();
  epoll_event events[4];
  CHECK_EQ(epoll_wait(epoll.instance, events, 4, 0), 2);
  CHECK_EQ(close(pipe.reader), 0);
  CHECK_EQ(epoll_wait(epoll.instance, events, 4, 0), 2);  // both, although one descriptor has gone
  CHECK_ERRNO(epoll.control(EPOLL_CTL_DEL, pipe.reader, 0, 0), EBADF);
  CHECK_EQ(dup2(copy, pipe.reader), pipe.reader);
  CHECK_EQ(epoll.control(EPOLL_CTL_DEL, pipe.reader, 0, 0), 0);
  CHECK_EQ(epoll_wait(epoll.instance, events, 4, 0), 1);
  CHECK_EQ(events[0].data.u64, 6);
  CHECK_EQ(close(pipe.reader), 0);
  pipe.reader = -1;
  CHECK_EQ(close(copy), 0);
  CHECK_EQ(epoll_wait(epoll.instance, events, 4, 0), 0);

  // A child has the same open files: what it closes stays watched, what it reads is gone.
  Pipe shared;
  epoll.add(shared.reader, EPOLLIN);
  shared.put();
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(epoll.look(), EPOLLIN);
    shared.take();
    CHECK_EQ(close(shared.reader), 0);
    shared.reader = -1;
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(epoll.look(), 0);
  shared.put();
  CHECK_EQ(epoll.look(), EPOLLIN);
}

void test_nesting() {
  Epoll inner;
  Epoll outer;
  Pipe pipe;
  inner.add(pipe.reader, EPOLLIN);
  outer.add(inner.instance, EPOLLIN);
  CHECK_EQ(outer.look(), 0);
  pipe.put();
  CHECK_EQ(outer.look(), EPOLLIN);
  pollfd polled = {outer.instance, POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, 0), 1);
  pipe.take();
  CHECK_EQ(outer.look(), 0);
  CHECK_EQ(poll(&polled, 1, 0), 0);
  CHECK_ERRNO(inner.control(EPOLL_CTL_ADD, outer.instance, EPOLLIN, 1), ELOOP);

  Epoll chain[7];
  for (int i = 0; i < 4; ++i) chain[i + 1].add(chain[i].instance, EPOLLIN);
  CHECK_ERRNO(chain[5].control(EPOLL_CTL_ADD, chain[4].instance, EPOLLIN, 1), ELOOP);
  CHECK_ERRNO(chain[0].control(EPOLL_CTL_ADD, chain[6].instance, EPOLLIN, 1), ELOOP);
  chain[0].add(pipe.reader, EPOLLIN);
  polled.fd = chain[4].instance;
  CHECK_EQ(poll(&polled, 1, 0), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    check_sleep_us(30000);
    pipe.put();
    _exit(0);
  }
  CHECK_EQ(poll(&polled, 1, 20000), 1);  // through five instances
  CHECK_EQ(chain[4].look(20000), EPOLLIN);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
}

void on_signal(int) {}

void test_time_and_signals() {
  Epoll epoll;
  Pipe pipe;
  epoll.add(pipe.reader, EPOLLIN);
  int64_t start = check_now_ns();
  CHECK_EQ(epoll.look(30), 0);
  CHECK(check_now_ns() - start >= 30 * ms);
  epoll_event event = {};
  struct timespec wait = {0, 20 * ms};
  start = check_now_ns();
  CHECK_EQ(syscall(SYS_epoll_pwait2, epoll.instance, &event, 1, &wait, nullptr, 8), 0);
  CHECK(check_now_ns() - start >= 20 * ms);
  wait.tv_nsec = 1000000000;
  CHECK_ERRNO(syscall(SYS_epoll_pwait2, epoll.instance, &event, 1, &wait, nullptr, 8), EINVAL);

  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // makes no difference
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &blocked, &old), 0);
  CHECK_EQ(kill(getpid(), SIGUSR1), 0);
  CHECK_EQ(epoll.look(10), 0);  // blocked
  CHECK_ERRNO(epoll_pwait(epoll.instance, &event, 1, 20000, &old), EINTR);
  CHECK_ERRNO(syscall(SYS_epoll_pwait, epoll.instance, &event, 1, 0, &old, 4), EINVAL);
  CHECK_ERRNO(syscall(SYS_epoll_pwait, -1, &event, 1, 0, &old, 4), EINVAL);  // looked at before the rest
  CHECK_ERRNO(syscall(SYS_epoll_pwait, -1, &event, 0, 0, 8, 8), EFAULT);
  CHECK_ERRNO(syscall(SYS_epoll_pwait, -1, &event, 0, 0, &blocked, 8), EBADF);
  CHECK_EQ(sigprocmask(SIG_SETMASK, &old, nullptr), 0);
}

// An instance is closed, and files in it, while others use both.
void test_races() {
  static int counter;
  counter = eventfd(0, EFD_NONBLOCK);
  constexpr int crowd = 4;
  pthread_t threads[crowd];
  const auto run = [](void*) -> void* {
    for (long i = 0; i < 150 * check_effort; ++i) {
      Epoll epoll;
      Pipe pipe;
      epoll.add(counter, EPOLLIN | (i % 2 != 0 ? EPOLLET : 0u), 1);
      epoll.add(pipe.reader, EPOLLIN, 2);
      const uint64_t one = 1;
      CHECK_EQ(write(counter, &one, 8), 8);
      epoll_event events[2];
      CHECK(epoll_wait(epoll.instance, events, 2, 0) >= 0);
      if (i % 3 == 0) { CHECK_EQ(epoll.control(EPOLL_CTL_DEL, counter, 0, 0), 0); }
      uint64_t value;
      if (read(counter, &value, 8) != 8) { CHECK_EQ(errno, EAGAIN); }
    }
    return nullptr;
  };
  for (pthread_t& thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(close(counter), 0);
}

// Tokens go through pipes whose readers are watched by one instance in many threads, by level, edge and once only: each
// token is taken once, and everybody who waits is woken in the end.
void crowd_of(uint32_t mode) {
  constexpr int crowd = 4, count = 6;
  static Epoll* epoll;
  static Pipe* pipes;
  static uint32_t flags;
  static long taken, wanted;
  Epoll own;
  Pipe own_pipes[count];
  epoll = &own;
  pipes = own_pipes;
  flags = mode;
  taken = 0;
  wanted = 1500 * check_effort;
  for (int i = 0; i < count; ++i) own.add(own_pipes[i].reader, EPOLLIN | mode, static_cast<uint64_t>(i));
  const int end = eventfd(0, 0);
  own.add(end, EPOLLIN, 1000);
  const auto run = [](void*) -> void* {
    for (;;) {
      epoll_event events[3];
      const int found = epoll_wait(epoll->instance, events, 3, 60000);
      CHECK(found > 0);
      for (int i = 0; i < found; ++i) {
        if (events[i].data.u64 == 1000) return nullptr;
        const int pipe = static_cast<int>(events[i].data.u64);
        char byte;
        while (read(pipes[pipe].reader, &byte, 1) == 1) {
          __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
          if ((flags & EPOLLET) == 0) break;
        }
        if ((flags & EPOLLONESHOT) != 0) {
          CHECK_EQ(epoll->control(EPOLL_CTL_MOD, pipes[pipe].reader, EPOLLIN | flags, static_cast<uint64_t>(pipe)), 0);
        }
      }
    }
  };
  pthread_t threads[crowd];
  for (pthread_t& thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  for (long i = 0; i < wanted; ++i) pipes[i % count].put();
  for (int64_t start = check_now_ns(); __atomic_load_n(&taken, __ATOMIC_RELAXED) < wanted; check_sleep_us(1000)) {
    CHECK(check_now_ns() - start < 60000 * ms);
  }
  const uint64_t one = 1;
  CHECK_EQ(write(end, &one, 8), 8);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(taken, wanted);
  CHECK_EQ(close(end), 0);
}

// Every thread has its own instance on one counter; each change wakes at least one.
void test_exclusive() {
  static int counter;
  static long taken, wanted;
  counter = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
  taken = 0;
  wanted = 600 * check_effort;
  constexpr int crowd = 4;
  const auto run = [](void*) -> void* {
    Epoll own;
    own.add(counter, EPOLLIN | EPOLLEXCLUSIVE);
    while (__atomic_load_n(&taken, __ATOMIC_SEQ_CST) < wanted) {
      epoll_event event;
      const int found = epoll_wait(own.instance, &event, 1, 60000);
      CHECK(found == 1);
      uint64_t value;
      if (read(counter, &value, 8) == 8) { __atomic_fetch_add(&taken, 1, __ATOMIC_SEQ_CST); }
    }
    const uint64_t one = 1;  // for the next one to leave
    CHECK_EQ(write(counter, &one, 8), 8);
    return nullptr;
  };
  pthread_t threads[crowd];
  for (pthread_t& thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  for (long i = 0; i < wanted; ++i) {
    const uint64_t one = 1;
    CHECK_EQ(write(counter, &one, 8), 8);
  }
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK(taken >= wanted);
  CHECK_EQ(close(counter), 0);
}

// A ring of processes, each with an instance over pipes: a token goes round.
void test_ring() {
  constexpr int members = 4;
  const long rounds = 400 * check_effort;
  Pipe pipes[members];
  Pipe quiet;
  pid_t children[members - 1];
  const auto pass = [&](int own) {
    Epoll epoll;
    epoll.add(quiet.reader, EPOLLIN, 9);
    epoll.add(pipes[own].reader, EPOLLIN | EPOLLET, 8);
    for (long i = 0; i < rounds; ++i) {
      if (own != 0 || i != 0) {
        epoll_event events[2];
        CHECK_EQ(epoll_wait(epoll.instance, events, 2, 60000), 1);
        CHECK_EQ(events[0].data.u64, 8);
        pipes[own].take();
      }
      pipes[(own + 1) % members].put();
    }
  };
  for (int i = 1; i < members; ++i) {
    children[i - 1] = fork();
    CHECK(children[i - 1] >= 0);
    if (children[i - 1] == 0) {
      pass(i);
      _exit(0);
    }
  }
  pass(0);
  for (pid_t child : children) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("epolltest", argc, argv);
  test_levels_and_edges();
  test_errors();
  test_order_and_limits();
  test_closing();
  test_nesting();
  test_time_and_signals();
  test_races();
  crowd_of(0);
  crowd_of(EPOLLET);
  crowd_of(EPOLLONESHOT);
  crowd_of(EPOLLONESHOT | EPOLLET);
  test_exclusive();
  test_ring();
  return check_done();
}
