// Processes wait for connections at one listener. One that has no descriptor left for the connection leaves it to the others. (On Linux
// it has had one since it began to wait, and takes it.)
#include <sys/resource.h>

#include "tests/children.h"
#include "tests/internet_sockets.h"
#include "tests/unix_sockets.h"

namespace {

int unix_listener() {
  const Name name("@acceptortest");
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK_EQ(bind(listener, name.get(), name.size), 0);
  CHECK_EQ(listen(listener, 5), 0);
  return listener;
}

int connected_to_unix(int) {
  const Name name("@acceptortest");
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK_EQ(connect(client, name.get(), name.size), 0);
  return client;
}

pid_t acceptor(int listener) {
  const pid_t process = children::spawn([&] {
    const int server = accept(listener, nullptr, nullptr);
    if (server >= 0) {
      CHECK_EQ(write(server, "x", 1), 1);
    } else {
      CHECK_EQ(errno, EMFILE);
    }
    return 0;
  });
  children::await_sleep(process);
  return process;
}

void test_no_room(int (*make)(), int (*connect_to)(int)) {
  const int listener = make();
  const pid_t first = acceptor(listener);
  const pid_t second = acceptor(listener);
  const rlimit none = {static_cast<rlim_t>(listener) + 1, static_cast<rlim_t>(listener) + 1};
  CHECK_EQ(prlimit(first, RLIMIT_NOFILE, &none, nullptr), 0);
  const int client = connect_to(listener);
  await(client, POLLIN);
  char byte = 0;
  CHECK_EQ(read(client, &byte, 1), 1);
  CHECK_EQ(byte, 'x');
  children::expect_exit(first, 0);
  CHECK_EQ(kill(second, SIGKILL), 0);
  (void)children::wait_for(second);
  CHECK_EQ(close(client), 0);
  CHECK_EQ(close(listener), 0);
}

int plain_listener() {
  return listening();
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("acceptortest", argc, argv);
  for (int i = 0; i < 10 * check_effort; ++i) {
    test_no_room(unix_listener, connected_to_unix);
    test_no_room(plain_listener, connected_to);
  }
  return check_done();
}
