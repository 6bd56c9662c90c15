// TCP over the loopback device: bytes both ways, transfers, full buffers, time limits, small messages, many clients, sendfile and splice.
// Names, errors and ends of connections: internetcalls.cpp; addresses in use, epoll: udptest.cpp. Sources: tcp(7), ip(7), socket(7).

#include "tests/internet_sockets.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace {

constexpr int unsent = 0x5411;  // SIOCOUTQ

pthread_t start(void* (*body)(void*), void* argument) {
  pthread_t thread = {};
  CHECK_EQ(pthread_create(&thread, nullptr, body, argument), 0);
  return thread;
}
void join(pthread_t thread) {
  CHECK_EQ(pthread_join(thread, nullptr), 0);
}

void test_bytes() {
  const Connection pair;
  char text[32] = {};
  CHECK_EQ(ready_of(pair.client), out);
  CHECK_EQ(write(pair.client, "hello", 5), 5);
  CHECK_EQ(send(pair.client, "world", 5, MSG_NOSIGNAL), 5);
  CHECK_EQ(recv(pair.server, text, 10, MSG_PEEK | MSG_WAITALL), 10);  // no boundaries
  CHECK_EQ(ready_of(pair.server), in | out);
  int bytes = 0;
  CHECK_EQ(ioctl(pair.server, FIONREAD, &bytes), 0);
  CHECK_EQ(bytes, 10);
  CHECK_EQ(read(pair.server, text, 3), 3);
  CHECK_EQ(recv(pair.server, text, sizeof text, 0), 7);
  CHECK_EQ(memcmp(text, "loworld", 7), 0);
  CHECK_ERRNO(recv(pair.server, text, 1, MSG_DONTWAIT), EAGAIN);
  CHECK_ERRNO(recv(pair.server, text, 1, MSG_DONTWAIT | MSG_PEEK), EAGAIN);
  CHECK_EQ(send(pair.client, "", 0, 0), 0);
  CHECK_ERRNO(recv(pair.server, text, 1, MSG_DONTWAIT), EAGAIN);
  for (bytes = -1; bytes != 0;) CHECK_EQ(ioctl(pair.client, unsent, &bytes), 0);  // all has arrived
  CHECK_EQ(ioctl(pair.server, FIONREAD, &bytes), 0);
  CHECK_EQ(bytes, 0);

  char first[] = "one", second[] = "", third[] = "three";
  iovec pieces[] = {{first, 3}, {second, 0}, {third, 5}};
  CHECK_EQ(writev(pair.server, pieces, 3), 8);
  msghdr message = {};
  message.msg_iov = pieces;
  message.msg_iovlen = 3;
  CHECK_EQ(sendmsg(pair.server, &message, 0), 8);
  CHECK_EQ(recv(pair.client, text, 16, MSG_PEEK | MSG_WAITALL), 16);
  CHECK_EQ(memcmp(text, "onethreeonethree", 16), 0);
  iovec places[] = {{text, 2}, {text + 16, 6}};
  CHECK_EQ(readv(pair.client, places, 2), 8);
  CHECK_EQ(memcmp(text + 16, "ethree", 6), 0);
  message.msg_iov = places;
  message.msg_iovlen = 2;
  Address name(0, 0);
  message.msg_name = &name.name;
  message.msg_namelen = Address::size;
  CHECK_EQ(recvmsg(pair.client, &message, 0), 8);
  CHECK_EQ(message.msg_namelen, 0);  // a connection's bytes come without the name
  CHECK_EQ(message.msg_flags, 0);
  // A name to send to does not matter in a connection.
  CHECK_EQ(sendto(pair.client, "x", 1, 0, Address(1).get(), Address::size), 1);
  CHECK_EQ(recv(pair.server, text, 1, 0), 1);

  // Neither waits: a mode of the descriptor, set in two ways.
  int on = 1;
  CHECK_EQ(ioctl(pair.server, FIONBIO, &on), 0);
  CHECK_EQ(fcntl(pair.server, F_GETFL), O_RDWR | O_NONBLOCK);
  CHECK_ERRNO(read(pair.server, text, 1), EAGAIN);
  CHECK_ERRNO(recv(pair.server, text, 1, MSG_WAITALL), EAGAIN);
  CHECK_EQ(fcntl(pair.client, F_SETFL, O_NONBLOCK), 0);
  CHECK_ERRNO(read(pair.client, text, 1), EAGAIN);
}

// MSG_WAITALL waits for pieces; the end of the file ends it.
void test_waiting_for_all() {
  Connection pair;
  const pthread_t thread = start(
      [](void* argument) -> void* {
        const int socket = *static_cast<int*>(argument);
        for (int i = 0; i < 5; ++i) {
          CHECK_EQ(send(socket, "1234", 4, 0), 4);
          check_sleep_us(2000);
        }
        CHECK_EQ(shutdown(socket, SHUT_WR), 0);
        return nullptr;
      },
      &pair.client);
  char text[32] = {};
  CHECK_EQ(recv(pair.server, text, 14, MSG_WAITALL), 14);
  CHECK_EQ(memcmp(text, "12341234123412", 14), 0);
  CHECK_EQ(recv(pair.server, text, sizeof text, MSG_WAITALL), 6);
  CHECK_EQ(recv(pair.server, text, sizeof text, MSG_WAITALL), 0);
  join(thread);
}

struct Direction {
  int from = -1, to = -1;
  long total = 0;
  unsigned seed = 0;
  [[nodiscard]] char byte_at(long position) const { return static_cast<char>((position * 31 >> 3) + seed); }
};

void* write_all(void* argument) {
  const Direction& way = *static_cast<Direction*>(argument);
  char bytes[9000];
  long sent = 0;
  for (unsigned round = 0; sent < way.total; ++round) {
    long now = static_cast<long>(round * 977 % sizeof bytes) + 1;
    if (now > way.total - sent) { now = way.total - sent; }
    for (long i = 0; i < now; ++i) bytes[i] = way.byte_at(sent + i);
    CHECK_EQ(write(way.from, bytes, static_cast<size_t>(now)), now);
    sent += now;
  }
  CHECK_EQ(shutdown(way.from, SHUT_WR), 0);
  return nullptr;
}

void* read_all(void* argument) {
  const Direction& way = *static_cast<Direction*>(argument);
  char bytes[30000];
  long received = 0;
  for (ssize_t now = 0; (now = read(way.to, bytes, sizeof bytes)) != 0; received += now) {
    CHECK(now > 0);
    bool same = true;
    for (long i = 0; i < now; ++i) same = same && bytes[i] == way.byte_at(received + i);
    CHECK(same);
  }
  CHECK_EQ(received, way.total);
  return nullptr;
}

// Several connections at once, both ways each, a thread at every end.
void test_transfer(int connections, long total, bool small) {
  constexpr int most = 4;
  const int listener = listening(most, small);
  Direction ways[2 * most];
  pthread_t threads[4 * most];
  for (int i = 0; i < connections; ++i) {
    const int client = connected_to(listener);
    const int server = accepted_by(listener);
    ways[2 * i] = {client, server, total * check_effort, static_cast<unsigned>(i)};
    ways[2 * i + 1] = {server, client, total * check_effort / 3, static_cast<unsigned>(i + 100)};
  }
  for (int i = 0; i < 2 * connections; ++i) {
    threads[2 * i] = start(write_all, &ways[i]);
    threads[2 * i + 1] = start(read_all, &ways[i]);
  }
  for (int i = 0; i < 4 * connections; ++i) join(threads[i]);
  for (int i = 0; i < 2 * connections; ++i) CHECK_EQ(close(ways[i].from), 0);
  CHECK_EQ(close(listener), 0);
}

// Writes until nothing more fits and nothing is on its way any more.
long fill(int socket) {
  static char bytes[20000];
  for (long total = 0;;) {
    const ssize_t now = send(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (now >= 0) {
      total += now;
      continue;
    }
    CHECK_EQ(errno, EAGAIN);
    pollfd polled = {socket, POLLOUT, 0};
    if (poll(&polled, 1, 100) == 0) { return total; }
  }
}

void drain(int socket, long total) {
  static char bytes[20000];
  while (total > 0) {
    const ssize_t now = recv(socket, bytes, sizeof bytes, 0);
    CHECK(now > 0);
    total -= now;
  }
  CHECK_EQ(total, 0);
}

void test_full(bool small) {
  const Connection pair(small);
  for (int round = 0; round < 2; ++round) {
    const long sent = fill(pair.client);
    CHECK(sent > 4000);
    CHECK(sent < (small ? 1'000'000 : 100'000'000));
    int bytes = 0;
    CHECK_EQ(ioctl(pair.client, unsent, &bytes), 0);
    CHECK(bytes >= 0);  // that the other end's system has not taken yet
    CHECK_EQ(ready_of(pair.server), in | out);  // the other direction is free
    drain(pair.server, sent);
    await(pair.client, POLLOUT);
  }
  CHECK_EQ(send(pair.client, "x", 1, 0), 1);
  drain(pair.server, 1);
}

// One call, for which there is no room by far, returns when all of it is under way.
void test_blocked_writer() {
  static int written;
  static Direction way;
  constexpr long total = 1'000'000;
  const Connection pair(true);
  way.from = pair.client;
  __atomic_store_n(&written, 0, __ATOMIC_SEQ_CST);
  const pthread_t thread = start(
      [](void*) -> void* {
        static char bytes[total];
        CHECK_EQ(write(way.from, bytes, total), total);
        __atomic_store_n(&written, 1, __ATOMIC_SEQ_CST);
        return nullptr;
      },
      nullptr);
  await(pair.server, POLLIN);
  check_sleep_us(20000);
  CHECK_EQ(__atomic_load_n(&written, __ATOMIC_SEQ_CST), 0);
  drain(pair.server, total);
  join(thread);
}

// Answers every question of `size` bytes with its first byte, until the end of the file.
struct Answers {
  int socket, size;
};
void* answer_all(void* argument) {
  const Answers& answers = *static_cast<Answers*>(argument);
  char question[16];
  for (ssize_t now; (now = recv(answers.socket, question, static_cast<size_t>(answers.size), MSG_WAITALL)) != 0;) {
    CHECK_EQ(now, answers.size);
    CHECK_EQ(send(answers.socket, question, 1, 0), 1);
  }
  return nullptr;
}

// Small messages go at once. Questions in two pieces do so where the sender asks for it, and arrive in any case.
void test_small_messages() {
  const auto ask = [](const Connection& pair, int number, int pieces) {
    const char question[] = {static_cast<char>(number), 'x'};
    for (int piece = 0; piece < pieces; ++piece) CHECK_EQ(send(pair.client, question + piece, 1, 0), 1);
    char answer = 0;
    CHECK_EQ(recv(pair.client, &answer, 1, 0), 1);
    CHECK_EQ(answer, question[0]);
  };
  for (int round = 0; round < 3; ++round) {
    const int pieces = round == 0 ? 1 : 2;
    const int times = round == 0 ? 2000 : round == 1 ? 200 : 5;
    Connection pair;
    if (round == 1) { set_option(pair.client, TCP_NODELAY, 1, IPPROTO_TCP); }
    Answers answers = {pair.server, pieces};
    const pthread_t thread = start(answer_all, &answers);
    const int64_t begin = check_now_ns();
    for (int i = 0; i < times; ++i) ask(pair, i, pieces);
    // A delayed acknowledgement takes 40 ms each.
    if (round == 0) { CHECK(check_now_ns() - begin < times * 30 * ms); }
    CHECK_EQ(shutdown(pair.client, SHUT_WR), 0);
    join(thread);
  }
}

// Many connect at once, and all are served.
void test_crowd() {
  constexpr int clients = 64;
  static int listener;
  listener = listening();
  pthread_t threads[clients];
  for (pthread_t& thread : threads) {
    const auto visit = [](void* own) -> void* {
      const int client = connected_to(listener);
      char answer[sizeof own];
      CHECK_EQ(write(client, &own, sizeof own), sizeof own);
      CHECK_EQ(recv(client, answer, sizeof answer, MSG_WAITALL), sizeof answer);
      CHECK_EQ(memcmp(answer, &own, sizeof own), 0);
      CHECK_EQ(recv(client, answer, 1, 0), 0);
      CHECK_EQ(close(client), 0);
      return nullptr;
    };
    thread = start(visit, &thread);
  }
  for (int i = 0; i < clients; ++i) {
    const int server = accepted_by(listener);
    char question[sizeof(void*)];
    CHECK_EQ(recv(server, question, sizeof question, MSG_WAITALL), sizeof question);
    CHECK_EQ(write(server, question, sizeof question), sizeof question);
    CHECK_EQ(close(server), 0);
  }
  for (const pthread_t thread : threads) join(thread);
  CHECK_EQ(close(listener), 0);
}

// Children that share a listener: each connection is accepted by one of them, until it gets one that says so.
void test_children() {
  constexpr int children = 4;
  const long visits = 100 * check_effort;
  const int listener = listening();
  pid_t numbers[children];
  for (pid_t& number : numbers) {
    number = fork();
    CHECK(number >= 0);
    if (number != 0) continue;
    for (char question = 0; question != 'q';) {
      const int server = accepted_by(listener);
      CHECK_EQ(recv(server, &question, 1, 0), 1);
      CHECK_EQ(send(server, &question, 1, 0), 1);
      CHECK_EQ(close(server), 0);
    }
    _exit(0);
  }
  for (long i = 0; i < visits + children; ++i) {
    const char question = i < visits ? 'x' : 'q';
    const int client = connected_to(listener);
    CHECK_EQ(send(client, &question, 1, 0), 1);
    char answer = 0;
    CHECK_EQ(recv(client, &answer, 1, 0), 1);
    CHECK_EQ(answer, question);
    CHECK_EQ(close(client), 0);
  }
  for (const pid_t number : numbers) {
    int status = -1;
    CHECK_EQ(waitpid(number, &status, 0), number);
    CHECK_EQ(status, 0);
  }
  CHECK_EQ(close(listener), 0);
}

// From a file by sendfile, and through a pipe on both sides.
void test_without_copies() {
  constexpr long total = 300'000;
  static char bytes[total];
  Connection pair;
  Direction way = {-1, pair.server, total, 7};
  for (long i = 0; i < total; ++i) bytes[i] = way.byte_at(i);
  char path[] = "/tmp/tcptestXXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0);
  CHECK_EQ(unlink(path), 0);
  CHECK_EQ(write(file, bytes, total), total);
  const pthread_t thread = start(read_all, &way);
  for (off_t at = 0; at < total;) CHECK(sendfile(pair.client, file, &at, static_cast<size_t>(total - at)) > 0);
  CHECK_EQ(shutdown(pair.client, SHUT_WR), 0);
  join(thread);

  int ends[2];
  char text[16] = {};
  CHECK_EQ(pipe(ends), 0);
  Connection::end(pair.client);
  Connection other;
  CHECK_EQ(write(ends[1], "through", 7), 7);
  CHECK_EQ(splice(ends[0], nullptr, other.client, nullptr, 100, 0), 7);
  CHECK_EQ(splice(other.server, nullptr, ends[1], nullptr, 100, 0), 7);
  CHECK_EQ(read(ends[0], text, sizeof text), 7);
  CHECK_EQ(memcmp(text, "through", 7), 0);
  CHECK_EQ(fcntl(other.server, F_SETFL, O_NONBLOCK), 0);  // SPLICE_F_NONBLOCK means the pipe only
  CHECK_ERRNO(splice(other.server, nullptr, ends[1], nullptr, 100, 0), EAGAIN);
  Connection::end(other.client);
  await(other.server, POLLIN);
  CHECK_EQ(splice(other.server, nullptr, ends[1], nullptr, 100, 0), 0);
  close_all({ends[0], ends[1], file});
}

void test_time_limits() {
  const Connection pair(true);
  const timeval limit = {0, 30000};
  CHECK_EQ(setsockopt(pair.client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  CHECK_EQ(setsockopt(pair.client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
  char byte = 0;
  int64_t begin = check_now_ns();
  CHECK_ERRNO(recv(pair.client, &byte, 1, 0), EAGAIN);
  CHECK(check_now_ns() - begin >= 29 * ms);
  static char large[100000];
  do { begin = check_now_ns(); } while (write(pair.client, large, sizeof large) > 0);  // what got in until then
  CHECK_EQ(errno, EAGAIN);
  CHECK(check_now_ns() - begin >= 29 * ms);
  const int listener = listening();
  CHECK_EQ(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  begin = check_now_ns();
  CHECK_ERRNO(accept(listener, nullptr, nullptr), EAGAIN);
  CHECK(check_now_ns() - begin >= 29 * ms);
  CHECK_EQ(close(listener), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("tcptest", argc, argv);
  test_bytes();
  test_waiting_for_all();
  test_transfer(1, 4'000'000, false);
  test_transfer(4, 1'000'000, false);
  test_transfer(1, 300'000, true);
  test_full(true);
  test_full(false);
  test_blocked_writer();
  test_time_limits();
  test_small_messages();
  test_crowd();
  test_children();
  test_without_copies();
  return check_done();
}
