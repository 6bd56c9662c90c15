// TCP_INFO: in what state a connection is, how many bytes have gone, and what does not fit into the room that is given. Source: tcp(7),
// Linux include/uapi/linux/tcp.h.

#include "tests/internet_sockets.h"

#include <netinet/tcp.h>

namespace {

// The newer half of the structure, which the C library's header does not have.
constexpr unsigned least_size = 232;  // Linux 6.1
constexpr unsigned acknowledged_at = 120, received_at = 128, not_sent_at = 144, sent_at = 200;

struct Info {
  union {
    tcp_info old;
    unsigned char bytes[512];
  };
  socklen_t size = sizeof bytes;
  explicit Info(int socket) : bytes{} { CHECK_EQ(getsockopt(socket, IPPROTO_TCP, TCP_INFO, bytes, &size), 0); }
  [[nodiscard]] uint64_t at(unsigned place) const {
    uint64_t value = 0;
    memcpy(&value, bytes + place, sizeof value);
    return value;
  }
};

void test_states() {
  const int fresh = make_socket();
  CHECK_EQ(Info(fresh).old.tcpi_state, TCP_CLOSE);
  CHECK(Info(fresh).size >= least_size);
  CHECK_EQ(close(fresh), 0);

  const int listener = listening(5);
  CHECK_EQ(Info(listener).old.tcpi_state, TCP_LISTEN);
  CHECK_EQ(Info(listener).old.tcpi_unacked, 0);
  CHECK_EQ(Info(listener).old.tcpi_sacked, 5);
  const int client = connected_to(listener);
  await(listener, POLLIN);
  CHECK_EQ(Info(listener).old.tcpi_unacked, 1);  // waits to be accepted
  CHECK_EQ(Info(client).old.tcpi_state, TCP_ESTABLISHED);
  const int server = accepted_by(listener);
  CHECK_EQ(Info(listener).old.tcpi_unacked, 0);
  CHECK_EQ(Info(server).old.tcpi_state, TCP_ESTABLISHED);
  CHECK((Info(server).old.tcpi_options & TCPI_OPT_WSCALE) != 0);

  CHECK_EQ(shutdown(client, SHUT_WR), 0);
  await(server, POLLRDHUP);
  CHECK_EQ(Info(server).old.tcpi_state, TCP_CLOSE_WAIT);
  while (Info(client).old.tcpi_state == TCP_FIN_WAIT1) check_sleep_us(1000);
  CHECK_EQ(Info(client).old.tcpi_state, TCP_FIN_WAIT2);
  close_all({server, client, listener});
}

void test_bytes() {
  const Connection pair;
  CHECK_EQ(write(pair.client, "hello", 5), 5);
  char text[8] = {};
  CHECK_EQ(recv(pair.server, text, 3, MSG_WAITALL), 3);
  while (Info(pair.client).old.tcpi_unacked != 0) check_sleep_us(1000);
  const Info client(pair.client), server(pair.server);
  CHECK_EQ(client.at(sent_at), 5);
  CHECK(client.at(acknowledged_at) - 5 <= 1);  // Linux counts the connection's beginning
  CHECK_EQ(client.at(received_at), 0);
  CHECK_EQ(server.at(received_at), 5);  // also what was not read
  CHECK_EQ(client.old.tcpi_retransmits, 0);
  CHECK(client.old.tcpi_rto > 0 && client.old.tcpi_snd_cwnd > 0 && client.old.tcpi_snd_mss >= 536);
}

// A direction that has ended before all of it could be sent: the end is no byte.
void test_end() {
  const Connection pair(true);
  static char bytes[65536];
  uint64_t written = 0;
  for (ssize_t more = 0; more >= 0;) {
    more = send(pair.client, bytes, sizeof bytes, MSG_DONTWAIT);
    if (more > 0) written += static_cast<uint64_t>(more);
  }
  CHECK_EQ(shutdown(pair.client, SHUT_WR), 0);
  const Info client(pair.client);
  uint32_t waiting = 0;
  memcpy(&waiting, client.bytes + not_sent_at, sizeof waiting);
  CHECK(client.old.tcpi_state == TCP_FIN_WAIT1 || client.old.tcpi_state == TCP_FIN_WAIT2);
  CHECK_EQ(client.at(sent_at) + waiting, written + (waiting > 0 ? 1 : 0));
  CHECK(client.at(acknowledged_at) <= client.at(sent_at) + 1);
}

void test_room() {
  const Connection pair;
  unsigned char text[8];
  memset(text, 0xee, sizeof text);
  socklen_t size = 1;
  CHECK_EQ(getsockopt(pair.client, IPPROTO_TCP, TCP_INFO, text, &size), 0);
  CHECK_EQ(size, 1);
  CHECK_EQ(text[0], TCP_ESTABLISHED);
  CHECK_EQ(text[1], 0xee);
  size = 0;
  CHECK_EQ(getsockopt(pair.client, IPPROTO_TCP, TCP_INFO, nullptr, &size), 0);
  CHECK_EQ(size, 0);
  size = static_cast<socklen_t>(-1);
  CHECK_ERRNO(getsockopt(pair.client, IPPROTO_TCP, TCP_INFO, text, &size), EINVAL);
  size = sizeof text;
  CHECK_ERRNO(getsockopt(pair.client, IPPROTO_TCP, TCP_INFO, nullptr, &size), EFAULT);
  CHECK_ERRNO(setsockopt(pair.client, IPPROTO_TCP, TCP_INFO, text, sizeof text), ENOPROTOOPT);
  const int datagrams = make_socket(SOCK_DGRAM);
  CHECK_ERRNO(getsockopt(datagrams, IPPROTO_TCP, TCP_INFO, text, &size), EOPNOTSUPP);
  CHECK_EQ(close(datagrams), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("tcpinfotest", argc, argv);
  test_states();
  test_bytes();
  test_end();
  test_room();
  return check_done();
}
