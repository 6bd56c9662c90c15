// UNIX sockets: streams, datagrams and packets; names, connections, ends, options, time limits, readiness, errors.

#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/unix_sockets.h"

namespace {

constexpr int64_t ms = 1000000;

unsigned ready_of(int socket) {
  pollfd polled = {socket, static_cast<short>(0x7fff), 0};
  CHECK(poll(&polled, 1, 0) >= 0);
  return static_cast<unsigned short>(polled.revents);
}

int option_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  CHECK_EQ(getsockopt(socket, SOL_SOCKET, option, &value, &size), 0);
  CHECK_EQ(size, sizeof value);
  return value;
}

void on_pipe(int) {}

constexpr unsigned out = POLLOUT | POLLWRNORM | POLLWRBAND;
constexpr unsigned in = POLLIN | POLLRDNORM;

void test_making() {
  CHECK_ERRNO(socket(-1, SOCK_STREAM, 0), EAFNOSUPPORT);
  CHECK_ERRNO(socket(45, SOCK_STREAM, 0), EAFNOSUPPORT);
  CHECK_ERRNO(socket(AF_UNIX, 99, 0), EINVAL);
  CHECK_ERRNO(socket(AF_UNIX, SOCK_STREAM | 0x100000, 0), EINVAL);
  CHECK_ERRNO(socket(AF_UNIX, 0, 0), ESOCKTNOSUPPORT);
  CHECK_ERRNO(socket(AF_UNIX, 4, 0), ESOCKTNOSUPPORT);
  CHECK_ERRNO(socket(AF_UNIX, SOCK_STREAM, 7), EPROTONOSUPPORT);
  const int one = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, AF_UNIX);
  CHECK(one >= 0);
  CHECK_EQ(fcntl(one, F_GETFL), O_RDWR | O_NONBLOCK);
  CHECK_EQ(fcntl(one, F_GETFD), FD_CLOEXEC);
  struct stat status = {};
  CHECK_EQ(fstat(one, &status), 0);
  CHECK_EQ(status.st_mode, S_IFSOCK | 0777);
  CHECK_ERRNO(lseek(one, 0, SEEK_CUR), ESPIPE);
  CHECK_ERRNO(pread(one, &status, 1, 0), ESPIPE);
  CHECK_EQ(close(one), 0);
  int ends[2];
  CHECK_ERRNO(socketpair(AF_UNIX, SOCK_STREAM, 0, reinterpret_cast<int*>(8)), EFAULT);
  CHECK_ERRNO(listen(0, 1), ENOTSOCK);
  CHECK_ERRNO(send(0, "x", 1, 0), ENOTSOCK);
  CHECK_ERRNO(recv(999, ends, 1, 0), EBADF);
}

void test_stream() {
  Pair pair(SOCK_STREAM);
  char text[16] = {};
  CHECK_EQ(ready_of(pair.a), out);
  CHECK_EQ(write(pair.a, "hello", 5), 5);
  CHECK_EQ(send(pair.a, "world", 5, 0), 5);
  CHECK_EQ(ready_of(pair.b), in | out);
  int bytes = 0;
  CHECK_EQ(ioctl(pair.b, FIONREAD, &bytes), 0);
  CHECK_EQ(bytes, 10);
  CHECK_EQ(recv(pair.b, text, 7, MSG_PEEK), 7);  // no boundaries
  CHECK_EQ(memcmp(text, "hellowo", 7), 0);
  CHECK_EQ(read(pair.b, text, 3), 3);
  CHECK_EQ(read(pair.b, text, sizeof text), 7);
  CHECK_EQ(memcmp(text, "loworld", 7), 0);
  CHECK_ERRNO(recv(pair.b, text, 1, MSG_DONTWAIT), EAGAIN);
  CHECK_EQ(send(pair.a, "", 0, 0), 0);
  CHECK_ERRNO(recv(pair.b, text, 1, MSG_DONTWAIT), EAGAIN);
  CHECK_EQ(send(pair.a, "q", 1, 0), 1);
  CHECK_ERRNO(recv(pair.b, reinterpret_cast<void*>(8), 1, 0), EFAULT);
  CHECK_EQ(recv(pair.b, text, 1, 0), 1);  // not lost
  CHECK_ERRNO(send(pair.a, reinterpret_cast<void*>(8), 1, 0), EFAULT);
  const Name nobody("@nobody-listens");
  CHECK_ERRNO(sendto(pair.a, "x", 1, 0, nobody.get(), nobody.size), EISCONN);
  CHECK_ERRNO(connect(pair.a, nobody.get(), nobody.size), ECONNREFUSED);
  CHECK_ERRNO(accept(pair.a, nullptr, nullptr), EINVAL);
}

void test_ends(int type) {
  struct sigaction action = {};
  action.sa_handler = on_pipe;
  CHECK_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
  char byte = 0;
  {
    Pair pair(type);
    CHECK_EQ(send(pair.b, "z", 1, 0), 1);
    pair.close_b();
    CHECK_EQ(ready_of(pair.a), in | out | POLLHUP | POLLRDHUP);
    CHECK_ERRNO(send(pair.a, "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK_EQ(recv(pair.a, &byte, 1, 0), 1);
    CHECK_EQ(recv(pair.a, &byte, 1, 0), 0);
  }
  {
    Pair pair(type);  // the other side has not read everything
    CHECK_EQ(send(pair.a, "x", 1, 0), 1);
    pair.close_b();
    CHECK_EQ(ready_of(pair.a), in | out | POLLHUP | POLLRDHUP | POLLERR);
    CHECK_EQ(option_of(pair.a, SO_ERROR), ECONNRESET);
    CHECK_EQ(option_of(pair.a, SO_ERROR), 0);
    CHECK_EQ(recv(pair.a, &byte, 1, 0), 0);
  }
  {
    Pair pair(type);
    CHECK_EQ(shutdown(pair.a, SHUT_WR), 0);
    CHECK_ERRNO(send(pair.a, "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK_EQ(recv(pair.b, &byte, 1, 0), 0);
    CHECK_EQ(ready_of(pair.b), in | out | POLLRDHUP);
    CHECK_EQ(send(pair.b, "x", 1, 0), 1);
    CHECK_EQ(recv(pair.a, &byte, 1, 0), 1);
    CHECK_EQ(shutdown(pair.a, SHUT_RD), 0);
    CHECK_ERRNO(send(pair.b, "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK_EQ(ready_of(pair.b), in | out | POLLRDHUP | POLLHUP);
    CHECK_ERRNO(shutdown(pair.a, 3), EINVAL);
  }
  // The signal comes with streams only.
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    Pair pair(type);
    pair.close_b();
    CHECK_ERRNO(write(pair.a, "x", 1), EPIPE);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, type == SOCK_STREAM ? SIGPIPE : 0);
}

void test_packets(int type) {
  Pair pair(type);
  char text[16] = {};
  CHECK_EQ(send(pair.a, "one", 3, 0), 3);
  CHECK_EQ(send(pair.a, "", 0, 0), 0);
  CHECK_EQ(send(pair.a, "three", 5, 0), 5);
  CHECK_EQ(recv(pair.b, text, 16, MSG_PEEK), 3);
  CHECK_EQ(recv(pair.b, text, 16, 0), 3);
  CHECK_EQ(recv(pair.b, text, 16, 0), 0);
  CHECK_EQ(recv(pair.b, text, 2, MSG_PEEK | MSG_TRUNC), 5);  // the real size
  iovec piece = {text, 2};
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  CHECK_EQ(recvmsg(pair.b, &header, 0), 2);
  CHECK_EQ(header.msg_flags & MSG_TRUNC, MSG_TRUNC);
  CHECK_ERRNO(recv(pair.b, text, 1, MSG_DONTWAIT), EAGAIN);  // the rest is gone
  static char large[300000];
  CHECK_ERRNO(send(pair.a, large, sizeof large, 0), EMSGSIZE);
  memset(large, 'k', sizeof large);
  CHECK_EQ(send(pair.a, large, 100000, 0), 100000);
  static char back[100000];
  CHECK_EQ(recv(pair.b, back, sizeof back, 0), 100000);
  CHECK_EQ(memcmp(large, back, sizeof back), 0);
}

void test_connections(int type) {
  const Name name("/tmp/sockettest.name");
  const Name other("@sockettest.other");
  unlink(name.address.sun_path);
  const int listener = socket(AF_UNIX, type, 0);
  CHECK_ERRNO(listen(listener, 2), EINVAL);  // no name
  CHECK_EQ(ready_of(listener), out | POLLHUP);
  CHECK_EQ(bind(listener, name.get(), name.size), 0);
  CHECK_ERRNO(bind(listener, other.get(), other.size), EINVAL);
  struct stat status = {};
  CHECK_EQ(stat(name.address.sun_path, &status), 0);
  CHECK(S_ISSOCK(status.st_mode));
  CHECK_ERRNO(open(name.address.sun_path, O_RDWR), ENXIO);
  const int second = socket(AF_UNIX, type, 0);
  CHECK_ERRNO(bind(second, name.get(), name.size), EADDRINUSE);
  CHECK_ERRNO(connect(second, name.get(), name.size), ECONNREFUSED);  // does not listen yet
  CHECK_EQ(listen(listener, 2), 0);
  CHECK_EQ(option_of(listener, SO_ACCEPTCONN), 1);
  CHECK_ERRNO(connect(listener, name.get(), name.size), EINVAL);
  CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
  CHECK_ERRNO(accept(listener, nullptr, nullptr), EAGAIN);
  CHECK_EQ(ready_of(listener), 0);

  const int wrong = socket(AF_UNIX, type == SOCK_STREAM ? SOCK_SEQPACKET : SOCK_STREAM, 0);
  CHECK_ERRNO(connect(wrong, name.get(), name.size), EPROTOTYPE);
  CHECK_EQ(close(wrong), 0);
  CHECK_ERRNO(connect(second, other.get(), other.size), ECONNREFUSED);
  const Name missing("/tmp/sockettest.missing");
  CHECK_ERRNO(connect(second, missing.get(), missing.size), ENOENT);
  CHECK_ERRNO(connect(second, name.get(), 2), EINVAL);
  CHECK_ERRNO(connect(second, reinterpret_cast<const sockaddr*>(8), 10), EFAULT);

  CHECK_EQ(bind(second, other.get(), other.size), 0);
  CHECK_EQ(connect(second, name.get(), name.size), 0);
  CHECK_ERRNO(connect(second, name.get(), name.size), EISCONN);
  CHECK_EQ(ready_of(listener), in);
  CHECK_EQ(send(second, "early", 5, 0), 5);  // before it is accepted
  sockaddr_un found = {};
  socklen_t size = sizeof found;
  const int accepted = accept4(listener, reinterpret_cast<sockaddr*>(&found), &size, SOCK_CLOEXEC);
  CHECK(accepted >= 0);
  CHECK_EQ(size, other.size);
  CHECK_EQ(memcmp(&found, &other.address, size), 0);
  CHECK_EQ(fcntl(accepted, F_GETFL), O_RDWR);
  char text[8] = {};
  CHECK_EQ(recv(accepted, text, sizeof text, 0), 5);
  size = sizeof found;
  CHECK_EQ(getsockname(accepted, reinterpret_cast<sockaddr*>(&found), &size), 0);
  CHECK_EQ(size, name.size);
  CHECK_EQ(strcmp(found.sun_path, name.address.sun_path), 0);
  size = 4;  // cut
  CHECK_EQ(getpeername(second, reinterpret_cast<sockaddr*>(&found), &size), 0);
  CHECK_EQ(size, name.size);
  struct {
    int process;
    unsigned user, group;
  } peer = {};
  size = sizeof peer;
  CHECK_EQ(getsockopt(accepted, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
  CHECK_EQ(peer.process, getpid());
  CHECK_EQ(peer.user, getuid());

  // More than two may wait; the next one does not get in.
  int waiting[3];
  for (int& socket_waiting : waiting) {
    socket_waiting = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    CHECK_EQ(connect(socket_waiting, name.get(), name.size), 0);
  }
  const int late = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
  CHECK_ERRNO(connect(late, name.get(), name.size), EAGAIN);
  const int first = accept(listener, nullptr, nullptr);
  CHECK(first >= 0);
  CHECK_EQ(connect(late, name.get(), name.size), 0);
  CHECK_EQ(close(first), 0);
  CHECK_EQ(close(listener), 0);
  CHECK_ERRNO(recv(waiting[1], text, 1, 0), ECONNRESET);  // nobody will accept it
  CHECK_EQ(recv(waiting[0], text, 1, 0), 0);              // somebody did
  CHECK_ERRNO(connect(socket(AF_UNIX, type, 0), name.get(), name.size), ECONNREFUSED);
  for (int socket_waiting : waiting) CHECK_EQ(close(socket_waiting), 0);
  CHECK_EQ(close(late), 0);
  CHECK_EQ(close(second), 0);
  CHECK_EQ(close(accepted), 0);
  CHECK_EQ(unlink(name.address.sun_path), 0);
}

void test_datagrams() {
  const Name server_name("@sockettest.server");
  const Name client_name("@sockettest.client");
  const int server = socket(AF_UNIX, SOCK_DGRAM, 0);
  const int client = socket(AF_UNIX, SOCK_DGRAM, 0);
  char text[8] = {};
  CHECK_ERRNO(send(client, "x", 1, 0), ENOTCONN);
  CHECK_ERRNO(recv(client, text, 1, MSG_DONTWAIT), EAGAIN);
  CHECK_ERRNO(listen(client, 1), EOPNOTSUPP);
  CHECK_ERRNO(accept(client, nullptr, nullptr), EOPNOTSUPP);
  CHECK_ERRNO(sendto(client, "x", 1, 0, server_name.get(), server_name.size), ECONNREFUSED);
  CHECK_EQ(bind(server, server_name.get(), server_name.size), 0);
  CHECK_EQ(sendto(client, "x", 1, 0, server_name.get(), server_name.size), 1);
  sockaddr_un from = {};
  socklen_t size = sizeof from;
  CHECK_EQ(recvfrom(server, text, 8, 0, reinterpret_cast<sockaddr*>(&from), &size), 1);
  CHECK_EQ(size, 0);  // no name
  CHECK_EQ(bind(client, client_name.get(), client_name.size), 0);
  CHECK_EQ(connect(client, server_name.get(), server_name.size), 0);
  CHECK_EQ(send(client, "yz", 2, 0), 2);
  size = sizeof from;
  CHECK_EQ(recvfrom(server, text, 8, 0, reinterpret_cast<sockaddr*>(&from), &size), 2);
  CHECK_EQ(size, client_name.size);
  CHECK_EQ(sendto(server, "back", 4, 0, reinterpret_cast<sockaddr*>(&from), size), 4);
  CHECK_EQ(recv(client, text, 8, 0), 4);

  // A receiver that does not read stops strangers, and says so.
  int sent = 0;
  while (send(client, "x", 1, MSG_DONTWAIT) == 1) ++sent;
  CHECK_EQ(errno, EAGAIN);
  CHECK_EQ(sent, 11);
  CHECK_EQ(ready_of(client) & POLLOUT, 0);
  const int epoll = epoll_create1(0);
  epoll_event event = {};
  event.events = EPOLLOUT;
  CHECK_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event), 0);
  CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  CHECK_EQ(recv(server, text, 1, 0), 1);
  CHECK_EQ(epoll_wait(epoll, &event, 1, 20000), 1);
  CHECK_EQ(close(epoll), 0);

  // A socket that is connected to somebody else takes nothing from strangers.
  const int third = socket(AF_UNIX, SOCK_DGRAM, 0);
  CHECK_ERRNO(connect(third, client_name.get(), client_name.size), EPERM);
  CHECK_ERRNO(sendto(third, "x", 1, 0, client_name.get(), client_name.size), EPERM);
  CHECK_EQ(close(server), 0);
  CHECK_ERRNO(send(client, "x", 1, 0), ECONNREFUSED);
  CHECK_ERRNO(send(client, "x", 1, 0), ENOTCONN);
  // A name that the system chooses.
  sockaddr_un any = {};
  any.sun_family = AF_UNIX;
  CHECK_EQ(bind(third, reinterpret_cast<sockaddr*>(&any), sizeof any.sun_family), 0);
  size = sizeof any;
  CHECK_EQ(getsockname(third, reinterpret_cast<sockaddr*>(&any), &size), 0);
  CHECK_EQ(size, 8);
  CHECK_EQ(any.sun_path[0], 0);
  CHECK_EQ(close(third), 0);
  CHECK_EQ(close(client), 0);
}

void test_options() {
  Pair pair(SOCK_STREAM);
  CHECK_EQ(option_of(pair.a, SO_TYPE), SOCK_STREAM);
  CHECK_EQ(option_of(pair.a, SO_DOMAIN), AF_UNIX);
  CHECK_EQ(option_of(pair.a, SO_PROTOCOL), 0);
  CHECK_EQ(option_of(pair.a, SO_ERROR), 0);
  CHECK_EQ(option_of(pair.a, SO_SNDBUF), 212992);
  CHECK_EQ(option_of(pair.a, SO_RCVBUF), 212992);
  CHECK_EQ(option_of(pair.a, SO_RCVLOWAT), 1);
  CHECK_EQ(option_of(pair.a, SO_PASSCRED), 0);
  int value = 1000;
  CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, SO_SNDBUF, &value, sizeof value), 0);
  CHECK_EQ(option_of(pair.a, SO_SNDBUF), 4608);
  value = 10000;
  CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, SO_SNDBUF, &value, sizeof value), 0);
  CHECK_EQ(option_of(pair.a, SO_SNDBUF), 20000);
  value = 1;
  CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof value), 0);
  CHECK_EQ(option_of(pair.a, SO_KEEPALIVE), 1);
  CHECK_ERRNO(setsockopt(pair.a, SOL_SOCKET, SO_TYPE, &value, sizeof value), ENOPROTOOPT);
  CHECK_ERRNO(setsockopt(pair.a, SOL_SOCKET, 999, &value, sizeof value), ENOPROTOOPT);
  CHECK_ERRNO(setsockopt(pair.a, SOL_SOCKET, SO_KEEPALIVE, &value, 2), EINVAL);
  CHECK_ERRNO(setsockopt(pair.a, 6, 1, &value, sizeof value), EOPNOTSUPP);
  socklen_t size = sizeof value;
  CHECK_ERRNO(getsockopt(pair.a, 6, 1, &value, &size), EOPNOTSUPP);
  CHECK_ERRNO(getsockopt(pair.a, SOL_SOCKET, 999, &value, &size), ENOPROTOOPT);

  // Time limits.
  timeval limit = {0, 30000};
  CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
  int64_t start = check_now_ns();
  char byte = 0;
  CHECK_ERRNO(recv(pair.a, &byte, 1, 0), EAGAIN);
  CHECK(check_now_ns() - start >= 29 * ms);
  static char large[100000];
  start = check_now_ns();
  const ssize_t sent = write(pair.a, large, sizeof large);
  CHECK(sent > 0 && sent < static_cast<ssize_t>(sizeof large));  // what got in until then
  CHECK(check_now_ns() - start >= 29 * ms);
  CHECK_ERRNO(write(pair.a, large, 1), EAGAIN);
  CHECK_EQ(ready_of(pair.a), 0);
  limit.tv_usec = 1000000;
  CHECK_ERRNO(setsockopt(pair.a, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), EDOM);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("sockettest", argc, argv);
  test_making();
  test_stream();
  test_ends(SOCK_STREAM);
  test_ends(SOCK_SEQPACKET);
  test_packets(SOCK_DGRAM);
  test_packets(SOCK_SEQPACKET);
  test_connections(SOCK_STREAM);
  test_connections(SOCK_SEQPACKET);
  test_datagrams();
  test_options();
  return check_done();
}
