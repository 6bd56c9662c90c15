// Files and credentials that travel through UNIX sockets; sockets that are nowhere but in one another's queues.

#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

namespace {

constexpr int most = 253;

struct Credentials {
  int process;
  unsigned user, group;
};

// Sends a byte with these files. The result of sendmsg.
ssize_t pass(int socket, const int* files, int count, int flags = 0) {
  char byte = 'f';
  iovec piece = {&byte, 1};
  alignas(cmsghdr) static thread_local char control[CMSG_SPACE(sizeof(int) * (most + 1))];
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (count > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * static_cast<size_t>(count));
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    message->cmsg_level = SOL_SOCKET;
    message->cmsg_type = SCM_RIGHTS;
    message->cmsg_len = CMSG_LEN(sizeof(int) * static_cast<size_t>(count));
    memcpy(CMSG_DATA(message), files, sizeof(int) * static_cast<size_t>(count));
  }
  return syscall(SYS_sendmsg, socket, &header, flags);  // the library's own copy would be too small for so many
}

// Receives a byte and at most `room` files; answers how many there were.
int take(int socket, int* files, int room, int flags = 0, int* flags_out = nullptr) {
  char byte = 0;
  iovec piece = {&byte, 1};
  alignas(cmsghdr) static thread_local char control[CMSG_SPACE(sizeof(int) * most)];
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = room == 0 ? 0 : CMSG_LEN(sizeof(int) * static_cast<size_t>(room));
  CHECK_EQ(recvmsg(socket, &header, flags), 1);
  CHECK_EQ(byte, 'f');
  if (flags_out != nullptr) *flags_out = header.msg_flags;
  cmsghdr* message = CMSG_FIRSTHDR(&header);
  if (message == nullptr) return 0;
  CHECK_EQ(message->cmsg_type, SCM_RIGHTS);
  const int count = static_cast<int>((message->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  memcpy(files, CMSG_DATA(message), sizeof(int) * static_cast<size_t>(count));
  return count;
}

struct Pair {
  int a, b;
  explicit Pair(int type = SOCK_STREAM) {
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, type, 0, ends), 0);
    a = ends[0];
    b = ends[1];
  }
  void close_both() const {
    CHECK_EQ(close(a), 0);
    CHECK_EQ(close(b), 0);
  }
};

int open_files() {
  DIR* directory = opendir("/proc/self/fd");
  CHECK(directory != nullptr);
  int count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

void test_passing(int type) {
  const int before = open_files();
  Pair pair(type);
  const int counter = eventfd(5, 0);
  int files[most + 1];
  CHECK_EQ(pass(pair.a, &counter, 1), 1);
  CHECK_EQ(close(counter), 0);  // it lives in the message
  int received = -1;
  int flags = 0;
  CHECK_EQ(take(pair.b, &received, 1, MSG_PEEK), 1);  // a copy
  CHECK_EQ(close(received), 0);
  CHECK_EQ(take(pair.b, &received, 1, MSG_CMSG_CLOEXEC, &flags), 1);
  CHECK_EQ(flags & MSG_CTRUNC, 0);
  CHECK_EQ(fcntl(received, F_GETFD), FD_CLOEXEC);
  uint64_t value = 0;
  CHECK_EQ(read(received, &value, 8), 8);
  CHECK_EQ(value, 5);

  // As many as can be, and more; fewer than were sent; none wanted.
  for (int& file : files) file = received;
  CHECK_ERRNO(pass(pair.a, files, most + 1), EINVAL);
  CHECK_EQ(pass(pair.a, files, most), 1);
  CHECK_EQ(take(pair.b, files, most), most);
  for (int i = 0; i < most; ++i) CHECK_EQ(close(files[i]), 0);
  files[0] = files[1] = files[2] = received;
  CHECK_EQ(pass(pair.a, files, 3), 1);
  CHECK_EQ(take(pair.b, files, 2, 0, &flags), 2);
  CHECK_EQ(flags & MSG_CTRUNC, MSG_CTRUNC);
  CHECK_EQ(close(files[0]), 0);
  CHECK_EQ(close(files[1]), 0);
  CHECK_EQ(pass(pair.a, &received, 1), 1);
  CHECK_EQ(take(pair.b, files, 0, 0, &flags), 0);
  CHECK_EQ(flags & MSG_CTRUNC, MSG_CTRUNC);
  CHECK_EQ(pass(pair.a, &received, 1), 1);
  char byte = 0;
  CHECK_EQ(read(pair.b, &byte, 1), 1);  // gone with it
  const int wrong = 999;
  CHECK_ERRNO(pass(pair.a, &wrong, 1), EBADF);
  CHECK_EQ(close(received), 0);
  pair.close_both();
  CHECK_EQ(open_files(), before);
}

// In a stream bytes before the files may come with them, bytes behind them do not.
void test_boundaries() {
  Pair pair;
  const int counter = eventfd(0, 0);
  CHECK_EQ(write(pair.a, "ab", 2), 2);
  CHECK_EQ(pass(pair.a, &counter, 1), 1);
  CHECK_EQ(write(pair.a, "cd", 2), 2);
  char text[8];
  iovec piece = {text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  CHECK_EQ(recvmsg(pair.b, &header, 0), 3);
  CHECK(CMSG_FIRSTHDR(&header) != nullptr);
  int received = -1;
  memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof received);
  CHECK_EQ(close(received), 0);
  CHECK_EQ(read(pair.b, text, sizeof text), 2);
  CHECK_EQ(close(counter), 0);
  pair.close_both();
}

void test_credentials() {
  Pair pair;
  const int on = 1;
  CHECK_EQ(setsockopt(pair.b, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(write(pair.a, "1", 1), 1);
    _exit(0);
  }
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK_EQ(write(pair.a, "2", 1), 1);
  const pid_t senders[] = {child, getpid()};
  for (const pid_t sender : senders) {  // bytes of different senders do not mix
    char text[8];
    iovec piece = {text, sizeof text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(Credentials))];
    msghdr header = {};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    CHECK_EQ(recvmsg(pair.b, &header, 0), 1);
    cmsghdr* message = CMSG_FIRSTHDR(&header);
    CHECK(message != nullptr);
    CHECK_EQ(message->cmsg_type, SCM_CREDENTIALS);
    Credentials credentials;
    memcpy(&credentials, CMSG_DATA(message), sizeof credentials);
    CHECK_EQ(credentials.process, sender);
    CHECK_EQ(credentials.user, getuid());
  }
  pair.close_both();
}

// Each socket of a pair is sent through the other, or through itself, and everything is closed: nobody can reach them
// any more, and the pipe that went with them must end.
void test_cycles() {
  const int before = open_files();
  for (int round = 0; round < 30 * check_effort; ++round) {
    int watched[2];
    CHECK_EQ(pipe(watched), 0);
    Pair pair(round % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM);
    Pair other;
    switch (round % 3) {
      case 0: {  // itself
        const int files[2] = {pair.a, watched[1]};
        CHECK_EQ(pass(pair.a, files, 2), 1);
        const int back[1] = {pair.b};
        CHECK_EQ(pass(pair.a, back, 1), 1);
        break;
      }
      case 1: {  // crosswise
        const int files[2] = {pair.b, watched[1]};
        CHECK_EQ(pass(other.a, files, 2), 1);
        const int back[1] = {other.b};
        CHECK_EQ(pass(pair.a, back, 1), 1);
        break;
      }
      default: {  // a ring of many
        int last = pair.b;
        int first = pair.a;
        for (int i = 0; i < 20; ++i) {
          Pair next;
          CHECK_EQ(pass(next.a, &last, 1), 1);
          CHECK_EQ(close(last), 0);
          CHECK_EQ(close(next.a), 0);
          last = next.b;
        }
        const int files[2] = {last, watched[1]};
        CHECK_EQ(pass(first, files, 2), 1);
        CHECK_EQ(close(last), 0);
        pair.b = dup(first);
        break;
      }
    }
    CHECK_EQ(close(watched[1]), 0);
    pair.close_both();
    other.close_both();
    pollfd polled = {watched[0], POLLIN, 0};
    CHECK_EQ(poll(&polled, 1, 20000), 1);
    CHECK_EQ(polled.revents, POLLHUP);
    CHECK_EQ(close(watched[0]), 0);
  }
  CHECK_EQ(open_files(), before);
}

// A long chain of sockets in one another's queues goes without going deep; what can still be reached stays.
void test_chain() {
  int watched[2];
  CHECK_EQ(pipe(watched), 0);
  int last = watched[1];
  for (int i = 0; i < 3000; ++i) {
    Pair next;
    CHECK_EQ(pass(next.a, &last, 1), 1);
    CHECK_EQ(close(last), 0);
    CHECK_EQ(close(next.a), 0);
    last = next.b;
  }
  int inner = -1;
  CHECK_EQ(take(last, &inner, 1), 1);
  CHECK_EQ(close(last), 0);
  pollfd polled = {watched[0], POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, 0), 0);
  CHECK_EQ(close(inner), 0);
  CHECK_EQ(poll(&polled, 1, 20000), 1);
  CHECK_EQ(close(watched[0]), 0);
}

// Threads pass sockets about, in circles too, and close them, while others do the same.
void test_crowd() {
  constexpr int crowd = 4;
  static Pair* common;
  Pair own(SOCK_DGRAM);
  common = &own;
  const auto run = [](void*) -> void* {
    for (long i = 0; i < 120 * check_effort; ++i) {
      Pair pair(SOCK_DGRAM);
      CHECK_EQ(pass(pair.a, &pair.b, 1), 1);
      CHECK_EQ(pass(pair.b, &pair.a, 1), 1);
      CHECK_EQ(pass(common->a, &pair.a, 1), 1);
      CHECK_EQ(close(pair.a), 0);
      CHECK_EQ(close(pair.b), 0);
      int received = -1;
      CHECK_EQ(take(common->b, &received, 1), 1);  // somebody's
      int inner = -1;
      CHECK_EQ(take(received, &inner, 1), 1);  // what was in its queue is still there
      CHECK_EQ(close(received), 0);
      CHECK_EQ(close(inner), 0);
    }
    return nullptr;
  };
  pthread_t threads[crowd];
  for (pthread_t& thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  own.close_both();
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("rightstest", argc, argv);
  test_passing(SOCK_STREAM);
  test_passing(SOCK_DGRAM);
  test_boundaries();
  test_credentials();
  test_cycles();
  test_chain();
  test_crowd();
  return check_done();
}
