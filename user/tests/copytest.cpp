// copy_file_range: bytes from file to file within the kernel, at positions of their own and at those of the files.

#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdint.h>
#include <string.h>

#include "check.h"

namespace {

constexpr char source_path[] = "/tmp/copytest-source";
constexpr char target_path[] = "/tmp/copytest-target";
constexpr long size = 300'000;
char bytes[size], copy[size];

long copy_range(int in, int64_t* in_at, int out, int64_t* out_at, size_t length, unsigned flags = 0) {
  return syscall(SYS_copy_file_range, in, in_at, out, out_at, length, flags);
}

int open_new(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  return fd;
}

void test_a_whole_file(int source) {
  const int target = open_new(target_path);
  CHECK_EQ(lseek(source, 0, SEEK_SET), 0);
  long done = 0;
  for (long now; (now = copy_range(source, nullptr, target, nullptr, 1 << 30)) > 0;) done += now;
  CHECK_EQ(done, size);
  CHECK_EQ(lseek(source, 0, SEEK_CUR), size);
  CHECK_EQ(lseek(target, 0, SEEK_CUR), size);
  CHECK_EQ(pread(target, copy, size, 0), size);
  CHECK_EQ(memcmp(bytes, copy, size), 0);
  CHECK_EQ(copy_range(source, nullptr, target, nullptr, 10), 0);
  CHECK_EQ(close(target), 0);
}

void test_at_given_places(int source) {
  const int target = open_new(target_path);
  int64_t from = 5000;
  int64_t to = 100;
  CHECK_EQ(copy_range(source, &from, target, &to, 20'000), 20'000);
  CHECK_EQ(from, 25'000);
  CHECK_EQ(to, 20'100);
  CHECK_EQ(lseek(target, 0, SEEK_CUR), 0);
  CHECK_EQ(pread(target, copy, size, 0), 20'100);
  for (int i = 0; i < 100; ++i) CHECK_EQ(copy[i], 0);
  CHECK_EQ(memcmp(bytes + 5000, copy + 100, 20'000), 0);
  from = size - 10;
  CHECK_EQ(copy_range(source, &from, target, &to, 100), 10);
  CHECK_EQ(from, size);
  from = size + 10;
  CHECK_EQ(copy_range(source, &from, target, &to, 100), 0);
  // Within one file, beside each other.
  from = 0;
  to = 1000;
  CHECK_EQ(copy_range(target, &from, target, &to, 1000), 1000);
  from = 0;
  to = 500;
  CHECK_ERRNO(copy_range(target, &from, target, &to, 1000), EINVAL);
  CHECK_EQ(close(target), 0);
}

void test_errors(int source) {
  const int target = open_new(target_path);
  const int reading = open(target_path, O_RDONLY);
  const int writing = open(source_path, O_WRONLY);
  const int appending = open(target_path, O_WRONLY | O_APPEND);
  const int directory = open("/tmp", O_RDONLY);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_ERRNO(copy_range(-1, nullptr, target, nullptr, 1), EBADF);
  CHECK_ERRNO(copy_range(source, nullptr, -1, nullptr, 1), EBADF);
  CHECK_ERRNO(copy_range(source, nullptr, reading, nullptr, 1), EBADF);
  CHECK_ERRNO(copy_range(writing, nullptr, target, nullptr, 1), EBADF);
  CHECK_ERRNO(copy_range(source, nullptr, appending, nullptr, 1), EBADF);
  CHECK_ERRNO(copy_range(source, nullptr, target, nullptr, 1, 8), EINVAL);
  CHECK_ERRNO(copy_range(directory, nullptr, target, nullptr, 1), EISDIR);
  CHECK_ERRNO(copy_range(ends[0], nullptr, target, nullptr, 1), EINVAL);
  CHECK_ERRNO(copy_range(source, reinterpret_cast<int64_t*>(8), target, nullptr, 1), EFAULT);
  int64_t before = -1;
  CHECK_ERRNO(copy_range(source, &before, target, nullptr, 1), EOVERFLOW);
  before = -100;
  CHECK_ERRNO(copy_range(source, &before, target, nullptr, 1), EINVAL);
  const int opened[] = {target, reading, writing, appending, directory, ends[0], ends[1]};
  for (const int fd : opened) CHECK_EQ(close(fd), 0);
}

}  // namespace

// A file behind its own end, in a call that is long enough to be interrupted in between.
void test_onto_its_own_end() {
  constexpr long half = 6 << 20;
  const int file = open_new(target_path);
  for (long i = 0; i < half; i += size) CHECK_EQ(pwrite(file, bytes, size, i), size);
  CHECK_EQ(ftruncate(file, half), 0);
  int64_t from = 0;
  int64_t to = half;
  CHECK_EQ(copy_range(file, &from, file, &to, 3 * half), half);
  CHECK(from == half && to == 2 * half);
  CHECK_EQ(lseek(file, 0, SEEK_END), 2 * half);
  for (long i = 0; i + size <= half; i += size) {
    CHECK(pread(file, copy, size, half + i) == size && memcmp(copy, bytes, size) == 0);
  }
  CHECK_EQ(close(file), 0);
}

// While sendfile waits for room, other files get the numbers of its own: it goes on with those that it began with.
void test_descriptors_that_change(int source) {
  int ends[2];
  CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
  long before = 0;
  for (ssize_t now; (now = write(ends[1], copy, size)) > 0;) before += now;
  CHECK_EQ(fcntl(ends[0], F_SETFL, 0), 0);
  CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  static int in, out;
  static long sent;
  in = dup(source);
  out = ends[1];
  CHECK_EQ(lseek(in, 0, SEEK_SET), 0);
  static volatile bool begun;
  begun = false;
  pthread_t sender{};
  const auto send = [](void*) -> void* {
    begun = true;
    sent = sendfile(out, in, nullptr, size);
    return nullptr;
  };
  CHECK_EQ(pthread_create(&sender, nullptr, send, nullptr), 0);
  while (!begun) { check_sleep_us(1000); }
  check_sleep_us(200'000);
  const int other = open("/dev/null", O_RDWR);
  CHECK_EQ(dup2(other, in), in);
  CHECK_EQ(dup2(other, out), out);
  CHECK_EQ(close(other), 0);
  long left = before;
  long got = 0;
  for (ssize_t now; (now = read(ends[0], copy, static_cast<size_t>(left > 0 && left < size ? left : size))) != 0;) {
    CHECK(now > 0);
    if (left > 0) {
      left -= now;
    } else {
      CHECK(got + now <= size && memcmp(copy, bytes + got, static_cast<size_t>(now)) == 0);
      got += now;
    }
  }
  CHECK_EQ(pthread_join(sender, nullptr), 0);
  CHECK(sent > 0);
  CHECK_EQ(got, sent);
  CHECK(close(in) == 0 && close(out) == 0 && close(ends[0]) == 0);
}

int main(int argc, char** argv) {
  check_begin("copytest", argc, argv);
  for (long i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  const int source = open_new(source_path);
  CHECK_EQ(write(source, bytes, size), size);
  test_a_whole_file(source);
  test_at_given_places(source);
  test_errors(source);
  test_onto_its_own_end();
  test_descriptors_that_change(source);
  CHECK_EQ(close(source), 0);
  CHECK_EQ(unlink(source_path), 0);
  CHECK_EQ(unlink(target_path), 0);
  return check_done();
}
