// /proc/net/tcp, udp, unix and dev: the sockets of this program are found there by port or name and by the number of their file,
// with their state, their queues and their owner, in lines that are as wide as Linux's. Source: proc_pid_net(5).

#include "tests/internet_sockets.h"
#include "tests/unix_sockets.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace {

char text[4 << 20];

// What the file holds.
void take(const char* path) {
  FILE* const file = fopen(path, "re");
  CHECK(file != nullptr);
  const size_t size = fread(text, 1, sizeof text - 1, file);
  CHECK(size > 0 && size < sizeof text - 1);
  CHECK_EQ(ferror(file), 0);
  text[size] = 0;
  CHECK_EQ(fclose(file), 0);
}

unsigned long number_of(int file) {
  struct stat status = {};
  CHECK_EQ(fstat(file, &status), 0);
  char path[64], target[64] = {}, expected[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  CHECK(readlink(path, target, sizeof target - 1) > 0);
  snprintf(expected, sizeof expected, "socket:[%lu]", static_cast<unsigned long>(status.st_ino));
  CHECK_EQ(strcmp(target, expected), 0);
  return status.st_ino;
}

// ---- tcp, udp ------------------------------------------------------------------------------------------------------------

constexpr unsigned established = 1, finished = 5, remembered = 6, closed = 7, peer_finished = 8, listens = 10;
constexpr unsigned own_host = 0x0100007f;  // 127.0.0.1, as a number of this machine

struct Row {
  unsigned local_host, local_port, peer_host, peer_port, state, to_send, to_read, owner;
  unsigned long file;
  unsigned long lost;  // udp
  bool found;
};

// The socket between these ports: the only one.
Row row_of(const char* path, unsigned local, unsigned peer) {
  static const char heading[] = "local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
  const bool udp = strstr(path, "udp") != nullptr;
  const size_t width = udp ? 127 : 149;
  Row found = {};
  take(path);
  CHECK_EQ(strncmp(text, udp ? "   sl  " : "  sl  ", udp ? 7 : 6), 0);
  CHECK_EQ(strncmp(text + (udp ? 7 : 6), heading, sizeof heading - 1), 0);
  for (const char *line = text, *end = nullptr; *line != 0; line = end + 1) {
    end = strchr(line, '\n');
    CHECK(end != nullptr);
    CHECK_EQ(end - line, width);
    if (line == text) continue;
    Row row = {};
    unsigned timer = 0, repeats = 0, waits = 0, references = 0;
    unsigned long when = 0;
    int taken = 0;
    CHECK_EQ(sscanf(line, "%*d: %8X:%4X %8X:%4X %2X %8X:%8X %2X:%8lX %8X %u %u %lu %u %*s %n", &row.local_host, &row.local_port,
                    &row.peer_host, &row.peer_port, &row.state, &row.to_send, &row.to_read, &timer, &when, &repeats, &row.owner,
                    &waits, &row.file, &references, &taken),
             14);
    CHECK(references > 0);
    if (udp) { CHECK_EQ(sscanf(line + taken, "%lu", &row.lost), 1); }
    if (row.local_port != local || row.peer_port != peer) continue;
    CHECK(!found.found);
    found = row;
    found.found = true;
  }
  return found;
}

Row tcp(unsigned local, unsigned peer) {
  return row_of("/proc/net/tcp", local, peer);
}
Row udp(unsigned local, unsigned peer) {
  return row_of("/proc/self/net/udp", local, peer);
}

// The same once it has got there.
Row tcp_at(unsigned state, unsigned local, unsigned peer) {
  const int64_t start = check_now_ns();
  for (;;) {
    const Row row = tcp(local, peer);
    if (row.found && row.state == state) { return row; }
    CHECK(check_now_ns() - start < long_ms * ms);
    check_sleep_us(1000);
  }
}

void test_tcp() {
  const int listener = listening(), silent = bound();
  const unsigned port = told_by(getsockname, listener).port(), none = told_by(getsockname, silent).port();
  CHECK(!tcp(none, 0).found);  // it does nothing yet
  Row row = tcp(port, 0);
  CHECK(row.found);
  CHECK_EQ(row.local_host, own_host);
  CHECK_EQ(row.peer_host, 0);
  CHECK_EQ(row.state, listens);
  CHECK_EQ(row.to_read, 0);
  CHECK_EQ(row.owner, geteuid());
  CHECK_EQ(row.file, number_of(listener));

  int client = connected_to(listener);
  const unsigned other = told_by(getsockname, client).port();
  await(listener, POLLIN);
  CHECK_EQ(tcp(port, 0).to_read, 1);  // a connection to accept
  CHECK_EQ(tcp_at(established, port, other).file, 0);  // which no file has
  row = tcp(other, port);
  CHECK(row.found);
  CHECK_EQ(row.state, established);
  CHECK_EQ(row.local_host, own_host);
  CHECK_EQ(row.peer_host, own_host);
  CHECK_EQ(row.owner, geteuid());
  CHECK_EQ(row.file, number_of(client));
  const int server = accepted_by(listener);
  CHECK_EQ(tcp(port, 0).to_read, 0);
  row = tcp(port, other);
  CHECK_EQ(row.file, number_of(server));
  CHECK_EQ(row.to_read, 0);

  CHECK_EQ(send(client, "hello", 5, 0), 5);
  await(server, POLLIN);
  CHECK_EQ(tcp(port, other).to_read, 5);
  char bytes[8];
  CHECK_EQ(recv(server, bytes, 2, 0), 2);
  CHECK_EQ(tcp(port, other).to_read, 3);
  CHECK_EQ(recv(server, bytes, sizeof bytes, 0), 3);

  // The client ends it first, and the connection outlives its file.
  Connection::end(client);
  CHECK_EQ(tcp_at(peer_finished, port, other).file, number_of(server));
  CHECK_EQ(tcp_at(finished, other, port).file, 0);
  const int64_t end = check_now_ns();
  CHECK_EQ(close(server), 0);
  do { row = tcp(other, port); } while (row.found && row.state != remembered && check_now_ns() - end < long_ms * ms);
  CHECK(row.found || check_now_ns() - end > 500 * ms);  // it is remembered for a while
  if (row.found) {
    CHECK_EQ(row.state, remembered);
    CHECK_EQ(row.file, 0);
    CHECK_EQ(row.to_send, 0);
  }
  CHECK(!tcp(port, other).found);
  CHECK(tcp(port, 0).found);
  close_all({listener, silent});
  CHECK(!tcp(port, 0).found);
}

void test_udp() {
  const int a = bound(SOCK_DGRAM), b = make_socket(SOCK_DGRAM);
  const unsigned port = told_by(getsockname, a).port();
  Row row = udp(port, 0);
  CHECK(row.found);
  CHECK_EQ(row.local_host, own_host);
  CHECK_EQ(row.state, closed);  // not connected
  CHECK_EQ(row.owner, geteuid());
  CHECK_EQ(row.file, number_of(a));
  CHECK_EQ(row.to_read, 0);
  CHECK_EQ(connect(b, Address(port).get(), Address::size), 0);
  const unsigned other = told_by(getsockname, b).port();
  row = udp(other, port);
  CHECK(row.found);
  CHECK_EQ(row.state, established);
  CHECK_EQ(row.local_host, own_host);
  CHECK_EQ(row.peer_host, own_host);
  CHECK_EQ(row.file, number_of(b));
  CHECK_EQ(send(b, "hello", 5, 0), 5);
  await(a, POLLIN);
  CHECK(udp(port, 0).to_read >= 5);  // with what it costs to keep it
  set_option(a, SO_RCVBUF, 4096);
  for (int i = 0; i < 200; ++i) CHECK_EQ(send(b, "hello", 5, 0), 5);
  CHECK(udp(port, 0).lost > 0);
  close_all({a, b});
  CHECK(!udp(port, 0).found);
}

// It is who made it, whoever looks.
void test_owner() {
  if (geteuid() != 0) { return; }
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_EQ(setresuid(1001, 1001, 1001), 0);
    const int own[] = {listening(), bound(SOCK_DGRAM)};
    CHECK_EQ(tcp(told_by(getsockname, own[0]).port(), 0).owner, 1001);
    CHECK_EQ(udp(told_by(getsockname, own[1]).port(), 0).owner, 1001);
    _exit(0);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

// ---- unix ----------------------------------------------------------------------------------------------------------------

// The line of the socket: flags, type, state, and the rest of it.
struct UnixRow {
  unsigned flags, type, state;
  char path[128];
};
UnixRow unix_row(int socket) {
  const unsigned long wanted = number_of(socket);
  take("/proc/net/unix");
  const char heading[] = "Num       RefCount Protocol Flags    Type St Inode Path\n";
  CHECK_EQ(strncmp(text, heading, sizeof heading - 1), 0);
  for (const char *line = text + sizeof heading - 1, *end = nullptr; *line != 0; line = end + 1) {
    end = strchr(line, '\n');
    CHECK(end != nullptr);
    UnixRow row = {};
    unsigned references = 0, protocol = 0;
    unsigned long file = 0;
    int taken = 0;
    CHECK_EQ(sscanf(line, "%*16x: %8X %8X %8X %4X %2X %lu%n", &references, &protocol, &row.flags, &row.type, &row.state, &file,
                    &taken),
             6);
    if (file != wanted) continue;
    snprintf(row.path, sizeof row.path, "%.*s", static_cast<int>(end - line - taken), line + taken);
    return row;
  }
  CHECK(false);
  return {};
}

void expect_unix(int socket, unsigned flags, unsigned type, unsigned state, const char* path) {
  const UnixRow row = unix_row(socket);
  CHECK_EQ(row.flags, flags);
  CHECK_EQ(row.type, type);
  CHECK_EQ(row.state, state);
  CHECK_EQ(strcmp(row.path, path), 0);
}

void test_unix() {
  constexpr unsigned accepting = 0x10000, unconnected = 1, connected = 3;
  const Pair pair(SOCK_DGRAM);
  expect_unix(pair.a, 0, SOCK_DGRAM, connected, "");
  const char* const paths[] = {"@netfilestest", "/tmp/netfilestest.socket"};
  for (const char* const path : paths) {
    char shown[64];
    snprintf(shown, sizeof shown, " %s", path);
    const Name name(path);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    expect_unix(client, 0, SOCK_STREAM, unconnected, "");
    unlink(path);
    CHECK_EQ(bind(listener, name.get(), name.size), 0);
    expect_unix(listener, 0, SOCK_STREAM, unconnected, shown);
    CHECK_EQ(listen(listener, 1), 0);
    expect_unix(listener, accepting, SOCK_STREAM, unconnected, shown);
    CHECK_EQ(connect(client, name.get(), name.size), 0);
    const int server = accept(listener, nullptr, nullptr);
    expect_unix(client, 0, SOCK_STREAM, connected, "");
    expect_unix(server, 0, SOCK_STREAM, connected, shown);
    close_all({listener, client, server});
    unlink(path);
  }
}

// ---- dev -----------------------------------------------------------------------------------------------------------------

struct Traffic {
  unsigned long bytes, packets, sent_bytes, sent_packets;
};
Traffic loopback() {
  take("/proc/net/dev");
  const char heading[] =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
      "compressed\n";
  CHECK_EQ(strncmp(text, heading, sizeof heading - 1), 0);
  const char* const line = strstr(text, "    lo:");
  CHECK(line != nullptr);
  Traffic told = {};
  CHECK_EQ(sscanf(line, " lo: %lu %lu 0 0 0 0 0 0 %lu %lu 0 0 0 0 0 0", &told.bytes, &told.packets, &told.sent_bytes,
                  &told.sent_packets),
           4);
  CHECK_EQ(told.bytes, told.sent_bytes);
  CHECK_EQ(told.packets, told.sent_packets);
  return told;
}

void test_traffic() {
  constexpr unsigned size = 1000, packets = 10, header = 28;
  const char bytes[size] = {};
  const int a = bound(SOCK_DGRAM), b = make_socket(SOCK_DGRAM);
  CHECK_EQ(connect(b, told_by(getsockname, a).get(), Address::size), 0);
  const Traffic before = loopback();
  for (unsigned i = 0; i < packets; ++i) CHECK_EQ(send(b, bytes, size, 0), size);
  const Traffic after = loopback();
  CHECK(after.packets >= before.packets + packets);
  CHECK(after.bytes >= before.bytes + packets * (size + header));
  close_all({a, b});
}

void test_place() {
  char target[32] = {};
  CHECK(readlink("/proc/net", target, sizeof target - 1) > 0);
  CHECK_EQ(strcmp(target, "self/net"), 0);
  struct stat status = {};
  CHECK_EQ(stat("/proc/net/tcp", &status), 0);
  CHECK_EQ(status.st_mode, S_IFREG | 0444);
  take("/proc/net/raw");
  CHECK_EQ(strncmp(text, "  sl  local_address rem_address ", 32), 0);
}

// What ioctl tells of the loopback interface. Hosts have others, too.
void test_interface() {
  constexpr int loopback_hardware = 772;
  const auto ask = [](int socket, unsigned request) {
    ifreq asked = {};
    strcpy(asked.ifr_name, "lo");
    CHECK_EQ(ioctl(socket, static_cast<int>(request), &asked), 0);
    return asked;
  };
  const auto host = [](const sockaddr& told) {
    CHECK_EQ(told.sa_family, AF_INET);
    return ntohl(reinterpret_cast<const sockaddr_in&>(told).sin_addr.s_addr);
  };
  const int internet = make_socket(SOCK_DGRAM), local = socket(AF_UNIX, SOCK_DGRAM, 0);
  const int both[] = {internet, local};
  for (const int each : both) {
    CHECK_EQ(ask(each, SIOCGIFFLAGS).ifr_flags & (IFF_UP | IFF_LOOPBACK), IFF_UP | IFF_LOOPBACK);
    CHECK(ask(each, SIOCGIFMTU).ifr_mtu >= 1500);
    CHECK_EQ(ask(each, SIOCGIFHWADDR).ifr_hwaddr.sa_family, loopback_hardware);
    ifreq asked = {};
    asked.ifr_ifindex = ask(each, SIOCGIFINDEX).ifr_ifindex;
    CHECK_EQ(ioctl(each, SIOCGIFNAME, &asked), 0);
    CHECK_EQ(strcmp(asked.ifr_name, "lo"), 0);
    asked.ifr_ifindex = 12345;
    CHECK_ERRNO(ioctl(each, SIOCGIFNAME, &asked), ENODEV);
    strcpy(asked.ifr_name, "missing");
    CHECK_ERRNO(ioctl(each, SIOCGIFFLAGS, &asked), ENODEV);
    CHECK_ERRNO(ioctl(each, SIOCGIFFLAGS, reinterpret_cast<void*>(8)), EFAULT);
  }
  CHECK_EQ(host(ask(internet, SIOCGIFADDR).ifr_addr), INADDR_LOOPBACK);
  CHECK_EQ(host(ask(internet, SIOCGIFNETMASK).ifr_netmask), 0xff000000);
  ifreq found[8] = {};
  ifconf list = {};
  list.ifc_len = sizeof found;
  list.ifc_req = found;
  CHECK_EQ(ioctl(internet, SIOCGIFCONF, &list), 0);
  bool there = false;
  for (int i = 0; i < list.ifc_len / static_cast<int>(sizeof(ifreq)); ++i) there |= strcmp(found[i].ifr_name, "lo") == 0;
  CHECK(there);
  list.ifc_req = nullptr;
  CHECK_EQ(ioctl(internet, SIOCGIFCONF, &list), 0);
  CHECK(list.ifc_len >= static_cast<int>(sizeof(ifreq)));
  close_all({internet, local});
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("netfilestest", argc, argv);
  test_place();
  test_tcp();
  test_udp();
  test_owner();
  test_unix();
  test_traffic();
  test_interface();
  return check_done();
}
