// Pipes: blocking on empty and on full, end of file, SIGPIPE and EPIPE, O_NONBLOCK, whole writes up to PIPE_BUF however
// many write at once, parts of larger writes, vectors, duplicated ends, interruption by signals, and a stream between
// processes whose every byte is checked.

#include "tests/check.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace {

struct Pipe {
  int ends[2];
  explicit Pipe(int flags = 0) { CHECK_EQ(pipe2(ends, flags), 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  int reader() const { return ends[0]; }
  int writer() const { return ends[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(int end) {
    if (ends[end] >= 0) {
      CHECK_EQ(close(ends[end]), 0);
      ends[end] = -1;
    }
  }
};

void test_basics() {
  Pipe pipe;
  char buffer[16] = {};
  CHECK_EQ(write(pipe.writer(), "hello", 5), 5);
  CHECK_EQ(write(pipe.writer(), " you", 4), 4);
  CHECK_EQ(read(pipe.reader(), buffer, 3), 3);
  CHECK_EQ(memcmp(buffer, "hel", 3), 0);
  CHECK_EQ(read(pipe.reader(), buffer, sizeof buffer), 6);
  CHECK_EQ(memcmp(buffer, "lo you", 6), 0);
  CHECK_EQ(write(pipe.writer(), "", 0), 0);

  CHECK_ERRNO(read(pipe.writer(), buffer, 1), EBADF);
  CHECK_ERRNO(write(pipe.reader(), buffer, 1), EBADF);
  CHECK_ERRNO(lseek(pipe.reader(), 0, SEEK_CUR), ESPIPE);
  CHECK_ERRNO(pread(pipe.reader(), buffer, 1, 0), ESPIPE);
  struct stat status{};
  CHECK_EQ(fstat(pipe.reader(), &status), 0);
  CHECK(S_ISFIFO(status.st_mode));
  CHECK_ERRNO(pipe2(pipe.ends, 0x4), EINVAL);
  CHECK_EQ(fcntl(pipe.reader(), F_GETFL) & O_ACCMODE, O_RDONLY);
  CHECK_EQ(fcntl(pipe.writer(), F_GETFL) & O_ACCMODE, O_WRONLY);

  char first[2];
  char second[8];
  iovec parts[2] = {{const_cast<char*>("ab"), 2}, {const_cast<char*>("cdef"), 4}};
  CHECK_EQ(writev(pipe.writer(), parts, 2), 6);
  parts[0] = {first, 2};
  parts[1] = {second, 8};
  CHECK_EQ(readv(pipe.reader(), parts, 2), 6);
  CHECK(memcmp(first, "ab", 2) == 0 && memcmp(second, "cdef", 4) == 0);
  CHECK_ERRNO(writev(pipe.writer(), parts, -1), EINVAL);
}

void test_end_of_file() {
  Pipe pipe;
  char buffer[8];
  const int copy = dup(pipe.writer());
  CHECK(copy >= 0);
  CHECK_EQ(write(pipe.writer(), "xyz", 3), 3);
  pipe.close_writer();
  CHECK_EQ(write(copy, "!", 1), 1);  // the other descriptor still holds the end
  CHECK_EQ(close(copy), 0);
  CHECK_EQ(read(pipe.reader(), buffer, sizeof buffer), 4);
  CHECK_EQ(read(pipe.reader(), buffer, sizeof buffer), 0);
  CHECK_EQ(read(pipe.reader(), buffer, sizeof buffer), 0);
}

volatile sig_atomic_t broken_pipes;

void test_broken() {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { broken_pipes = broken_pipes + 1; };
  CHECK_EQ(sigaction(SIGPIPE, &action, &before), 0);
  Pipe pipe;
  pipe.close_reader();
  CHECK_ERRNO(write(pipe.writer(), "x", 1), EPIPE);
  CHECK_EQ(broken_pipes, 1);
  action.sa_handler = SIG_IGN;
  CHECK_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
  CHECK_ERRNO(write(pipe.writer(), "x", 1), EPIPE);
  CHECK_EQ(broken_pipes, 1);

  action.sa_handler = SIG_DFL;
  CHECK_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(write(pipe.writer(), "x", 1) == 1); }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
  CHECK_EQ(sigaction(SIGPIPE, &before, nullptr), 0);
}

// How much fits; 64 KiB on Linux, and at least PIPE_BUF anywhere.
size_t capacity;

void test_nonblocking() {
  Pipe pipe(O_NONBLOCK);
  static char page[PIPE_BUF];
  char buffer[8];
  CHECK_ERRNO(read(pipe.reader(), buffer, 1), EAGAIN);
  ssize_t written = 0;
  while ((written = write(pipe.writer(), page, sizeof page)) > 0) {
    CHECK_EQ(written, static_cast<ssize_t>(sizeof page));
    capacity += static_cast<size_t>(written);
    CHECK(capacity < (size_t{16} << 20));
  }
  CHECK_EQ(errno, EAGAIN);
  CHECK(capacity >= sizeof page);
  CHECK_ERRNO(write(pipe.writer(), page, 1), EAGAIN);

    // Room for less than a whole small write: all or nothing.
  static char drain[PIPE_BUF];
  CHECK_EQ(read(pipe.reader(), drain, sizeof drain), static_cast<ssize_t>(sizeof drain));
  CHECK_EQ(write(pipe.writer(), page, 100), 100);
  CHECK_ERRNO(write(pipe.writer(), page, sizeof page), EAGAIN);

    // A larger one goes in part.
  CHECK_EQ(read(pipe.reader(), drain, sizeof drain), static_cast<ssize_t>(sizeof drain));
  static char large[4 * PIPE_BUF];
  written = write(pipe.writer(), large, sizeof large);
  CHECK(written > 0 && written < static_cast<ssize_t>(sizeof large));

    // Set and cleared later.
  CHECK(fcntl(pipe.reader(), F_GETFL) & O_NONBLOCK);
  CHECK_EQ(fcntl(pipe.reader(), F_SETFL, 0), 0);
  CHECK((fcntl(pipe.reader(), F_GETFL) & O_NONBLOCK) == 0);
  pipe.close_writer();
  while (read(pipe.reader(), drain, sizeof drain) > 0) {}
  CHECK_EQ(read(pipe.reader(), drain, sizeof drain), 0);
}

struct Blocked {
  Pipe* pipe;
  int64_t returned_ns;
};

void test_blocking() {
  Pipe pipe;
  Blocked blocked = {&pipe, 0};
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void* argument) -> void* {
                 auto& self = *static_cast<Blocked*>(argument);
                 char byte = 0;
                 CHECK_EQ(read(self.pipe->reader(), &byte, 1), 1);
                 CHECK_EQ(byte, 'r');
                 self.returned_ns = check_now_ns();
                 return nullptr;
               },
               &blocked),
           0);
  check_sleep_us(5000);
  const int64_t written_ns = check_now_ns();
  CHECK_EQ(write(pipe.writer(), "r", 1), 1);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK(blocked.returned_ns >= written_ns);

    // A write of more than fits waits for readers and is complete.
  static char data[3 * 65536 + 100];
  for (size_t index = 0; index < sizeof data; ++index) { data[index] = static_cast<char>(index * 7); }
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void* argument) -> void* {
                 const auto& self = *static_cast<Blocked*>(argument);
                 CHECK_EQ(write(self.pipe->writer(), data, sizeof data), static_cast<ssize_t>(sizeof data));
                 self.pipe->close_writer();
                 return nullptr;
               },
               &blocked),
           0);
  check_sleep_us(3000);
  size_t total = 0;
  static char buffer[5000];
  for (ssize_t got = 0; (got = read(pipe.reader(), buffer, sizeof buffer)) > 0;) {
    CHECK(total + static_cast<size_t>(got) <= sizeof data);
    CHECK_EQ(memcmp(buffer, data + total, static_cast<size_t>(got)), 0);
    total += static_cast<size_t>(got);
  }
  CHECK_EQ(total, sizeof data);
  CHECK_EQ(pthread_join(thread, nullptr), 0);

    // A blocked writer learns that the last reader has gone.
  Pipe full;
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  CHECK_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
  blocked.pipe = &full;
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void* argument) -> void* {
                 const int writer = static_cast<Blocked*>(argument)->pipe->writer();
                 ssize_t result = 0;
                 while ((result = write(writer, data, 4096)) > 0) {}
                 CHECK_EQ(errno, EPIPE);
                 return nullptr;
               },
               &blocked),
           0);
  check_sleep_us(5000);
  full.close_reader();
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  action.sa_handler = SIG_DFL;
  CHECK_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
}

// Writes of up to PIPE_BUF bytes never mix, whoever writes.
void test_atomic_writes() {
  constexpr int writers = 6;
  struct Record {
    uint32_t writer;
    uint32_t number;
    char filling[PIPE_BUF - 8];
  };
  static_assert(sizeof(Record) == PIPE_BUF);
  const uint32_t records = static_cast<uint32_t>(60 * check_effort);
  Pipe pipe;
  pid_t children[writers];
  for (uint32_t writer = 0; writer < writers; ++writer) {
    children[writer] = fork();
    CHECK(children[writer] >= 0);
    if (children[writer] == 0) {
      static Record record;
      record.writer = writer;
      memset(record.filling, static_cast<int>('a' + writer), sizeof record.filling);
      for (uint32_t number = 0; number < records; ++number) {
        record.number = number;
        if (write(pipe.writer(), &record, sizeof record) != static_cast<ssize_t>(sizeof record)) { _exit(1); }
      }
      _exit(0);
    }
  }
  pipe.close_writer();
  uint32_t next[writers] = {};
  static Record record;
  for (;;) {
    size_t have = 0;
    while (have < sizeof record) {
      const ssize_t got = read(pipe.reader(), reinterpret_cast<char*>(&record) + have, sizeof record - have);
      CHECK(got >= 0);
      if (got == 0) { break; }
      have += static_cast<size_t>(got);
    }
    if (have == 0) { break; }
    CHECK_EQ(have, sizeof record);
    CHECK(record.writer < writers);
    CHECK_EQ(record.number, next[record.writer]);
    ++next[record.writer];
    for (const char byte : record.filling) {
      if (byte != static_cast<char>('a' + record.writer)) { CHECK_EQ(byte, 'a' + record.writer); }
    }
  }
  for (int writer = 0; writer < writers; ++writer) {
    CHECK_EQ(next[writer], records);
    int status = -1;
    CHECK_EQ(waitpid(children[writer], &status, 0), children[writer]);
    CHECK_EQ(status, 0);
  }
}

// A long stream in pieces of many sizes through two processes, each byte by its place.
void test_stream() {
  Pipe there;
  Pipe back;
  const size_t total = static_cast<size_t>(1000000 * check_effort);
  const auto byte_at = [](size_t place) { return static_cast<unsigned char>(place * 31 + place / 256); };
  const pid_t writer = fork();
  CHECK(writer >= 0);
  if (writer == 0) {
    static unsigned char buffer[20000];
    size_t place = 0;
    for (size_t size = 1; place < total; size = size * 3 % 19997 + 1) {
      const size_t count = size < total - place ? size : total - place;
      for (size_t index = 0; index < count; ++index) { buffer[index] = byte_at(place + index); }
      if (write(there.writer(), buffer, count) != static_cast<ssize_t>(count)) { _exit(1); }
      place += count;
    }
    _exit(0);
  }
  const pid_t middle = fork();
  CHECK(middle >= 0);
  if (middle == 0) {
    there.close_writer();
    static char buffer[7777];
    ssize_t got = 0;
    while ((got = read(there.reader(), buffer, sizeof buffer)) > 0) {
      if (write(back.writer(), buffer, static_cast<size_t>(got)) != got) { _exit(1); }
    }
    _exit(got == 0 ? 0 : 2);
  }
  there.close_writer();
  there.close_reader();
  back.close_writer();
  static unsigned char buffer[12345];
  size_t place = 0;
  for (ssize_t got = 0; (got = read(back.reader(), buffer, sizeof buffer)) > 0; place += static_cast<size_t>(got)) {
    for (ssize_t index = 0; index < got; ++index) {
      if (buffer[index] != byte_at(place + static_cast<size_t>(index))) {
        CHECK_EQ(buffer[index], byte_at(place + static_cast<size_t>(index)));
      }
    }
  }
  CHECK_EQ(place, total);
  using Children = const pid_t[];
  for (const pid_t child : Children{writer, middle}) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
}

// A handled signal ends a blocked read with EINTR; with SA_RESTART the read goes on.
void test_interruption() {
  static volatile sig_atomic_t handled;
  static volatile bool done;
  static Pipe* pipe;
  Pipe own;
  pipe = &own;
  using Flags = const bool[];
  for (const bool restart : Flags{false, true}) {
    struct sigaction action{};
    action.sa_handler = [](int) { handled = handled + 1; };
    action.sa_flags = restart ? SA_RESTART : 0;
    CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    handled = 0;
    done = false;
    pthread_t thread{};
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void* argument) -> void* {
                   char byte = 0;
                   if (argument != nullptr) {
                     CHECK_EQ(read(pipe->reader(), &byte, 1), 1);
                     CHECK_EQ(byte, 's');
                   } else {
                     CHECK_ERRNO(read(pipe->reader(), &byte, 1), EINTR);
                   }
                   done = true;
                   return nullptr;
                 },
                 restart ? &own : nullptr),
             0);
    for (int tries = 0; restart ? tries < 5 : !done; ++tries) {
      CHECK(tries < 10000);
      check_sleep_us(2000);
      if (!done) { pthread_kill(thread, SIGUSR1); }
    }
    if (restart) {
      check_sleep_us(1000);
      CHECK(!done);
      CHECK_EQ(write(own.writer(), "s", 1), 1);
    }
    CHECK_EQ(pthread_join(thread, nullptr), 0);
    CHECK(handled > 0);
  }
}

// With O_DIRECT each write is read by itself.
void test_packets() {
  int ends[2];
  CHECK_EQ(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
  const auto [reader, writer] = ends;
  CHECK_EQ(fcntl(reader, F_GETFL), O_NONBLOCK);
  CHECK_EQ(fcntl(writer, F_GETFL), O_WRONLY | O_NONBLOCK | O_DIRECT);
  char text[16] = {};
  CHECK_EQ(write(writer, "abc", 3), 3);
  CHECK_EQ(write(writer, "defg", 4), 4);
  int waiting = 0;
  CHECK_EQ(ioctl(reader, FIONREAD, &waiting), 0);
  CHECK_EQ(waiting, 7);
  CHECK_EQ(read(reader, text, 2), 2);  // the rest of this packet is lost
  CHECK_EQ(read(reader, text, sizeof text), 4);
  CHECK_EQ(memcmp(text, "defg", 4), 0);
  CHECK_ERRNO(read(reader, text, 1), EAGAIN);
  static char large[10000];  // becomes packets of at most PIPE_BUF
  CHECK_EQ(write(writer, large, sizeof large), static_cast<ssize_t>(sizeof large));
  const ssize_t pieces[] = {4096, 4096, 1808};
  for (const ssize_t piece : pieces) { CHECK_EQ(read(reader, large, sizeof large), piece); }
  // As many packets as pages, and then none; a reader makes room for one.
  int packets = 0;
  while (write(writer, "a", 1) == 1) { ++packets; }
  CHECK_EQ(errno, EAGAIN);
  CHECK_EQ(packets, 16);
  pollfd polled = {writer, POLLOUT, 0};
  CHECK_EQ(poll(&polled, 1, 0), 0);
  CHECK_ERRNO(fcntl(writer, F_SETPIPE_SZ, 4096), EBUSY);
  CHECK_EQ(read(reader, text, sizeof text), 1);
  CHECK_EQ(poll(&polled, 1, 0), 1);
  CHECK_EQ(fcntl(writer, F_SETPIPE_SZ, 128 << 10), 128 << 10);
  for (int i = 0; i < 17; ++i) { CHECK_EQ(write(writer, "b", 1), 1); }
  CHECK_ERRNO(write(writer, "b", 1), EAGAIN);
  for (int i = 0; i < 32; ++i) {
    CHECK_EQ(read(reader, text, sizeof text), 1);
    CHECK_EQ(text[0], i < 15 ? 'a' : 'b');
  }
  // Without the flag a stream again.
  CHECK_EQ(write(writer, "xy", 2), 2);
  CHECK_EQ(fcntl(writer, F_SETFL, O_NONBLOCK), 0);
  CHECK_EQ(write(writer, "12", 2), 2);
  CHECK_EQ(write(writer, "34", 2), 2);
  CHECK_EQ(read(reader, text, 1), 1);
  CHECK_EQ(read(reader, text, sizeof text), 4);
  CHECK_EQ(memcmp(text, "1234", 4), 0);
  CHECK_EQ(close(reader), 0);
  CHECK_EQ(close(writer), 0);
}

void test_many() {
    // Ends come and go: nothing may be used up.
  for (long round = 0; round < 500 * check_effort; ++round) {
    Pipe pipe;
    CHECK_EQ(write(pipe.writer(), &round, sizeof round), static_cast<ssize_t>(sizeof round));
  }
    // One writer, many readers: each record goes to one of them.
  static Pipe* pipe;
  Pipe own;
  pipe = &own;
  pthread_t threads[6];
  for (auto& thread : threads) {
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   uintptr_t sum = 0;
                   uint32_t value = 0;
                   while (read(pipe->reader(), &value, sizeof value) == static_cast<ssize_t>(sizeof value)) { sum += value; }
                   return reinterpret_cast<void*>(sum);
                 },
                 nullptr),
             0);
  }
  const uint32_t count = static_cast<uint32_t>(2000 * check_effort);
  for (uint32_t value = 1; value <= count; ++value) {
    CHECK_EQ(write(own.writer(), &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  own.close_writer();
  uintptr_t sum = 0;
  for (const auto thread : threads) {
    void* part = nullptr;
    CHECK_EQ(pthread_join(thread, &part), 0);
    sum += reinterpret_cast<uintptr_t>(part);
  }
  CHECK_EQ(sum, uintptr_t{count} * (count + 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("pipetest", argc, argv);
  test_basics();
  test_end_of_file();
  test_broken();
  test_nonblocking();
  test_blocking();
  test_atomic_writes();
  test_stream();
  test_interruption();
  test_packets();
  test_many();
  return check_done();
}
