// What UNIX sockets tell of who has sent, names that they get by themselves, datagram sockets that turn to another peer, and which of
// several errors is told first.

#include "tests/unix_sockets.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace {

void* const nowhere = reinterpret_cast<void*>(8);

// Bytes of the address that recvfrom tells.
socklen_t told_by_recvfrom(int socket) {
  sockaddr_un from = {};
  socklen_t size = sizeof from;
  char byte = 0;
  CHECK_EQ(recvfrom(socket, &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), &size), 1);
  return size;
}

socklen_t told_by_recvmsg(int socket, int& flags) {
  sockaddr_un from = {};
  char byte = 0;
  iovec piece = {&byte, 1};
  msghdr message = {};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  CHECK_EQ(recvmsg(socket, &message, 0), 1);
  flags = message.msg_flags;
  return message.msg_namelen;
}

socklen_t own_name(int socket) {
  sockaddr_un name = {};
  socklen_t size = sizeof name;
  CHECK_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size), 0);
  return size;
}

int bound(int type, const Name& name) {
  const int socket = ::socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
  CHECK(socket >= 0);
  CHECK_EQ(bind(socket, name.get(), name.size), 0);
  return socket;
}

void pass_credentials(int socket) {
  const int on = 1;
  CHECK_EQ(setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
}

void test_names_of_senders(int type) {
  const Name name("@socketnames");
  const int listener = bound(type, name);
  CHECK_EQ(listen(listener, 5), 0);
  const int client = socket(AF_UNIX, type, 0);
  CHECK_EQ(connect(client, name.get(), name.size), 0);
  const int server = accept(listener, nullptr, nullptr);
  CHECK(server >= 0);
  int flags = 0;
  CHECK_EQ(send(client, "ab", 2, 0), 2);
  CHECK_EQ(told_by_recvfrom(server), 0);  // the client has none
  CHECK_EQ(send(server, "a", 1, 0), 1);
  CHECK_EQ(told_by_recvfrom(client), name.size);
  CHECK_EQ(send(server, "a", 1, 0), 1);
  CHECK_EQ(told_by_recvmsg(client, flags), name.size);
  CHECK_EQ(flags, 0);
  const int all[] = {listener, client, server};
  for (const int each : all) { CHECK_EQ(close(each), 0); }
}

// A socket that wants to know who has sent gets a name itself, when it first matters.
void test_names_by_themselves() {
  constexpr socklen_t any_name = sizeof(sa_family_t) + 6;
  const Name name("@socketnames");
  const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
  for (const int type : types) {
    const int listener = bound(type, name);
    CHECK_EQ(listen(listener, 5), 0);
    const int client = socket(AF_UNIX, type, 0);
    pass_credentials(client);
    CHECK_EQ(own_name(client), sizeof(sa_family_t));
    CHECK_EQ(connect(client, name.get(), name.size), 0);
    CHECK_EQ(own_name(client), any_name);
    CHECK_EQ(close(client), 0);
    CHECK_EQ(close(listener), 0);
  }
  const int receiver = bound(SOCK_DGRAM, name);
  int sender = socket(AF_UNIX, SOCK_DGRAM, 0);
  pass_credentials(sender);
  CHECK_EQ(sendto(sender, "x", 1, 0, name.get(), name.size), 1);
  CHECK_EQ(own_name(sender), any_name);
  CHECK_EQ(told_by_recvfrom(receiver), any_name);
  CHECK_EQ(close(sender), 0);
  sender = socket(AF_UNIX, SOCK_DGRAM, 0);
  pass_credentials(sender);
  CHECK_EQ(connect(sender, name.get(), name.size), 0);
  CHECK_EQ(own_name(sender), any_name);
  CHECK_EQ(close(sender), 0);
  CHECK_EQ(close(receiver), 0);
  const Pair pair(SOCK_DGRAM);
  pass_credentials(pair.a);
  CHECK_EQ(write(pair.a, "x", 1), 1);
  CHECK_EQ(own_name(pair.a), any_name);
}

// A datagram socket that connects elsewhere loses what has come, and of that the one that it was connected to is told.
void test_turning_away() {
  const Name names[] = {Name("@turn-0"), Name("@turn-1"), Name("@turn-2")};
  int sockets[3];
  for (int i = 0; i < 3; ++i) { sockets[i] = bound(SOCK_DGRAM, names[i]); }
  char byte = 0;
  CHECK_EQ(connect(sockets[0], names[1].get(), names[1].size), 0);
  CHECK_EQ(connect(sockets[1], names[0].get(), names[0].size), 0);
  CHECK_EQ(send(sockets[1], "x", 1, 0), 1);
  CHECK_EQ(connect(sockets[0], names[1].get(), names[1].size), 0);  // the same one: nothing happens
  CHECK_EQ(recv(sockets[0], &byte, 1, 0), 1);
  CHECK_EQ(send(sockets[1], "x", 1, 0), 1);
  CHECK_EQ(connect(sockets[0], names[2].get(), names[2].size), 0);
  CHECK_ERRNO(recv(sockets[0], &byte, 1, 0), EAGAIN);
  pollfd polled = {sockets[1], POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, 0), 1);
  CHECK((polled.revents & POLLERR) != 0);
  CHECK_ERRNO(send(sockets[1], "x", 1, 0), ECONNRESET);  // told once
  CHECK_ERRNO(send(sockets[1], "x", 1, 0), EPERM);
  CHECK_EQ(connect(sockets[1], names[2].get(), names[2].size), 0);
  CHECK_EQ(connect(sockets[2], names[1].get(), names[1].size), 0);
  const sockaddr nobody = {};  // AF_UNSPEC
  CHECK_EQ(send(sockets[1], "x", 1, 0), 1);
  CHECK_EQ(connect(sockets[2], &nobody, sizeof nobody), 0);
  CHECK_ERRNO(recv(sockets[1], &byte, 1, 0), ECONNRESET);
  CHECK_ERRNO(recv(sockets[1], &byte, 1, 0), EAGAIN);
  for (const int socket : sockets) { CHECK_EQ(close(socket), 0); }
  Pair pair(SOCK_DGRAM);
  CHECK_EQ(send(pair.b, "x", 1, 0), 1);
  pair.close_b();
  CHECK_ERRNO(send(pair.a, "x", 1, 0), ECONNREFUSED);  // who finds nobody there parts from it, too
  CHECK_ERRNO(recv(pair.a, &byte, 1, MSG_DONTWAIT), EAGAIN);
}

// A receive of nothing waits for something.
void test_nothing_wanted() {
  const Pair pair(SOCK_STREAM);
  char byte = 0;
  CHECK_ERRNO(recv(pair.a, &byte, 0, MSG_DONTWAIT), EAGAIN);
  CHECK_EQ(read(pair.a, &byte, 0), 0);
  CHECK_EQ(send(pair.b, "xy", 2, 0), 2);
  CHECK_EQ(recv(pair.a, &byte, 0, MSG_DONTWAIT), 0);
  CHECK_EQ(recv(pair.a, &byte, 1, MSG_DONTWAIT), 1);
}

void test_first_errors() {
  CHECK_ERRNO(accept4(-1, nullptr, nullptr, 99), EBADF);
  CHECK_ERRNO(connect(0, static_cast<sockaddr*>(nowhere), 9), EFAULT);
  CHECK_ERRNO(syscall(SYS_recvmmsg, -1, nullptr, 0, 0, nowhere), EFAULT);
  const timespec wrong = {0, -1};
  CHECK_ERRNO(syscall(SYS_recvmmsg, -1, nullptr, 0, 0, &wrong), EINVAL);
  CHECK_ERRNO(socketpair(AF_UNIX, SOCK_STREAM, 99, static_cast<int*>(nowhere)), EFAULT);

  const Pair pair(SOCK_STREAM);
  char byte = 'x';
  iovec piece = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1025;
  // The C library may take the header for itself.
  const auto send_it = [&](int flags = 0) { return syscall(SYS_sendmsg, pair.a, &message, flags); };
  const auto receive_it = [&](int flags = 0) { return syscall(SYS_recvmsg, pair.b, &message, flags); };
  CHECK_ERRNO(send_it(), EMSGSIZE);
  CHECK_ERRNO(receive_it(), EMSGSIZE);
  message.msg_iovlen = 1;
  CHECK_ERRNO(send_it(INT_MIN), EINVAL);
  CHECK_ERRNO(receive_it(INT_MIN), EINVAL);
  message.msg_name = nowhere;
  message.msg_namelen = 10;
  CHECK_ERRNO(send_it(), EFAULT);
  message.msg_namelen = 300;
  CHECK_ERRNO(send_it(), EFAULT);
  message.msg_namelen = static_cast<socklen_t>(-1);
  CHECK_ERRNO(send_it(), EINVAL);
  message.msg_name = nullptr;
  CHECK_EQ(send_it(), 1);  // its size does not count then
  message.msg_controllen = 4;
  CHECK_ERRNO(send_it(), EFAULT);
  message.msg_controllen = 200000;
  CHECK_ERRNO(send_it(), ENOBUFS);
}

// With no descriptor left, that is told first.
void test_without_descriptors() {
  const Pair pair(SOCK_STREAM);
  rlimit limit = {};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t before = limit.rlim_cur;
  const int next = dup(0);
  CHECK_EQ(close(next), 0);
  limit.rlim_cur = static_cast<rlim_t>(next);
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  CHECK_ERRNO(accept(0, nullptr, nullptr), EMFILE);
  CHECK_ERRNO(socketpair(AF_UNIX, SOCK_STREAM, 99, static_cast<int*>(nowhere)), EMFILE);
  CHECK_ERRNO(pipe(static_cast<int*>(nowhere)), EMFILE);
  CHECK_ERRNO(open("/nothing-here", O_RDONLY), EMFILE);
  CHECK_ERRNO(open("", O_RDONLY), ENOENT);
  CHECK_ERRNO(open("/tmp/socketnames-unmade", O_RDWR | O_CREAT, 0600), EMFILE);
  CHECK_ERRNO(access("/tmp/socketnames-unmade", F_OK), ENOENT);  // nothing was made
  limit.rlim_cur = before;
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

void test_options() {
  const Pair pair(SOCK_STREAM);
  const auto kept = [&](int option, int value) {
    CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, option, &value, sizeof value), 0);
    socklen_t size = sizeof value;
    value = -1;
    CHECK_EQ(getsockopt(pair.a, SOL_SOCKET, option, &value, &size), 0);
    return value;
  };
  CHECK_EQ(kept(SO_PRIORITY, 5), 5);
  constexpr int pass_security = 34;
  const int switches[] = {pass_security, SO_TIMESTAMPNS, SO_RXQ_OVFL, SO_SELECT_ERR_QUEUE};
  for (const int option : switches) {
    CHECK_EQ(kept(option, 7), 1);
    CHECK_EQ(kept(option, 0), 0);
  }
  struct {
    int on, seconds;
  } wait = {7, 5};
  socklen_t size = sizeof wait;
  CHECK_EQ(setsockopt(pair.a, SOL_SOCKET, SO_LINGER, &wait, size), 0);
  CHECK_EQ(getsockopt(pair.a, SOL_SOCKET, SO_LINGER, &wait, &size), 0);
  CHECK_EQ(wait.on, 1);
  CHECK_EQ(wait.seconds, 5);
  sockaddr_un peer = {};
  size = sizeof peer;  // more than the name of a socket that has none
  CHECK_ERRNO(getsockopt(pair.a, SOL_SOCKET, 28, &peer, &size), EINVAL);
  size = sizeof(sa_family_t);
  CHECK_EQ(getsockopt(pair.a, SOL_SOCKET, 28, &peer, &size), 0);
  int owner = getpid();
  CHECK_EQ(ioctl(pair.a, 0x8901, &owner), 0);  // FIOSETOWN
  CHECK_EQ(fcntl(pair.a, F_GETOWN), owner);
  owner = 0;
  CHECK_EQ(ioctl(pair.a, 0x8904, &owner), 0);  // SIOCGPGRP
  CHECK_EQ(owner, getpid());
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("socketnames", argc, argv);
  test_names_of_senders(SOCK_STREAM);
  test_names_of_senders(SOCK_SEQPACKET);
  test_names_by_themselves();
  test_turning_away();
  test_nothing_wanted();
  test_first_errors();
  test_without_descriptors();
  test_options();
  return check_done();
}
