// Calls on TCP and UDP sockets over the loopback device that go wrong, and how connections end: names that calls tell and take, which
// error each wrong argument gives, refused connections, halves that are closed, resets. Sources: ip(7), tcp(7), udp(7),
// socket(7), and each call's own page.

#include "tests/internet_sockets.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace {

constexpr unsigned over = in | out | POLLRDHUP | POLLHUP;
constexpr uint32_t elsewhere = 0xc6336401;  // 198.51.100.1, which is nobody's (RFC 5737)
void* const nowhere = reinterpret_cast<void*>(8);

// What is ready, once what is on its way has come: as wanted, or after a long time.
unsigned settled(int socket, unsigned wanted) {
  const int64_t start = check_now_ns();
  unsigned now = ready_of(socket);
  for (; now != wanted && check_now_ns() - start < long_ms * ms; now = ready_of(socket)) check_sleep_us(500);
  return now;
}

volatile sig_atomic_t broken_pipes;
void on_pipe(int) {
  broken_pipes = broken_pipes + 1;
}

void test_making() {
  CHECK_ERRNO(socket(AF_INET, 99, 0), EINVAL);
  CHECK_ERRNO(socket(AF_INET, SOCK_STREAM | 0x100000, 0), EINVAL);
  CHECK_ERRNO(socket(AF_INET, 0, 0), ESOCKTNOSUPPORT);
  CHECK_ERRNO(socket(AF_INET, SOCK_SEQPACKET, 0), ESOCKTNOSUPPORT);
  CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
  CHECK_ERRNO(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
  CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, -1), EINVAL);
  CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, 100000), EINVAL);
  int ends[2] = {-1, -1};
  CHECK_ERRNO(socketpair(AF_INET, SOCK_STREAM, 0, ends), EOPNOTSUPP);
  CHECK_ERRNO(socketpair(AF_INET, SOCK_STREAM, IPPROTO_UDP, ends), EPROTONOSUPPORT);
  const int made[] = {socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP),
                      socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP)};
  for (const int each : made) {
    CHECK_EQ(fcntl(each, F_GETFL), O_RDWR | O_NONBLOCK);
    CHECK_EQ(fcntl(each, F_GETFD), FD_CLOEXEC);
    struct stat status = {};
    CHECK_EQ(fstat(each, &status), 0);
    CHECK_EQ(status.st_mode, S_IFSOCK | 0777);
    CHECK_ERRNO(lseek(each, 0, SEEK_CUR), ESPIPE);
    CHECK_EQ(option_of(each, SO_DOMAIN), AF_INET);
    CHECK_EQ(option_of(each, SO_TYPE), each == made[0] ? SOCK_STREAM : SOCK_DGRAM);
    CHECK_EQ(option_of(each, SO_PROTOCOL), each == made[0] ? IPPROTO_TCP : IPPROTO_UDP);
    CHECK_EQ(close(each), 0);
  }
}

void test_names(int type) {
  const int socket = make_socket(type);
  Address name(0);
  CHECK_ERRNO(bind(socket, name.get(), Address::size - 1), EINVAL);
  CHECK_ERRNO(bind(socket, name.get(), 0), EINVAL);
  CHECK_ERRNO(bind(socket, name.get(), 200), EINVAL);
  CHECK_ERRNO(bind(socket, name.get(), static_cast<socklen_t>(-1)), EINVAL);
  CHECK_ERRNO(bind(socket, static_cast<sockaddr*>(nowhere), Address::size), EFAULT);
  CHECK_ERRNO(bind(socket, Address(0, elsewhere).get(), Address::size), EADDRNOTAVAIL);
  name.name.sin_family = AF_UNIX;
  CHECK_ERRNO(bind(socket, name.get(), Address::size), EAFNOSUPPORT);
  name.name.sin_family = AF_UNSPEC;
  CHECK_ERRNO(bind(socket, name.get(), Address::size), EAFNOSUPPORT);  // but 0.0.0.0 has no family
  CHECK(told_by(getsockname, socket) == Address(0, INADDR_ANY));
  socklen_t size = Address::size;
  CHECK_ERRNO(getpeername(socket, name.place(), &size), ENOTCONN);
  CHECK_ERRNO(shutdown(socket, SHUT_RD), ENOTCONN);
  CHECK_ERRNO(shutdown(socket, 3), EINVAL);
  CHECK_EQ(bind(socket, Address(0).get(), 100), 0);  // more than a name has
  CHECK_ERRNO(bind(socket, Address(0).get(), Address::size), EINVAL);
  CHECK_ERRNO(connect(socket, name.get(), 1), EINVAL);
  CHECK_ERRNO(connect(socket, Address(1).get(), Address::size - 1), EINVAL);
  CHECK_ERRNO(connect(socket, static_cast<sockaddr*>(nowhere), Address::size), EFAULT);
  name.name.sin_family = AF_UNIX;
  CHECK_ERRNO(connect(socket, name.get(), Address::size), EAFNOSUPPORT);
  const Address own = told_by(getsockname, socket);
  Address told(0xffff, INADDR_BROADCAST);
  size = 4;
  CHECK_EQ(getsockname(socket, told.place(), &size), 0);
  CHECK_EQ(size, Address::size);  // the whole, though the rest is cut
  CHECK_EQ(memcmp(&told.name, &own.name, 4), 0);
  CHECK_EQ(told.name.sin_addr.s_addr, 0xffffffff);
  size = 0;
  CHECK_EQ(getsockname(socket, static_cast<sockaddr*>(nowhere), &size), 0);
  CHECK_EQ(size, Address::size);
  CHECK_ERRNO(getsockname(socket, static_cast<sockaddr*>(nowhere), &size), EFAULT);
  CHECK_ERRNO(getsockname(socket, told.place(), static_cast<socklen_t*>(nowhere)), EFAULT);
  size = static_cast<socklen_t>(-1);
  CHECK_ERRNO(getsockname(socket, told.place(), &size), EINVAL);
  CHECK_EQ(close(socket), 0);
}

// A listener without a name gets a port at every address; its connections tell the one that they are at.
void test_connection() {
  const int listener = make_socket();
  CHECK_EQ(ready_of(listener), out | POLLHUP);
  CHECK_EQ(option_of(listener, SO_ACCEPTCONN), 0);
  CHECK_EQ(listen(listener, 1), 0);
  CHECK_EQ(option_of(listener, SO_ACCEPTCONN), 1);
  CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
  CHECK_ERRNO(accept(listener, nullptr, nullptr), EAGAIN);
  CHECK_EQ(ready_of(listener), 0);
  const Address name = told_by(getsockname, listener);
  CHECK(name.port() >= 1024);
  CHECK(name == Address(name.port(), INADDR_ANY));
  const int client = connected_to(listener);  // to 0.0.0.0, which is this machine
  Address told(0, 0);
  socklen_t size = Address::size;
  await(listener, POLLIN);
  CHECK_EQ(ready_of(listener), in);
  const int server = accept4(listener, told.place(), &size, SOCK_CLOEXEC);  // not as the listener
  CHECK_EQ(fcntl(server, F_GETFL), O_RDWR);
  CHECK_EQ(fcntl(server, F_GETFD), FD_CLOEXEC);
  CHECK_EQ(size, Address::size);
  CHECK(told_by(getpeername, client) == Address(name.port()));
  CHECK(told_by(getsockname, server) == Address(name.port()));
  CHECK(told_by(getsockname, client) == Address(told.port()));
  CHECK(told_by(getpeername, server) == told);
  close_all({client, server, listener});
}

void test_accepting() {
  const int plain = bound(), datagrams = bound(SOCK_DGRAM), listener = listening();
  CHECK_ERRNO(accept(plain, nullptr, nullptr), EINVAL);
  CHECK_ERRNO(accept(datagrams, nullptr, nullptr), EOPNOTSUPP);
  CHECK_ERRNO(listen(datagrams, 1), EOPNOTSUPP);
  CHECK_ERRNO(syscall(SYS_accept4, listener, nullptr, nullptr, 99), EINVAL);
  CHECK_ERRNO(connect(listener, told_by(getsockname, listener).get(), Address::size), EISCONN);
  char byte = 0;
  CHECK_ERRNO(recv(listener, &byte, 1, 0), ENOTCONN);
  CHECK_ERRNO(send(listener, "x", 1, MSG_NOSIGNAL), EPIPE);
  // The connection is lost when its name cannot be told.
  int client = connected_to(listener);
  socklen_t size = Address::size;
  CHECK_ERRNO(accept(listener, static_cast<sockaddr*>(nowhere), &size), EFAULT);
  CHECK_EQ(settled(client, in | out | POLLRDHUP), in | out | POLLRDHUP);
  CHECK_EQ(close(client), 0);
  client = connected_to(listener);
  size = 3;
  Address told(0xffff, INADDR_BROADCAST);
  const int server = accept(listener, told.place(), &size);
  CHECK(server >= 0);
  CHECK_EQ(size, Address::size);
  CHECK_EQ(told.name.sin_addr.s_addr, 0xffffffff);
  // Who waits for a connection learns that there will be none.
  pthread_t thread = {};
  const auto wait = [](void* waiting) -> void* {
    CHECK_ERRNO(accept(*static_cast<int*>(waiting), nullptr, nullptr), EINVAL);
    return nullptr;
  };
  CHECK_EQ(pthread_create(&thread, nullptr, wait, const_cast<int*>(&listener)), 0);
  check_sleep_us(10000);
  CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(option_of(listener, SO_ACCEPTCONN), 0);
  CHECK_EQ(listen(listener, 1), 0);  // at the same port
  close_all({plain, datagrams, listener, client, server});
}

void test_bytes() {
  const int alone = make_socket();
  char text[8] = {};
  CHECK_ERRNO(recv(alone, text, 1, 0), ENOTCONN);
  CHECK_ERRNO(read(alone, text, 1), ENOTCONN);
  CHECK_ERRNO(send(alone, "x", 1, MSG_NOSIGNAL), EPIPE);
  broken_pipes = 0;
  CHECK_ERRNO(write(alone, "x", 1), EPIPE);
  CHECK_EQ(broken_pipes, 1);
  CHECK_EQ(close(alone), 0);
  const Connection pair;
  char* const bad = static_cast<char*>(nowhere);
  CHECK_ERRNO(send(pair.client, bad, 1, 0), EFAULT);
  CHECK_EQ(send(pair.client, "q", 1, 0), 1);
  await(pair.server, POLLIN);
  CHECK_ERRNO(recv(pair.server, bad, 1, 0), EFAULT);
  CHECK_EQ(recv(pair.server, text, 1, MSG_DONTWAIT), 1);  // not lost
  iovec pieces[] = {{text, 1}, {bad, 1}};
  CHECK_ERRNO(writev(pair.server, static_cast<iovec*>(nowhere), 1), EFAULT);
  msghdr message = {};
  message.msg_iov = pieces;
  message.msg_iovlen = 1025;
  const auto send_it = [&] { return syscall(SYS_sendmsg, pair.client, &message, 0); };
  CHECK_ERRNO(send_it(), EMSGSIZE);
  CHECK_ERRNO(syscall(SYS_recvmsg, pair.server, &message, 0), EMSGSIZE);
  CHECK_ERRNO(syscall(SYS_sendmsg, pair.client, nowhere, 0), EFAULT);
  message.msg_iovlen = 1;
  // Files do not travel; what is not for sockets as such is not looked at.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_len = CMSG_LEN(sizeof(int));
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  CHECK_EQ(send_it(), 1);
  message.msg_controllen = sizeof control;
  CHECK_EQ(recvmsg(pair.server, &message, 0), 1);
  CHECK_EQ(message.msg_controllen, 0);
  message.msg_controllen = sizeof control;
  part->cmsg_type = 99;
  CHECK_ERRNO(send_it(), EINVAL);
}

void test_options(int type) {
  const int socket = make_socket(type);
  const int own = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
  const int other = type == SOCK_STREAM ? IPPROTO_UDP : IPPROTO_TCP;
  int value = 1;
  socklen_t size = sizeof value;
  const int levels[] = {SOL_SOCKET, IPPROTO_IP, own, other, 12345};
  for (const int level : levels) {
    const bool known = level != other && level != 12345;
    CHECK_ERRNO(setsockopt(socket, level, 999, &value, sizeof value), ENOPROTOOPT);
    CHECK_ERRNO(getsockopt(socket, level, 999, &value, &size), known ? ENOPROTOOPT : EOPNOTSUPP);
  }
  CHECK_ERRNO(setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &value, 3), EINVAL);
  CHECK_ERRNO(setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, nowhere, sizeof value), EFAULT);
  CHECK_ERRNO(setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &value, static_cast<socklen_t>(-1)), EINVAL);
  const int unsettable[] = {SO_TYPE, SO_PROTOCOL, SO_DOMAIN, SO_ERROR, SO_ACCEPTCONN};
  for (const int option : unsettable) CHECK_ERRNO(setsockopt(socket, SOL_SOCKET, option, &value, sizeof value), ENOPROTOOPT);
  CHECK_ERRNO(getsockopt(socket, SOL_SOCKET, SO_TYPE, nowhere, &size), EFAULT);
  CHECK_ERRNO(getsockopt(socket, SOL_SOCKET, SO_TYPE, &value, static_cast<socklen_t*>(nowhere)), EFAULT);
  size = 1;
  value = -1;
  CHECK_EQ(getsockopt(socket, SOL_SOCKET, SO_TYPE, &value, &size), 0);
  CHECK_EQ(size, 1);
  CHECK_EQ(value, static_cast<int>(0xffffff00u | static_cast<unsigned>(type)));
  if (type == SOCK_STREAM) {
    CHECK_ERRNO(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &value, 3), EINVAL);
    CHECK_EQ(option_of(socket, TCP_NODELAY, IPPROTO_TCP), 0);
    CHECK_EQ(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value), 0);
    CHECK_EQ(option_of(socket, TCP_NODELAY, IPPROTO_TCP), 1);
  }
  CHECK_EQ(option_of(socket, SO_REUSEADDR), 0);
  value = 7;
  CHECK_EQ(setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &value, sizeof value), 0);
  CHECK_EQ(option_of(socket, SO_REUSEADDR), 1);
  CHECK_EQ(close(socket), 0);
}

// Nobody listens at a port that somebody has.
void test_refused() {
  const int silent = bound(), listener = listening();
  const Address nobody = told_by(getsockname, silent), somebody = told_by(getsockname, listener);
  int client = make_socket();
  CHECK_ERRNO(connect(client, nobody.get(), Address::size), ECONNREFUSED);
  CHECK_EQ(option_of(client, SO_ERROR), 0);
  CHECK_EQ(connect(client, somebody.get(), Address::size), 0);  // not too late
  CHECK_EQ(close(client), 0);
  client = make_socket(SOCK_STREAM | SOCK_NONBLOCK);
  for (int round = 0; round < 2; ++round) {
    CHECK_ERRNO(connect(client, nobody.get(), Address::size), EINPROGRESS);
    await(client, POLLOUT);
    CHECK_EQ(settled(client, over | POLLERR), over | POLLERR);
    if (round == 0) {
      CHECK_EQ(option_of(client, SO_ERROR), ECONNREFUSED);
      CHECK_EQ(option_of(client, SO_ERROR), 0);
      CHECK_EQ(ready_of(client), over);
      CHECK_ERRNO(connect(client, somebody.get(), Address::size), ECONNABORTED);  // it has been told
    } else {
      CHECK_ERRNO(connect(client, somebody.get(), Address::size), ECONNREFUSED);
    }
  }
  CHECK_ERRNO(connect(client, somebody.get(), Address::size), EINPROGRESS);
  await(client, POLLOUT);
  CHECK_EQ(ready_of(client), out);
  CHECK_EQ(option_of(client, SO_ERROR), 0);
  CHECK_EQ(connect(client, somebody.get(), Address::size), 0);  // the first call that finds it done
  CHECK_ERRNO(connect(client, somebody.get(), Address::size), EISCONN);
  CHECK(told_by(getpeername, client) == somebody);
  close_all({client, silent, listener});
}

// One direction ends, the other goes on.
void test_halves() {
  Connection pair;
  char text[8] = {};
  CHECK_EQ(send(pair.client, "last", 4, 0), 4);
  CHECK_EQ(shutdown(pair.client, SHUT_WR), 0);
  CHECK_EQ(shutdown(pair.client, SHUT_WR), 0);
  CHECK_ERRNO(send(pair.client, "x", 1, MSG_NOSIGNAL), EPIPE);
  broken_pipes = 0;
  CHECK_ERRNO(write(pair.client, "x", 1), EPIPE);
  CHECK_EQ(broken_pipes, 1);
  CHECK_EQ(ready_of(pair.client), out);
  CHECK_EQ(settled(pair.server, in | out | POLLRDHUP), in | out | POLLRDHUP);
  CHECK_EQ(recv(pair.server, text, 8, 0), 4);
  for (int k = 0; k < 2; ++k) CHECK_EQ(recv(pair.server, text, 8, 0), 0);
  CHECK_EQ(ready_of(pair.server), in | out | POLLRDHUP);
  CHECK_EQ(send(pair.server, "other", 5, 0), 5);
  CHECK_EQ(recv(pair.client, text, 5, MSG_WAITALL), 5);
  CHECK_EQ(shutdown(pair.server, SHUT_WR), 0);
  CHECK_EQ(settled(pair.client, over), over);
  CHECK_EQ(settled(pair.server, over), over);
  CHECK_EQ(recv(pair.client, text, 8, 0), 0);

  const Connection second;  // who does not want to read reads nothing, without waiting, and may be sent to
  CHECK_EQ(shutdown(second.client, SHUT_RD), 0);
  CHECK_EQ(ready_of(second.client), in | out | POLLRDHUP);
  CHECK_EQ(recv(second.client, text, 8, 0), 0);
  CHECK_EQ(send(second.client, "on", 2, 0), 2);
  CHECK_EQ(recv(second.server, text, 8, 0), 2);
  CHECK_EQ(ready_of(second.server), out);
  CHECK_EQ(send(second.server, "x", 1, 0), 1);

  Connection third;  // the last descriptor's end is the connection's
  const int again = dup(third.client);
  Connection::end(third.client);
  CHECK_EQ(send(again, "dup", 3, 0), 3);
  CHECK_EQ(recv(third.server, text, 8, 0), 3);
  CHECK_ERRNO(recv(third.server, text, 8, MSG_DONTWAIT), EAGAIN);
  CHECK_EQ(close(again), 0);
  CHECK_EQ(recv(third.server, text, 8, 0), 0);
}

// What the other side finds that still has a connection: an error once, then the end.
void expect_reset(int socket) {
  char byte = 0;
  await(socket, POLLIN);
  CHECK_EQ(settled(socket, over | POLLERR), over | POLLERR);
  CHECK_ERRNO(recv(socket, &byte, 1, 0), ECONNRESET);
  CHECK_EQ(recv(socket, &byte, 1, 0), 0);
  CHECK_EQ(ready_of(socket), over);
  broken_pipes = 0;
  CHECK_ERRNO(send(socket, "x", 1, MSG_NOSIGNAL), EPIPE);
  CHECK_EQ(broken_pipes, 0);
  CHECK_ERRNO(write(socket, "x", 1), EPIPE);
  CHECK_EQ(broken_pipes, 1);
  Address name(0);
  socklen_t size = Address::size;
  CHECK_ERRNO(getpeername(socket, name.place(), &size), ENOTCONN);
  CHECK_ERRNO(shutdown(socket, SHUT_WR), ENOTCONN);
}

void test_resets() {
  {
    Connection pair;  // the server has not read everything
    CHECK_EQ(send(pair.client, "x", 1, 0), 1);
    await(pair.server, POLLIN);
    Connection::end(pair.server);
    expect_reset(pair.client);
  }
  {
    Connection pair;  // the server does not care
    const linger none = {1, 0};
    CHECK_EQ(setsockopt(pair.server, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
    CHECK_EQ(send(pair.client, "x", 1, 0), 1);
    Connection::end(pair.server);
    expect_reset(pair.client);
  }
  {
    Connection pair;  // the server is gone, and the client learns it when it writes
    Connection::end(pair.server);
    CHECK_EQ(settled(pair.client, in | out | POLLRDHUP), in | out | POLLRDHUP);
    CHECK_EQ(send(pair.client, "x", 1, 0), 1);
    CHECK_EQ(settled(pair.client, over | POLLERR), over | POLLERR);
    broken_pipes = 0;
    CHECK_ERRNO(write(pair.client, "x", 1), EPIPE);
    CHECK_EQ(broken_pipes, 1);
    CHECK_ERRNO(send(pair.client, "x", 1, MSG_NOSIGNAL), EPIPE);
    CHECK_EQ(broken_pipes, 1);
    char byte = 0;
    CHECK_EQ(recv(pair.client, &byte, 1, 0), 0);
  }
  const int listener = listening();  // and its connections, which nobody has accepted
  const int waiting[] = {connected_to(listener), connected_to(listener), connected_to(listener)};
  CHECK_EQ(close(listener), 0);
  for (const int each : waiting) {
    expect_reset(each);
    CHECK_EQ(close(each), 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("internetcalls", argc, argv);
  struct sigaction action = {};
  action.sa_handler = on_pipe;
  CHECK_EQ(sigaction(SIGPIPE, &action, nullptr), 0);
  const int types[] = {SOCK_STREAM, SOCK_DGRAM};
  test_making();
  for (const int type : types) test_names(type);
  test_connection();
  test_accepting();
  test_bytes();
  for (const int type : types) test_options(type);
  test_refused();
  test_halves();
  test_resets();
  return check_done();
}
