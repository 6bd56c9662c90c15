// UDP over the loopback device: names, datagrams and their bounds, connected sockets, full queues, many in a call, threads. And what
// UDP and TCP have in common: addresses in use, ports of the privileged, readiness by poll, select and epoll.
// Errors of arguments: internetcalls.cpp. Sources: udp(7), ip(7), socket(7), tcp(7), epoll(7).

#include "tests/internet_sockets.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

constexpr unsigned room = out | POLLWRBAND;  // what poll tells of sockets that can send datagrams

int plain() {
  return make_socket(SOCK_DGRAM);
}
int named() {
  return bound(SOCK_DGRAM);
}

void send_to(int socket, const char* text, const Address& name) {
  CHECK_EQ(sendto(socket, text, strlen(text), 0, name.get(), Address::size), strlen(text));
}

// The next datagram is this one; from where it came.
Address expect(int socket, const char* text) {
  char bytes[64] = {};
  Address from(0xffff, INADDR_BROADCAST);
  socklen_t size = Address::size;
  await(socket, POLLIN);
  CHECK_EQ(recvfrom(socket, bytes, sizeof bytes, 0, from.place(), &size), strlen(text));
  CHECK_EQ(memcmp(bytes, text, strlen(text)), 0);
  CHECK_EQ(size, Address::size);
  return from;
}

void test_names() {
  const int server = named(), client = plain();
  const Address name = told_by(getsockname, server);
  CHECK(name.port() >= 1024 && name == Address(name.port()));
  CHECK_EQ(ready_of(server), room);
  CHECK(told_by(getsockname, client) == Address(0, INADDR_ANY));
  CHECK_ERRNO(send(client, "x", 1, 0), EDESTADDRREQ);
  CHECK_ERRNO(write(client, "x", 1), EDESTADDRREQ);
  CHECK_ERRNO(sendto(client, "x", 1, 0, Address(0).get(), Address::size), EINVAL);
  CHECK_ERRNO(sendto(client, "x", 1, 0, name.get(), Address::size - 1), EINVAL);
  send_to(client, "hello", name);
  const Address chosen = told_by(getsockname, client);  // by the first datagram
  CHECK(chosen.port() >= 1024 && chosen == Address(chosen.port(), INADDR_ANY));
  CHECK(expect(server, "hello") == Address(chosen.port()));
  send_to(server, "answer", Address(chosen.port()));
  CHECK(expect(client, "answer") == name);
  send_to(client, "here", Address(name.port(), INADDR_ANY));  // 0.0.0.0 is this machine
  CHECK(expect(server, "here") == Address(chosen.port()));
  char byte = 0;
  CHECK_ERRNO(recv(server, &byte, 1, MSG_DONTWAIT), EAGAIN);
  close_all({server, client});
}

void test_bounds() {
  const int a = named(), b = named();
  const Address name = told_by(getsockname, b);
  char text[16] = {};
  send_to(a, "one", name);
  send_to(a, "", name);
  send_to(a, "three", name);
  await(b, POLLIN);
  CHECK_EQ(ready_of(b), in | room);
  int bytes = -1;
  CHECK_EQ(ioctl(b, FIONREAD, &bytes), 0);
  CHECK_EQ(bytes, 3);  // the first one's
  CHECK_EQ(recv(b, text, sizeof text, MSG_PEEK), 3);
  CHECK_EQ(recv(b, text, sizeof text, MSG_WAITALL), 3);
  await(b, POLLIN);
  CHECK_EQ(ioctl(b, FIONREAD, &bytes), 0);
  CHECK_EQ(bytes, 0);
  CHECK_EQ(recv(b, text, sizeof text, 0), 0);
  await(b, POLLIN);
  CHECK_EQ(recv(b, text, 2, MSG_PEEK | MSG_TRUNC), 5);  // the real size
  iovec pieces[] = {{text, 1}, {text + 8, 1}};
  Address from(0xffff, 0);
  msghdr message = {};
  message.msg_name = &from.name;
  message.msg_namelen = 100;
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  CHECK_EQ(recvmsg(b, &message, 0), 2);
  CHECK_EQ(message.msg_flags, MSG_TRUNC);
  CHECK_EQ(message.msg_namelen, Address::size);
  CHECK(from == told_by(getsockname, a));
  CHECK_EQ(text[0] << 8 | text[8], 't' << 8 | 'h');
  CHECK_ERRNO(recv(b, text, 1, MSG_DONTWAIT), EAGAIN);  // the rest is gone
  message.msg_name = const_cast<sockaddr_in*>(&name.name);
  message.msg_namelen = Address::size;
  CHECK_EQ(sendmsg(a, &message, 0), 2);
  expect(b, "th");
  send_to(a, "first", name);
  send_to(a, "second", name);
  await(b, POLLIN);
  CHECK_ERRNO(recv(b, reinterpret_cast<void*>(8), 1, 0), EFAULT);
  expect(b, "second");  // Linux has taken the other one out
  CHECK_ERRNO(sendto(a, reinterpret_cast<void*>(8), 1, 0, name.get(), Address::size), EFAULT);

  constexpr long largest = 65507;  // with its headers 65535
  static char large[largest + 1], back[largest + 1];
  for (long i = 0; i < largest; ++i) large[i] = static_cast<char>(i * 31 >> 3);
  CHECK_ERRNO(sendto(a, large, largest + 1, 0, name.get(), Address::size), EMSGSIZE);
  CHECK_EQ(sendto(a, large, largest, 0, name.get(), Address::size), largest);
  CHECK_EQ(recv(b, back, sizeof back, 0), largest);
  CHECK_EQ(memcmp(large, back, largest), 0);
  close_all({a, b});
}

void test_connected() {
  int a = named();
  const int b = named(), stranger = named();
  const Address names[] = {told_by(getsockname, a), told_by(getsockname, b), told_by(getsockname, stranger)};
  Address told(0);
  socklen_t size = Address::size;
  CHECK_ERRNO(getpeername(a, told.place(), &size), ENOTCONN);
  CHECK_EQ(close(a), 0);
  a = plain();
  CHECK_EQ(bind(a, names[0].get(), Address::size), 0);  // a port by its number is kept when the socket parts from its peer
  send_to(stranger, "early", names[0]);
  await(a, POLLIN);
  CHECK_EQ(connect(a, names[1].get(), Address::size), 0);
  CHECK(told_by(getpeername, a) == names[1]);
  expect(a, "early");  // what has come before stays
  CHECK_EQ(send(a, "to b", 4, 0), 4);
  CHECK(expect(b, "to b") == names[0]);
  send_to(stranger, "strange", names[0]);  // not taken
  send_to(b, "to a", names[0]);
  CHECK(expect(a, "to a") == names[1]);
  CHECK_ERRNO(recv(a, &size, 1, MSG_DONTWAIT), EAGAIN);
  send_to(a, "aside", names[2]);  // another one, for once
  CHECK(expect(stranger, "aside") == names[0]);
  CHECK_EQ(connect(a, names[2].get(), Address::size), 0);  // and for good
  send_to(stranger, "now", names[0]);
  CHECK(expect(a, "now") == names[2]);
  Address nobody(0, 0);
  nobody.name.sin_family = AF_UNSPEC;
  CHECK_EQ(connect(a, nobody.get(), Address::size), 0);
  CHECK_ERRNO(getpeername(a, told.place(), &size), ENOTCONN);
  CHECK_ERRNO(send(a, "x", 1, 0), EDESTADDRREQ);
  CHECK(told_by(getsockname, a) == names[0]);
  send_to(b, "all", names[0]);
  CHECK(expect(a, "all") == names[1]);
  const int unnamed = plain();
  CHECK_EQ(connect(unnamed, names[1].get(), Address::size), 0);
  CHECK(told_by(getsockname, unnamed) == Address(told_by(getsockname, unnamed).port()));  // where it sends from
  CHECK_EQ(write(unnamed, "x", 1), 1);
  CHECK(expect(b, "x") == told_by(getsockname, unnamed));
  CHECK_EQ(shutdown(unnamed, SHUT_RD), 0);
  CHECK_EQ(recv(unnamed, &size, 1, 0), 0);
  CHECK_EQ(ready_of(unnamed), in | room | POLLRDHUP);
  CHECK_EQ(shutdown(unnamed, SHUT_WR), 0);
  CHECK_ERRNO(send(unnamed, "x", 1, MSG_NOSIGNAL), EPIPE);
  close_all({a, b, stranger, unnamed});
}

// That nobody is there is told to who is connected, once for each datagram.
void test_closed_port() {
  const int a = plain(), other = named(), left = named();
  const Address name = told_by(getsockname, other), nobody = told_by(getsockname, left);
  CHECK_EQ(close(left), 0);
  char byte = 0;
  CHECK_EQ(connect(a, nobody.get(), Address::size), 0);
  CHECK_EQ(send(a, "x", 1, 0), 1);
  await(a, POLLIN);
  CHECK_EQ(ready_of(a), room | POLLERR);
  CHECK_ERRNO(send(a, "x", 1, 0), ECONNREFUSED);
  CHECK_EQ(send(a, "x", 1, 0), 1);
  CHECK_ERRNO(recv(a, &byte, 1, 0), ECONNREFUSED);
  CHECK_EQ(send(a, "x", 1, 0), 1);
  await(a, POLLIN);
  CHECK_EQ(option_of(a, SO_ERROR), ECONNREFUSED);
  CHECK_EQ(ready_of(a), room);
  CHECK_ERRNO(recv(a, &byte, 1, MSG_DONTWAIT), EAGAIN);
  CHECK_EQ(connect(other, nobody.get(), Address::size), 0);
  CHECK_EQ(connect(a, name.get(), Address::size), 0);  // which takes from nobody else
  CHECK_EQ(send(a, "x", 1, 0), 1);
  CHECK_ERRNO(recv(a, &byte, 1, 0), ECONNREFUSED);
  const int third = plain();  // who is not connected learns nothing
  send_to(third, "x", nobody);
  CHECK_ERRNO(recv(third, &byte, 1, MSG_DONTWAIT), EAGAIN);
  close_all({a, other, third});
}

// What does not fit is lost, without a word; the rest comes in order.
void test_full() {
  const int a = named(), b = named(), other = named();
  const Address name = told_by(getsockname, b);
  set_option(b, SO_RCVBUF, 20000);
  constexpr int sent = 500;
  int text[250] = {};
  for (int i = 0; i < sent; ++i) {
    text[0] = i;
    CHECK_EQ(sendto(a, text, sizeof text, 0, name.get(), Address::size), sizeof text);
  }
  send_to(a, "mark", told_by(getsockname, other));
  expect(other, "mark");  // so the others are not on their way any more
  int received = 0;
  for (int before = -1; recv(b, text, sizeof text, MSG_DONTWAIT) > 0; ++received) {
    CHECK(text[0] > before);
    before = text[0];
  }
  CHECK_EQ(errno, EAGAIN);
  CHECK(received > 0 && received < sent);
  send_to(a, "after", name);
  expect(b, "after");
  close_all({a, b, other});
}

void test_many_messages() {
  const int a = named(), b = named();
  CHECK_EQ(connect(a, told_by(getsockname, b).get(), Address::size), 0);
  char texts[4][8] = {"a", "bb", "ccc", "dddd"};
  iovec pieces[4];
  mmsghdr headers[4] = {};
  for (unsigned i = 0; i < 4; ++i) {
    pieces[i] = {texts[i], i + 1};
    headers[i].msg_hdr.msg_iov = &pieces[i];
    headers[i].msg_hdr.msg_iovlen = 1;
  }
  CHECK_EQ(syscall(SYS_sendmmsg, a, headers, 4, 0), 4);
  for (unsigned i = 0; i < 4; ++i) {
    CHECK_EQ(headers[i].msg_len, i + 1);
    pieces[i].iov_len = 8;
  }
  CHECK_EQ(recvmmsg(b, headers, 3, 0, nullptr), 3);
  CHECK_EQ(headers[2].msg_len, 3);
  CHECK_EQ(recvmmsg(b, headers, 4, MSG_WAITFORONE, nullptr), 1);
  CHECK_EQ(headers[0].msg_len, 4);
  CHECK_ERRNO(recvmmsg(b, headers, 4, MSG_DONTWAIT, nullptr), EAGAIN);
  close_all({a, b});
}

// Each asks one server, whose threads share the socket, and waits for the answer: so few are on their way that none is lost.
void test_threads() {
  static int server;
  static Address name(0);
  server = named();
  name = told_by(getsockname, server);
  pthread_t servers[2], clients[4];
  const auto serve = [](void*) -> void* {
    Address from(0);
    socklen_t size = Address::size;
    for (long number = 0; recvfrom(server, &number, sizeof number, 0, from.place(), &size) == sizeof number;)
      CHECK_EQ(sendto(server, &number, sizeof number, 0, from.get(), size), sizeof number);
    return nullptr;
  };
  const auto ask = [](void*) -> void* {
    const int own = plain();
    CHECK_EQ(connect(own, name.get(), Address::size), 0);
    for (long i = 0, answer = -1; i < 300 * check_effort; ++i) {
      CHECK_EQ(send(own, &i, sizeof i, 0), sizeof i);
      CHECK_EQ(recv(own, &answer, sizeof answer, 0), sizeof answer);
      CHECK_EQ(answer, i);
    }
    CHECK_EQ(close(own), 0);
    return nullptr;
  };
  for (pthread_t& thread : servers) CHECK_EQ(pthread_create(&thread, nullptr, serve, nullptr), 0);
  for (pthread_t& thread : clients) CHECK_EQ(pthread_create(&thread, nullptr, ask, nullptr), 0);
  for (const pthread_t thread : clients) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_ERRNO(shutdown(server, SHUT_RD), ENOTCONN);  // and yet it is shut, which ends the waits
  for (const pthread_t thread : servers) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(close(server), 0);
}

// Whether an address can be had, with SO_REUSEADDR or without.
int try_bind(int type, const Address& name, int reuse) {
  const int socket = make_socket(type);
  set_option(socket, SO_REUSEADDR, reuse);
  const int error = bind(socket, name.get(), Address::size) == 0 ? 0 : errno;
  CHECK_EQ(close(socket), 0);
  return error;
}

void test_addresses_in_use(int type) {
  int first = bound(type);
  const Address name = told_by(getsockname, first), both[] = {name, Address(name.port(), INADDR_ANY)};
  for (const Address& each : both) {
    CHECK_EQ(try_bind(type, each, 0), EADDRINUSE);
    CHECK_EQ(try_bind(type, each, 1), EADDRINUSE);  // both must want it
    set_option(first, SO_REUSEADDR, 1);
    CHECK_EQ(try_bind(type, each, 1), 0);
    CHECK_EQ(try_bind(type, each, 0), EADDRINUSE);
    set_option(first, SO_REUSEADDR, 0);
  }
  CHECK_EQ(close(first), 0);
  CHECK_EQ(try_bind(type, name, 0), 0);
  bool other = false;  // The other kind's ports are others, though a chosen one may be in use there, too.
  for (int i = 0; i < 20 && !other; ++i, CHECK_EQ(close(first), 0))
    other = try_bind(SOCK_DGRAM + SOCK_STREAM - type, told_by(getsockname, first = bound(type)), 0) == 0;
  CHECK(other);
  if (type == SOCK_DGRAM) { return; }
  first = make_socket(type);
  set_option(first, SO_REUSEADDR, 1);
  CHECK_EQ(bind(first, name.get(), Address::size), 0);
  const int second = make_socket(type);
  set_option(second, SO_REUSEADDR, 1);
  CHECK_EQ(bind(second, name.get(), Address::size), 0);
  CHECK_EQ(listen(first, 5), 0);
  CHECK_ERRNO(listen(second, 5), EADDRINUSE);
  CHECK_EQ(try_bind(type, name, 1), EADDRINUSE);
  CHECK_EQ(close(second), 0);
  // The server ends its connection first and must remember it for a while.
  const int client = make_socket(type);
  CHECK_EQ(connect(client, name.get(), Address::size), 0);
  const int server = accept(first, nullptr, nullptr);
  CHECK_EQ(close(server), 0);
  await(client, POLLIN);
  CHECK_EQ(close(client), 0);
  CHECK_EQ(close(first), 0);
  CHECK_EQ(try_bind(type, name, 0), EADDRINUSE);
  CHECK_EQ(try_bind(type, name, 1), 0);
}

void test_privileged_ports(int type) {
  if (geteuid() != 0) { return; }
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(setresuid(1001, 1001, 1001), 0);
    CHECK_EQ(try_bind(type, Address(1023), 0), EACCES);
    CHECK_EQ(try_bind(type, Address(1), 1), EACCES);
    CHECK_EQ(try_bind(type, Address(0), 0), 0);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

// Bits that epoll tells, or 0.
unsigned told_by_epoll(int instance, int wait_ms) {
  epoll_event event = {};
  return epoll_wait(instance, &event, 1, wait_ms) == 1 ? event.events : 0;
}
void watch(int instance, int socket, unsigned events) {
  epoll_event event = {};
  event.events = events;
  CHECK_EQ(epoll_ctl(instance, EPOLL_CTL_ADD, socket, &event), 0);
}

bool selected(int socket) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(socket, &set);
  timeval none = {};
  return select(socket + 1, &set, nullptr, nullptr, &none) == 1;
}

void test_readiness(int type) {
  const int a = make_socket(type), levels = epoll_create1(0), edges = epoll_create1(0);
  int b = bound(type), listener = -1;
  if (type == SOCK_STREAM) {
    listener = b;
    CHECK_EQ(listen(listener, 1), 0);
    const int both[] = {levels, edges};
    watch(levels, listener, EPOLLIN);
    watch(edges, listener, EPOLLIN | EPOLLET);
    for (const int each : both) CHECK_EQ(told_by_epoll(each, 0), 0);
    CHECK(!selected(listener));
    CHECK_EQ(connect(a, told_by(getsockname, listener).get(), Address::size), 0);
    for (const int each : both) CHECK_EQ(told_by_epoll(each, long_ms), EPOLLIN);
    CHECK_EQ(told_by_epoll(levels, 0), EPOLLIN);
    CHECK_EQ(told_by_epoll(edges, 0), 0);
    CHECK(selected(listener));
    b = accept(listener, nullptr, nullptr);
    CHECK_EQ(told_by_epoll(levels, 0), 0);
    CHECK(!selected(listener));
  } else {
    CHECK_EQ(connect(a, told_by(getsockname, b).get(), Address::size), 0);
  }
  watch(levels, b, EPOLLIN | EPOLLRDHUP);
  watch(edges, b, EPOLLIN | EPOLLRDHUP | EPOLLET);
  CHECK_EQ(told_by_epoll(levels, 0), 0);
  CHECK(!selected(b));
  char text[8] = {};
  for (int i = 0; i < 2; ++i) {
    CHECK_EQ(send(a, "x", 1, 0), 1);
    CHECK_EQ(told_by_epoll(edges, long_ms), EPOLLIN);  // each time, though nobody has read
    CHECK_EQ(told_by_epoll(edges, 0), 0);
    CHECK_EQ(told_by_epoll(levels, 0), EPOLLIN);
    CHECK(selected(b));
  }
  for (int i = 0; i < 2 && recv(b, text, 1, 0) == 1;) ++i;
  CHECK_EQ(told_by_epoll(levels, 0), 0);
  CHECK(!selected(b));
  // Who waits already is woken.
  const pid_t child = fork();
  if (child == 0) {
    check_sleep_us(10000);
    _exit(send(a, "y", 1, 0) == 1 ? 0 : 1);
  }
  await(b, POLLIN);
  CHECK_EQ(told_by_epoll(edges, long_ms), EPOLLIN);
  CHECK_EQ(recv(b, text, 1, 0), 1);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(close(a), 0);
  if (type == SOCK_STREAM) {
    CHECK_EQ(told_by_epoll(edges, long_ms), EPOLLIN | EPOLLRDHUP);
    CHECK_EQ(told_by_epoll(levels, 0), EPOLLIN | EPOLLRDHUP);
    CHECK(selected(b));
    CHECK_EQ(shutdown(b, SHUT_WR), 0);
    CHECK_EQ(told_by_epoll(levels, 0) & ~unsigned{EPOLLHUP}, EPOLLIN | EPOLLRDHUP);
    CHECK_EQ(close(listener), 0);
  }
  close_all({b, levels, edges});
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("udptest", argc, argv);
  test_names();
  test_bounds();
  test_connected();
  test_closed_port();
  test_full();
  test_many_messages();
  test_threads();
  const int types[] = {SOCK_DGRAM, SOCK_STREAM};
  for (const int type : types) {
    test_addresses_in_use(type);
    test_privileged_ports(type);
    test_readiness(type);
  }
  return check_done();
}
