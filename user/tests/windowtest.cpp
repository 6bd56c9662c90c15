// What a receiver that does not read, and one that nobody accepts from, do to TCP: both directions full, streams that end when there
// is no room, small pieces, queues of connections, ports that are remembered. Source: RFC 9293; Linux man-pages tcp(7), ip(7).
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "tests/internet_sockets.h"

namespace {

// Writes until there is no room, not even for a byte. Byte number n is n's lowest bits times a prime.
long fill(int socket, long from = 0, long most = 1L << 40) {
  static unsigned char bytes[60000];
  long total = from;
  for (size_t size = sizeof bytes; size > 0 && total - from < most;) {
    if (most - (total - from) < static_cast<long>(size)) { size = static_cast<size_t>(most - (total - from)); }
    for (unsigned i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>((total + i) * 7);
    const ssize_t now = send(socket, bytes, size, MSG_DONTWAIT);
    if (now >= 0) {
      total += now;
    } else {
      CHECK_EQ(errno, EAGAIN);
      size /= 8;
    }
  }
  return total - from;
}

void read_all(int socket, long count, long from = 0, size_t at_once = 50000) {
  static unsigned char bytes[50000];
  for (long done = 0; done < count;) {
    const long left = count - done;
    const ssize_t now = recv(socket, bytes, left < static_cast<long>(at_once) ? static_cast<size_t>(left) : at_once, 0);
    CHECK(now > 0);
    for (ssize_t i = 0; i < now; ++i) CHECK(bytes[i] == static_cast<unsigned char>((from + done + i) * 7));
    done += now;
  }
}

void test_both_full() {
  const Connection pair;
  for (int round = 0; round < 3; ++round) {
    const long there = fill(pair.client);
    const long back = fill(pair.server);
    CHECK(there > 0);
    CHECK(back > 0);
    CHECK_EQ(ready_of(pair.client), in);
    CHECK_EQ(ready_of(pair.server), in);
    read_all(pair.server, there);
    read_all(pair.client, back);
    await(pair.client, POLLOUT);
    await(pair.server, POLLOUT);
  }
}

// Too little is read for the sender to be told; time passes; then all is.
void test_little_read() {
  const Connection pair;
  long sent = fill(pair.client);
  long read = 0;
  const long few[] = {1, 100, 20000};
  for (const long bytes : few) {
    read_all(pair.server, bytes, read);
    read += bytes;
    sent += fill(pair.client, sent);
    check_sleep_us(600'000);
  }
  read_all(pair.server, sent - read, read);
  await(pair.client, POLLOUT);
  CHECK_EQ(fill(pair.client) > 0, true);
}

// Who watches for changes hears of room that he has missed, and of nothing else.
void test_news_of_room() {
  const Connection pair;
  const int watch = epoll_create1(0);
  epoll_event event = {};
  event.events = EPOLLOUT | EPOLLET;
  CHECK_EQ(epoll_ctl(watch, EPOLL_CTL_ADD, pair.client, &event), 0);
  CHECK_EQ(epoll_wait(watch, &event, 1, long_ms), 1);
  for (int i = 0; i < 10; ++i) {
    const unsigned char byte = static_cast<unsigned char>(i * 7);
    CHECK_EQ(send(pair.client, &byte, 1, 0), 1);
  }
  read_all(pair.server, 10);
  CHECK_EQ(epoll_wait(watch, &event, 1, 100), 0);
  const long sent = fill(pair.client);
  CHECK_EQ(epoll_wait(watch, &event, 1, 0), 0);
  read_all(pair.server, sent);
  CHECK_EQ(epoll_wait(watch, &event, 1, long_ms), 1);
  CHECK_EQ(event.events, EPOLLOUT);
  CHECK_EQ(close(watch), 0);
}

// What more is said to follow soon may wait for it, in a connection or a datagram.
void test_more_to_come() {
  const Connection pair;
  char text[8] = {};
  CHECK_EQ(send(pair.client, "ab", 2, MSG_MORE), 2);
  CHECK_EQ(send(pair.client, "cd", 2, 0), 2);
  CHECK_EQ(recv(pair.server, text, 4, MSG_WAITALL), 4);
  CHECK_EQ(memcmp(text, "abcd", 4), 0);
  set_option(pair.client, TCP_CORK, 1, IPPROTO_TCP);
  CHECK_EQ(send(pair.client, "ef", 2, 0), 2);
  set_option(pair.client, TCP_CORK, 0, IPPROTO_TCP);
  await(pair.server, POLLIN);
  CHECK_EQ(recv(pair.server, text, 8, 0), 2);
  CHECK_ERRNO(recv(pair.server, text, 8, MSG_ERRQUEUE), EAGAIN);
  CHECK_EQ(send(pair.client, "late", 4, MSG_MORE), 4);  // nothing follows
  CHECK_EQ(recv(pair.server, text, 4, MSG_WAITALL), 4);

  const int to = bound(SOCK_DGRAM), from = make_socket(SOCK_DGRAM);
  CHECK_EQ(connect(from, told_by(getsockname, to).get(), Address::size), 0);
  CHECK_EQ(send(from, "ab", 2, MSG_MORE), 2);
  CHECK_ERRNO(recv(to, text, 8, MSG_DONTWAIT), EAGAIN);
  CHECK_EQ(send(from, "cd", 2, 0), 2);
  CHECK_EQ(recv(to, text, 8, 0), 4);
  CHECK_EQ(memcmp(text, "abcd", 4), 0);
  CHECK_EQ(send(from, "gone", 4, MSG_MORE), 4);
  close_all({to, from});
}

// A byte more than a window of 256 KiB takes, and so little read that its sender asks again by itself.
void test_a_byte_too_many() {
  const Connection pair;
  const long sent = fill(pair.client, 0, (256 << 10) + 1);
  read_all(pair.server, 100);
  check_sleep_us(2'200'000);
  read_all(pair.server, sent - 100, 100);
  check_sleep_us(600'000);
  CHECK_EQ(send(pair.client, "x", 1, 0), 1);
}

void test_end_behind_a_full_window() {
  Connection pair;
  const long sent = fill(pair.client);
  Connection::end(pair.client);
  check_sleep_us(100'000);
  read_all(pair.server, sent);
  await(pair.server, POLLIN);
  char byte = 0;
  CHECK_EQ(recv(pair.server, &byte, 1, 0), 0);
  pair.client = make_socket();  // for its end
}

// A writer that waits, of a stream that is larger than any window, and whose reader is slow to begin.
void test_waiting_writer() {
  static int socket;
  constexpr static long total = 3'000'000;
  for (int late = 0; late < 2; ++late) {
    Connection pair;
    socket = pair.client;
    pthread_t thread = {};
    const auto write_all = [](void*) -> void* {
      static unsigned char bytes[total];
      for (long i = 0; i < total; ++i) bytes[i] = static_cast<unsigned char>(i * 7);
      CHECK_EQ(write(socket, bytes, total), total);
      CHECK_EQ(close(socket), 0);
      return nullptr;
    };
    CHECK_EQ(pthread_create(&thread, nullptr, write_all, nullptr), 0);
    if (late != 0) { check_sleep_us(700'000); }
    read_all(pair.server, total, 0, late != 0 ? 50000 : 3001);
    char byte = 0;
    CHECK_EQ(recv(pair.server, &byte, 1, 0), 0);
    CHECK_EQ(pthread_join(thread, nullptr), 0);
    pair.client = make_socket();  // for its end
  }
}

void test_small_pieces() {
  constexpr long count = 20000;
  const Connection pair;
  set_option(pair.client, TCP_NODELAY, 1, IPPROTO_TCP);
  for (long i = 0; i < count; ++i) {
    const unsigned char byte = static_cast<unsigned char>(i * 7);
    CHECK_EQ(send(pair.client, &byte, 1, 0), 1);
    if (i == count / 2) { read_all(pair.server, 77); }
  }
  read_all(pair.server, count - 77, 77);
  CHECK_ERRNO(recv(pair.server, nullptr, 0, MSG_DONTWAIT), EAGAIN);
}

// Who waits for more than there will ever be room for is told nevertheless.
void test_too_much_wanted() {
  const Connection pair;
  set_option(pair.server, SO_RCVLOWAT, 0x4000'0000);
  CHECK(fill(pair.client) > 0);
  await(pair.server, POLLIN);
}

// Connections that are reset before they are accepted count all the same.
void test_nobody_accepts() {
  constexpr int backlog = 4;
  const int listener = listening(backlog);
  const Address name = told_by(getsockname, listener);
  for (int i = 0; i < 50; ++i) {
    const int client = make_socket(SOCK_STREAM | SOCK_NONBLOCK);
    CHECK_ERRNO(connect(client, name.get(), Address::size), EINPROGRESS);
    (void)send(client, "some bytes", 10, MSG_NOSIGNAL);
    const linger at_once = {1, 0};
    CHECK_EQ(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    CHECK_EQ(close(client), 0);
  }
  CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
  int accepted = 0;
  for (int server; (server = accept(listener, nullptr, nullptr)) >= 0; ++accepted) CHECK_EQ(close(server), 0);
  CHECK_EQ(errno, EAGAIN);
  CHECK(accepted <= backlog + 1);
  CHECK_EQ(close(listener), 0);
}

// A socket that does not listen any more keeps its port, if it wanted that one.
void test_port_is_kept() {
  int listener = listening();
  const Address name = told_by(getsockname, listener);
  CHECK_EQ(close(listener), 0);
  listener = make_socket();
  CHECK_EQ(bind(listener, name.get(), Address::size), 0);
  CHECK_EQ(listen(listener, 1), 0);
  CHECK_EQ(shutdown(listener, SHUT_RD), 0);
  const int other = make_socket();
  CHECK_ERRNO(bind(other, name.get(), Address::size), EADDRINUSE);
  CHECK_EQ(listen(listener, 1), 0);
  const int client = connected_to(listener);
  close_all({listener, other, client});
}

// The server has ended its connection first, and remembers it; the same client comes again.
void test_same_addresses_again() {
  const int listener = listening();
  int client = bound();
  const Address own = told_by(getsockname, client);
  for (int round = 0; round < 2; ++round) {
    CHECK_EQ(connect(client, told_by(getsockname, listener).get(), Address::size), 0);
    const int server = accepted_by(listener);
    CHECK_EQ(close(server), 0);
    await(client, POLLIN);
    CHECK_EQ(close(client), 0);
    client = make_socket();
    set_option(client, SO_REUSEADDR, 1);
    CHECK_EQ(bind(client, own.get(), Address::size), 0);
  }
  close_all({client, listener});
}

void test_other_addresses_of_the_network() {
  const int silent = bound();
  const Address name(told_by(getsockname, silent).port(), INADDR_LOOPBACK + 1);
  const int client = make_socket();
  CHECK_ERRNO(connect(client, name.get(), Address::size), ECONNREFUSED);
  close_all({client, silent});
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("windowtest", argc, argv);
  for (long i = 0; i < check_effort; ++i) {
    test_both_full();
    test_little_read();
    test_news_of_room();
    test_more_to_come();
    test_a_byte_too_many();
    test_end_behind_a_full_window();
    test_waiting_writer();
    test_small_pieces();
    test_too_much_wanted();
    test_nobody_accepts();
    test_port_is_kept();
    test_same_addresses_again();
    test_other_addresses_of_the_network();
  }
  return check_done();
}
