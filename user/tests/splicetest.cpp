// splice, tee, vmsplice: between pipes, files and sockets, with several threads at one pipe; what goes in comes out once.

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace {

constexpr unsigned nonblocking = 2;

long splice_bytes(int in, long* in_at, int out, long* out_at, size_t size, unsigned flags = 0) {
  return syscall(SYS_splice, in, in_at, out, out_at, size, flags);
}
long tee_bytes(int in, int out, size_t size, unsigned flags = 0) {
  return syscall(SYS_tee, in, out, size, flags);
}

struct Pipe {
  int reader, writer;
  Pipe() {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    reader = ends[0];
    writer = ends[1];
  }
  ~Pipe() {
    close(reader);
    close(writer);
  }
};

int file_with(const char* text) {
  const int file = open("/tmp/splicetest.file", O_CREAT | O_TRUNC | O_RDWR, 0600);
  CHECK(file >= 0);
  CHECK_EQ(write(file, text, strlen(text)), strlen(text));
  CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
  return file;
}

bool reads(int file, const char* text) {
  char got[64] = {};
  const ssize_t size = read(file, got, sizeof got - 1);
  return size == static_cast<ssize_t>(strlen(text)) && strcmp(got, text) == 0;
}

void check_errors() {
  Pipe a, b;
  const int file = file_with("text");
  long offset = 0;
  CHECK_EQ(splice_bytes(-1, nullptr, -1, nullptr, 0, 99), 0);
  CHECK_ERRNO(splice_bytes(-1, nullptr, -1, nullptr, 1, 99), EINVAL);
  CHECK_ERRNO(splice_bytes(-1, nullptr, a.writer, nullptr, 1), EBADF);
  CHECK_ERRNO(splice_bytes(file, nullptr, file, nullptr, 1), EINVAL);
  CHECK_ERRNO(splice_bytes(a.reader, &offset, file, nullptr, 1), ESPIPE);
  CHECK_ERRNO(splice_bytes(file, nullptr, a.writer, &offset, 1), ESPIPE);
  CHECK_ERRNO(splice_bytes(a.writer, nullptr, file, nullptr, 1), EBADF);
  CHECK_ERRNO(splice_bytes(a.reader, nullptr, a.writer, nullptr, 1), EINVAL);
  CHECK_ERRNO(splice_bytes(a.reader, nullptr, b.writer, nullptr, 1, nonblocking), EAGAIN);
  CHECK_ERRNO(splice_bytes(file, reinterpret_cast<long*>(8), a.writer, nullptr, 1), EFAULT);
  CHECK_ERRNO(tee_bytes(file, a.writer, 1), EINVAL);
  CHECK_ERRNO(tee_bytes(a.reader, a.writer, 1), EINVAL);
  CHECK_ERRNO(tee_bytes(a.reader, b.writer, 1, nonblocking), EAGAIN);
  CHECK_EQ(tee_bytes(-1, -1, 0), 0);
  char text[] = "x";
  struct iovec piece = {text, 1};
  CHECK_ERRNO(syscall(SYS_vmsplice, file, &piece, 1L, 0), EBADF);
  CHECK_ERRNO(syscall(SYS_vmsplice, -1, &piece, 1L, 0), EBADF);
  CHECK_ERRNO(syscall(SYS_vmsplice, a.writer, &piece, 1L, 99), EINVAL);
  CHECK_EQ(syscall(SYS_vmsplice, a.writer, &piece, 0L, 0), 0);
  const int appending = open("/tmp/splicetest.file", O_WRONLY | O_APPEND);
  CHECK_ERRNO(splice_bytes(a.reader, nullptr, appending, nullptr, 1, nonblocking), EINVAL);
  close(appending);
  close(file);
}

// What is not to wait does not wait for a socket either.
void check_sockets() {
  int sockets[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const Pipe pipe;
  CHECK_ERRNO(splice_bytes(sockets[0], nullptr, pipe.writer, nullptr, 10, nonblocking), EAGAIN);
  CHECK_EQ(write(sockets[1], "sock", 4), 4);
  CHECK_EQ(splice_bytes(sockets[0], nullptr, pipe.writer, nullptr, 10, nonblocking), 4);
  CHECK_EQ(fcntl(pipe.writer, F_SETFL, O_NONBLOCK), 0);
  CHECK_ERRNO(splice_bytes(sockets[0], nullptr, pipe.writer, nullptr, 10), EAGAIN);
  const int counter = eventfd(1, 0);  // nothing that bytes could be moved from or to
  CHECK_ERRNO(splice_bytes(counter, nullptr, pipe.writer, nullptr, 8), EINVAL);
  CHECK_ERRNO(splice_bytes(pipe.reader, nullptr, counter, nullptr, 8), EINVAL);
  CHECK_ERRNO(syscall(SYS_sendfile, pipe.writer, counter, nullptr, 8), EINVAL);
  CHECK_EQ(close(counter), 0);
  char text[8];
  CHECK_EQ(read(pipe.reader, text, sizeof text), 4);
  CHECK_EQ(memcmp(text, "sock", 4), 0);
  CHECK_EQ(close(sockets[0]), 0);
  CHECK_EQ(close(sockets[1]), 0);
}

void check_pairs() {
  Pipe a, b;
  const int file = file_with("0123456789");
  long offset = 3;
  CHECK_EQ(splice_bytes(file, &offset, a.writer, nullptr, 4), 4);
  CHECK_EQ(offset, 7);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 0);
  CHECK_EQ(tee_bytes(a.reader, b.writer, 3), 3);
  CHECK(reads(b.reader, "345"));
  CHECK_EQ(splice_bytes(a.reader, nullptr, b.writer, nullptr, 2), 2);
  CHECK(reads(b.reader, "34"));
  CHECK(reads(a.reader, "56"));
  CHECK_EQ(splice_bytes(file, nullptr, a.writer, nullptr, 1000), 10);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 10);
  CHECK_EQ(splice_bytes(file, nullptr, a.writer, nullptr, 1000), 0);
  CHECK(reads(a.reader, "0123456789"));
  CHECK_EQ(write(a.writer, "0123456789", 10), 10);
  offset = 5;
  CHECK_EQ(splice_bytes(a.reader, nullptr, file, &offset, 1000), 10);
  CHECK_EQ(offset, 15);
  char got[16] = {};
  CHECK_EQ(pread(file, got, 15, 0), 15);
  CHECK_EQ(strcmp(got, "012340123456789"), 0);
  int sockets[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  CHECK_EQ(write(a.writer, "to socket", 9), 9);
  CHECK_EQ(splice_bytes(a.reader, nullptr, sockets[0], nullptr, 100), 9);
  CHECK_EQ(splice_bytes(sockets[1], nullptr, b.writer, nullptr, 100), 9);
  CHECK(reads(b.reader, "to socket"));
  char one[] = "one", two[] = "two";
  struct iovec pieces[2] = {{one, 3}, {two, 3}};
  CHECK_EQ(syscall(SYS_vmsplice, a.writer, pieces, 2L, 0), 6);
  char three[7] = {};
  struct iovec whole = {three, 6};
  CHECK_EQ(syscall(SYS_vmsplice, a.reader, &whole, 1L, 0), 6);
  CHECK_EQ(strcmp(three, "onetwo"), 0);
  // No more than there is room for; and nothing is lost when there is none.
  alignas(4096) static char much[200000];
  struct iovec all = {much, sizeof much};
  CHECK_EQ(syscall(SYS_vmsplice, a.writer, &all, 1L, 0), 65536);
  CHECK_ERRNO(syscall(SYS_vmsplice, a.writer, &all, 1L, nonblocking), EAGAIN);
  CHECK_ERRNO(splice_bytes(file, &offset, a.writer, nullptr, 1, nonblocking), EAGAIN);
  CHECK_EQ(splice_bytes(a.reader, nullptr, b.writer, nullptr, sizeof much), 65536);
  CHECK_ERRNO(splice_bytes(b.reader, nullptr, a.writer, nullptr, 1, 99), EINVAL);
  close(sockets[0]);
  close(sockets[1]);
  close(file);
  unlink("/tmp/splicetest.file");
}

void check_ends() {
  Pipe a, b;
  close(a.writer);
  CHECK_EQ(splice_bytes(a.reader, nullptr, b.writer, nullptr, 10), 0);
  CHECK_EQ(tee_bytes(a.reader, b.writer, 10), 0);
  a.writer = -1;
  Pipe c;
  CHECK_EQ(write(c.writer, "x", 1), 1);
  close(b.reader);
  b.reader = -1;
  signal(SIGPIPE, SIG_IGN);
  CHECK_ERRNO(splice_bytes(c.reader, nullptr, b.writer, nullptr, 1), EPIPE);
  CHECK(reads(c.reader, "x"));
  signal(SIGPIPE, SIG_DFL);
}

// Two threads splice from one pipe to another while one writes numbers and one reads; two others tee. All arrive, once.
struct Stress {
  Pipe source, target, copies;
  long numbers;
};

void* move_numbers(void* argument) {
  auto* stress = static_cast<Stress*>(argument);
  for (;;) {
    const long moved = splice_bytes(stress->source.reader, nullptr, stress->target.writer, nullptr, 8 * 97);
    CHECK(moved >= 0);
    CHECK_EQ(moved % 8, 0);
    if (moved == 0) return nullptr;
  }
}

void* write_numbers(void* argument) {
  auto* stress = static_cast<Stress*>(argument);
  for (long i = 0; i < stress->numbers; ++i) CHECK_EQ(write(stress->source.writer, &i, sizeof i), sizeof i);
  close(stress->source.writer);
  stress->source.writer = -1;
  return nullptr;
}

void* read_numbers(void* argument) {
  auto* stress = static_cast<Stress*>(argument);
  long sum = 0;
  for (long i = 0; i < stress->numbers; ++i) {
    long number = 0;
    CHECK_EQ(read(stress->target.reader, &number, sizeof number), sizeof number);
    sum += number;
  }
  CHECK_EQ(sum, stress->numbers * (stress->numbers - 1) / 2);
  return nullptr;
}

void check_threads() {
  Stress stress;
  stress.numbers = 20000 * check_effort;
  pthread_t threads[5];
  CHECK_EQ(pthread_create(&threads[0], nullptr, move_numbers, &stress), 0);
  CHECK_EQ(pthread_create(&threads[1], nullptr, move_numbers, &stress), 0);
  CHECK_EQ(pthread_create(&threads[2], nullptr, move_numbers, &stress), 0);
  CHECK_EQ(pthread_create(&threads[3], nullptr, read_numbers, &stress), 0);
  CHECK_EQ(pthread_create(&threads[4], nullptr, write_numbers, &stress), 0);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("splicetest", argc, argv);
  check_errors();
  check_sockets();
  check_pairs();
  check_ends();
  check_threads();
  return check_done();
}
