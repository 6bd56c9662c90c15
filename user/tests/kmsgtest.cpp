// /dev/kmsg: a line with each read, of the kernel's and of programs; waiting for the next one; lines that are lost. usage: kmsgtest
// Source: Linux Documentation/ABI/testing/dev-kmsg.
#include <fcntl.h>
#include <poll.h>
#include <sys/klog.h>
#include <sys/wait.h>

#include "check.h"

namespace {

char record[8192];

int open_log(int flags) {
  const int file = open("/dev/kmsg", flags);
  CHECK(file >= 0);
  return file;
}

void write_line(int file, const char* line) {
  const auto size = static_cast<ssize_t>(strlen(line));
  CHECK_EQ(write(file, line, strlen(line)), size);
}

// The next record's number; -1: there is none. Lines that are lost are passed over.
long next(int file) {
  for (;;) {
    const ssize_t size = read(file, record, sizeof record - 1);
    if (size < 0 && errno == EPIPE) continue;
    if (size < 0) CHECK(errno == EAGAIN);
    if (size < 0) return -1;
    CHECK(size > 0 && record[size - 1] == '\n');
    record[size] = 0;
    unsigned priority = 0;
    unsigned long long number = 0, time = 0;
    CHECK_EQ(sscanf(record, "%u,%llu,%llu,", &priority, &number, &time), 3);
    return static_cast<long>(number);
  }
}

bool tells(const char* text) {
  const char* begin = strchr(record, ';');
  return begin != nullptr && strncmp(begin + 1, text, strlen(text)) == 0;
}

void find(int file, const char* text) {
  do CHECK(next(file) >= 0);
  while (!tells(text));
}

void lines() {
  const int file = open_log(O_RDWR | O_NONBLOCK), other = open_log(O_RDONLY | O_NONBLOCK);
  long number = -1, at;
  int count = 0;
  for (; (at = next(file)) >= 0; number = at, ++count) CHECK(at > number);
  CHECK(count > 0);
  CHECK_ERRNO(read(file, record, sizeof record), EAGAIN);
  CHECK_EQ(lseek(other, 0, SEEK_END), 0);
  write_line(file, "<7>kmsgtest: one \x1b\\\n");
  write_line(file, "<7>kmsgtest: two\n");
  CHECK_ERRNO(read(file, record, 5), EINVAL);  // it stays
  find(file, "kmsgtest: one \\x1b\\x5c\n");
  CHECK_EQ(strncmp(record, "15,", 3), 0);  // a program's, for debugging
  find(file, "kmsgtest: two\n");
  find(other, "kmsgtest: one");  // each has its own place
  CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
  find(file, "kmsgtest: one");
  CHECK_EQ(lseek(file, 0, SEEK_DATA), 0);
  CHECK(next(file) >= 0);
  CHECK_ERRNO(lseek(file, 1, SEEK_SET), ESPIPE);
  CHECK_ERRNO(lseek(file, 0, SEEK_CUR), EINVAL);
  CHECK_ERRNO(write(file, record, 5000), EINVAL);
  close(file);
  close(other);
  CHECK_ERRNO(open("/dev/kmsg/x", O_RDONLY), ENOTDIR);
}

void waiting() {
  const int file = open_log(O_RDWR);
  CHECK_EQ(lseek(file, 0, SEEK_END), 0);
  pollfd asked{file, POLLIN, 0};
  CHECK_EQ(poll(&asked, 1, 0), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    check_sleep_us(150'000);
    write_line(file, "<7>kmsgtest: for poll\n");
    check_sleep_us(150'000);
    write_line(file, "<7>kmsgtest: for read\n");
    _exit(0);
  }
  do {
    CHECK_EQ(poll(&asked, 1, -1), 1);
    CHECK_EQ(asked.revents, POLLIN);
    CHECK(next(file) >= 0);
  } while (!tells("kmsgtest: for poll"));
  find(file, "kmsgtest: for read");
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  close(file);
}

// More than the log keeps; Linux keeps more of them, and does not take them so fast.
void lost() {
  const int file = open_log(O_RDWR | O_NONBLOCK);
  const long first = next(file);
  char line[200];
  memset(line, 'x', sizeof line);
  memcpy(line, "<7>", 3);
  line[sizeof line - 1] = '\n';
  for (int i = 0; i < 1000; ++i) CHECK_EQ(write(file, line, sizeof line), static_cast<ssize_t>(sizeof line));
  pollfd asked{file, POLLIN | POLLPRI, 0};
  CHECK_EQ(poll(&asked, 1, 0), 1);
  CHECK_EQ(asked.revents, POLLIN | POLLPRI | POLLERR);
  CHECK_ERRNO(read(file, record, sizeof record), EPIPE);
  long number = next(file);
  CHECK(number > first + 1);
  int count = 1;
  for (long at; (at = next(file)) >= 0; number = at, ++count) CHECK_EQ(at, number + 1);
  CHECK(count > 100 && count < 1000);
  close(file);
}

void as_text() {
  static char text[262144];
  const int size = klogctl(3, text, static_cast<int>(sizeof text));  // SYSLOG_ACTION_READ_ALL
  CHECK(size > 0);
  CHECK_EQ(text[0], '<');
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("kmsgtest", argc, argv);
  lines();
  waiting();
  lost();
  as_text();
  return check_done();
}
