// Threads that do anything at random to the same few sockets, TCP and UDP: what comes of a call is not known, only that the system lives,
// that no call that should not wait does, and that nothing is left in the end. The first argument scales the effort, as elsewhere.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "tests/internet_sockets.h"

namespace {

constexpr int sockets = 12, threads = 4, ports = 4;
int files[sockets];  // descriptors that stay the same while what they stand for changes
unsigned first_port;
long rounds;

class Chance {
 public:
  explicit Chance(uint64_t seed) : state_{seed * 0x9e3779b97f4a7c15 + 1} {}
  unsigned below(unsigned limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<unsigned>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

int make_random(Chance& chance) {
  const int type = chance.below(3) == 0 ? SOCK_DGRAM : SOCK_STREAM;
  return make_socket(type | SOCK_NONBLOCK | SOCK_CLOEXEC);
}

Address some_address(Chance& chance) {
  const unsigned hosts[] = {INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_LOOPBACK, INADDR_ANY, INADDR_LOOPBACK + 5};
  return Address(chance.below(10) == 0 ? 0 : first_port + chance.below(ports), hosts[chance.below(5)]);
}

void set_something(Chance& chance, int file) {
  const int value = static_cast<int>(chance.below(3));
  const linger waits = {static_cast<int>(chance.below(2)), 0};
  switch (chance.below(5)) {
    case 0: (void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &value, sizeof value); break;
    case 1: (void)setsockopt(file, SOL_SOCKET, SO_LINGER, &waits, sizeof waits); break;
    case 2: (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value); break;
    case 3: (void)setsockopt(file, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value); break;
    default: (void)setsockopt(file, SOL_SOCKET, SO_BROADCAST, &value, sizeof value); break;
  }
}

// Replaces a descriptor's socket; whoever is in a call with the old one goes on with that.
void replace(int file, int by) {
  if (by < 0) { return; }
  CHECK_EQ(dup3(by, file, O_CLOEXEC), file);
  CHECK_EQ(close(by), 0);
}

void do_something(Chance& chance) {
  static const char bytes[70000] = "what is sent";
  char room[5000];
  const int file = files[chance.below(sockets)];
  const Address address = some_address(chance);
  Address told(0);
  socklen_t size = Address::size;
  const sockaddr nobody = {};
  const size_t sizes[] = {0, 1, 100, 3000, 65507, 70000};
  switch (chance.below(20)) {
    case 0: replace(file, make_random(chance)); break;
    case 1:
    case 2: (void)bind(file, address.get(), Address::size); break;
    case 3:
    case 4: (void)listen(file, static_cast<int>(chance.below(6))); break;
    case 5:
    case 6:
    case 7: (void)connect(file, address.get(), Address::size); break;
    case 8:
    case 9: replace(files[chance.below(sockets)], accept4(file, told.place(), &size, SOCK_NONBLOCK)); break;
    case 10:
    case 11:
    case 12: (void)send(file, bytes, sizes[chance.below(6)], MSG_NOSIGNAL); break;
    case 13: (void)sendto(file, bytes, sizes[chance.below(5)], MSG_NOSIGNAL, address.get(), Address::size); break;
    case 14:
    case 15: (void)recv(file, room, chance.below(sizeof room), chance.below(4) == 0 ? MSG_PEEK : 0); break;
    case 16: (void)shutdown(file, static_cast<int>(chance.below(3))); break;
    case 17: (void)connect(file, &nobody, sizeof nobody); break;  // AF_UNSPEC: disconnects
    case 18: set_something(chance, file); break;
    default:
      (void)ready_of(file);
      (void)getpeername(file, told.place(), &size);
      int number = 0;
      (void)ioctl(file, FIONREAD, &number);
  }
}

void* rage(void* argument) {
  Chance chance(reinterpret_cast<uintptr_t>(argument));
  for (long i = 0; i < rounds; ++i) do_something(chance);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("socketchaos", argc, argv);
  CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  const int probe = bound();
  first_port = told_by(getsockname, probe).port();
  if (first_port > 65000) { first_port -= 100; }
  CHECK_EQ(close(probe), 0);
  rounds = 4000 * check_effort;
  for (uintptr_t turn = 0; turn < 3; ++turn) {
    Chance chance(turn + 100);
    for (int& file : files) file = make_random(chance);
    pthread_t started[threads];
    for (uintptr_t i = 0; i < threads; ++i) {
      CHECK_EQ(pthread_create(&started[i], nullptr, rage, reinterpret_cast<void*>(turn * threads + i + 1)), 0);
    }
    for (const pthread_t thread : started) CHECK_EQ(pthread_join(thread, nullptr), 0);
    for (const int file : files) CHECK_EQ(close(file), 0);
    const Connection pair;  // connections can be made as ever
    CHECK_EQ(send(pair.client, "x", 1, 0), 1);
    char byte = 0;
    CHECK_EQ(recv(pair.server, &byte, 1, 0), 1);
  }
  return check_done();
}
