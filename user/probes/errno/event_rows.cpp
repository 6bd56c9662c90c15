// Waiting for files, sockets.
#include "probes/errno/table.h"

#include "tests/check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

namespace errnotest {

namespace {

const timespec no_time = {0, 0};
const timespec bad_time = {0, 1'000'000'000};
const timespec negative_time = {-1, 0};
const timeval no_old_time = {0, 0};
const timeval bad_old_time = {0, -1};
const pollfd polled[2] = {{fd_pipe_end, POLLIN, 0}, {fd_file, POLLIN, 0}};
const epoll_event event = {EPOLLIN, {}};
const epoll_event exclusive = {EPOLLIN | EPOLLEXCLUSIVE, {}};
const epoll_event bad_exclusive = {EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT, {}};
const uint64_t no_signals = 0;
char bytes[64];
const sockaddr_un nobody = {AF_UNIX, "missing"};
const sockaddr_un listening = {AF_UNIX, "socket"};
const sockaddr_un plain_file = {AF_UNIX, "file"};
const sockaddr_un other_family = {77, "socket"};
const int one = 1;
int eight = 8;

void add_polls(Table& table) {
  table.add(SYS_poll, "poll", in(polled), choice(2, 0, -1, 1 << 20, 1L << 32), choice(0));
  for (const timespec* time : {&no_time, &bad_time, &negative_time}) {
    table.add(SYS_ppoll, "ppoll", in(polled), choice(2, 0, -1), choice(reinterpret_cast<long>(time)), in(&no_signals),
              size_of_set());
    table.add(SYS_pselect6, "pselect6", choice(0, 1, 200, -1, INT_MIN, INT_MAX), out_or_null(), out_or_null(), out_or_null(),
              choice(reinterpret_cast<long>(time)), out_or_null());
  }
  for (const timeval* time : {&no_old_time, &bad_old_time}) {
    table.add(SYS_select, "select", choice(0, 1, 200, -1, INT_MIN, INT_MAX), out_or_null(), out_or_null(), out_or_null(),
              choice(reinterpret_cast<long>(time)));
  }
  table.add(SYS_epoll_create, "epoll_create", choice(1, 0, -1));
  table.add(SYS_epoll_create1, "epoll_create1", bits(0));
  for (const long operation : {EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, 0, 4, -1}) {
    for (const epoll_event* what : {&event, &exclusive, &bad_exclusive}) {
      table.add(SYS_epoll_ctl, "epoll_ctl", fd(fd_epoll), choice(operation), fd(fd_pipe_end), in(what));
    }
  }
  table.add(SYS_epoll_wait, "epoll_wait", fd(fd_epoll), out(), choice(1, 0, -1, INT_MAX, INT_MIN, 178956970, 178956971),
            same(0));
  table.add(SYS_epoll_pwait, "epoll_pwait", fd(fd_epoll), out(), choice(1, 0, -1), same(0), in(&no_signals), size_of_set());
  table.add(SYS_epoll_pwait2, "epoll_pwait2", fd(fd_epoll), out(), choice(1, 0, -1), in(&no_time), in(&no_signals),
            size_of_set());
  table.add(SYS_eventfd2, "eventfd2", choice(0, -1), bits(0));
}

void add_names(Table& table) {
  table.add(SYS_socket, "socket", choice(AF_UNIX, 0, -1, 46, 100), choice(SOCK_STREAM, 0, 2, 3, 4, 5, 6, 10, 11, 16, -1),
            choice(0, 1, 2, -1));
  table.add(SYS_socket, "socket flags", same(AF_UNIX), bits(SOCK_STREAM), same(0));
  table.add(SYS_socketpair, "socketpair", choice(AF_UNIX, 0, -1, 100), choice(SOCK_STREAM, 0, 2, 3, 4, 5, 11, -1),
            choice(0, 1, 2, -1), out());
  for (const sockaddr_un* name : {&nobody, &listening, &plain_file, &other_family}) {
    for (const int good : {fd_socket, fd_datagram, fd_listening}) {
      table.add(SYS_connect, "connect", fd(good), in(name), choice(110, 0, 1, 2, 3, 111, 128, 129, -1));
      table.add(SYS_bind, "bind", fd(good), in(name), choice(110, 0, 1, 2, 3, 111, 128, 129, -1)).changes = true;
    }
  }
  table.add(SYS_listen, "listen", fd(fd_listening), choice(5, 0, -1, INT_MAX));
  table.add(SYS_accept, "accept", fd(fd_listening), out_or_null(), out_or_null());
  table.add(SYS_accept4, "accept4", fd(fd_listening), out_or_null(), out_or_null(), bits(0));
  table.add(SYS_getsockname, "getsockname", fd(fd_socket), out(), out());
  table.add(SYS_getpeername, "getpeername", fd(fd_socket), out(), out());
  table.add(SYS_shutdown, "shutdown", fd(99), choice(0, 1, 2, 3, -1));
  table.add(SYS_shutdown, "shutdown how", same(fd_socket), choice(3, -1, 4));
}

void add_messages(Table& table) {
  table.add(SYS_sendto, "sendto", fd(fd_socket), in(bytes), choice(8, 0, -1, 1L << 32), bits(0), same(0), same(0));
  table.add(SYS_sendto, "sendto of datagrams", fd(fd_datagram), in(bytes), choice(8, 0, -1, 1L << 20), bits(0), same(0),
            same(0));
  for (const int good : {fd_socket, fd_datagram}) {
    table.add(SYS_sendto, "sendto a name", fd(good), same(reinterpret_cast<long>(bytes)), same(8), same(0), in(&nobody),
              choice(110, 0, 1, 2, 111, 128, 129, -1));
  }
  table.add(SYS_recvfrom, "recvfrom", fd(fd_socket), out(), choice(8, 0, -1, 1L << 32), bits(MSG_DONTWAIT), out_or_null(),
            out_or_null());
  table.add(SYS_sendmsg, "sendmsg", fd(fd_socket), in(nullptr), bits(0)).harmless = false;
  table.add(SYS_recvmsg, "recvmsg", fd(fd_socket), in(nullptr), bits(MSG_DONTWAIT)).harmless = false;
  table.add(SYS_sendmmsg, "sendmmsg", fd(fd_socket), in(nullptr), choice(1, 0, -1), same(0)).harmless = false;
  table.add(SYS_recvmmsg, "recvmmsg", fd(fd_socket), in(nullptr), choice(1, 0, -1), same(MSG_DONTWAIT), in(&bad_time))
      .harmless = false;
}

void add_options(Table& table) {
  for (long option = 0; option <= 50; ++option) {
    table.add(SYS_getsockopt, "getsockopt", same(fd_socket), same(SOL_SOCKET), same(option), out(), in(&eight));
  }
  table.add(SYS_getsockopt, "getsockopt of any", fd(fd_socket), same(SOL_SOCKET), same(SO_TYPE), out(), in(&eight));
  for (const long option : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 17, 18, 20, 21, 29, 30, 99, -1}) {
    table.add(SYS_setsockopt, "setsockopt", same(fd_socket), choice(SOL_SOCKET, 0, 6, 77, -1), same(option), in(&one),
              choice(4, 0, 1, 3, -1));
  }
}

}  // namespace

void add_event_rows(Table& table) {
  add_polls(table);
  add_names(table);
  add_messages(table);
  add_options(table);
}

}  // namespace errnotest
