// Traffic through UNIX sockets: long transfers, many messages in a call, clients that crowd a server. Nothing is lost.

#include "tests/check.h"

#include <pthread.h>
#include <sys/wait.h>

#include "tests/unix_sockets.h"

namespace {

// Enough for both to wait again and again: nothing is lost or changed.
void test_transfer(int type, bool all) {
  static int sockets[2];
  static long total;
  static int kind;
  CHECK_EQ(socketpair(AF_UNIX, type, 0, sockets), 0);
  total = 600000 * check_effort;
  kind = type;
  pthread_t thread;
  const auto run = [](void*) -> void* {
    static char out_bytes[9000];
    long sent = 0;
    for (unsigned round = 0; sent < total; ++round) {
      long now = static_cast<long>(round * 977 % sizeof out_bytes) + 1;
      if (now > total - sent) { now = total - sent; }
      for (long i = 0; i < now; ++i) out_bytes[i] = static_cast<char>((sent + i) * 31 >> 3);
      const ssize_t done = write(sockets[0], out_bytes, static_cast<size_t>(now));
      CHECK(done > 0 && (kind == SOCK_STREAM || done == now));
      sent += done;
    }
    CHECK_EQ(close(sockets[0]), 0);
    return nullptr;
  };
  CHECK_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  static char in_bytes[9000];
  long received = 0;
  for (;;) {
    const ssize_t now = recv(sockets[1], in_bytes, sizeof in_bytes, all ? MSG_WAITALL : 0);
    CHECK(now >= 0);
    if (now == 0) break;
    if (all && total - received >= static_cast<long>(sizeof in_bytes)) { CHECK_EQ(now, sizeof in_bytes); }
    bool same = true;
    for (long i = 0; i < now; ++i) same = same && in_bytes[i] == static_cast<char>((received + i) * 31 >> 3);
    CHECK(same);
    received += now;
  }
  CHECK_EQ(received, total);
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(close(sockets[1]), 0);
}

void test_many_messages() {
  Pair pair(SOCK_DGRAM);
  char texts[4][8] = {"a", "bb", "ccc", "dddd"};
  iovec pieces[4];
  mmsghdr headers[4] = {};
  for (unsigned i = 0; i < 4; ++i) {
    pieces[i] = {texts[i], i + 1};
    headers[i].msg_hdr.msg_iov = &pieces[i];
    headers[i].msg_hdr.msg_iovlen = 1;
  }
  CHECK_EQ(sendmmsg(pair.a, headers, 4, 0), 4);
  for (unsigned i = 0; i < 4; ++i) CHECK_EQ(headers[i].msg_len, i + 1);
  for (iovec& piece : pieces) piece.iov_len = 8;
  CHECK_EQ(recvmmsg(pair.b, headers, 3, 0, nullptr), 3);
  CHECK_EQ(headers[2].msg_len, 3);
  CHECK_EQ(recvmmsg(pair.b, headers, 4, MSG_WAITFORONE, nullptr), 1);
  CHECK_EQ(headers[0].msg_len, 4);
  CHECK_ERRNO(recvmmsg(pair.b, headers, 4, MSG_DONTWAIT, nullptr), EAGAIN);
}

// Programs that connect at once to a server with a short queue, many times over.
void test_server() {
  const Name name("@transfertest.crowd");
  constexpr int clients = 4;
  const long rounds = 40 * check_effort;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK_EQ(bind(listener, name.get(), name.size), 0);
  CHECK_EQ(listen(listener, 1), 0);
  pid_t children[clients];
  for (pid_t& child : children) {
    child = fork();
    CHECK(child >= 0);
    if (child != 0) continue;
    for (long i = 0; i < rounds; ++i) {
      const int own = socket(AF_UNIX, SOCK_STREAM, 0);
      CHECK_EQ(connect(own, name.get(), name.size), 0);
      long answer = 0;
      CHECK_EQ(write(own, &i, sizeof i), sizeof i);
      CHECK_EQ(recv(own, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
      CHECK_EQ(answer, i + 1);
      CHECK_EQ(close(own), 0);
    }
    _exit(0);
  }
  for (long i = 0; i < rounds * clients; ++i) {
    const int own = accept(listener, nullptr, nullptr);
    CHECK(own >= 0);
    long question = 0;
    CHECK_EQ(recv(own, &question, sizeof question, MSG_WAITALL), sizeof question);
    ++question;
    CHECK_EQ(write(own, &question, sizeof question), sizeof question);
    CHECK_EQ(close(own), 0);
  }
  for (pid_t child : children) {
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
  CHECK_EQ(close(listener), 0);
}
}  // namespace

int main(int argc, char** argv) {
  check_begin("transfertest", argc, argv);
  test_transfer(SOCK_STREAM, false);
  test_transfer(SOCK_STREAM, true);
  test_transfer(SOCK_SEQPACKET, false);
  test_many_messages();
  test_server();
  return check_done();
}
