// Turns between two processes or threads of one core: the copy and its partner, which inherits the core.
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

namespace {

// futex(2); musl has no header for it.
constexpr int futex_wait_private = 0 | 128;
constexpr int futex_wake_private = 1 | 128;

// Sends back each byte that comes, until the other end is closed.
[[noreturn]] void echo(int from, int to) {
  char byte;
  while (read(from, &byte, 1) == 1) {
    if (write(to, &byte, 1) != 1) _exit(1);
  }
  _exit(0);
}

void ping(Run& run, int from, int to, long round_trips) {
  char byte = 1;
  while (run.next_round()) {
    run.start();
    for (long i = 0; i < round_trips; ++i) {
      if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) run.failed("round trip");
    }
    run.stop();
  }
}

void end(Run& run, pid_t partner) {
  kill(partner, SIGKILL);
  if (waitpid(partner, nullptr, 0) != partner) run.failed("waitpid");
}

struct Turns {
  int word[2];  // 1: it is this one's turn; atomic
  long left;    // turns of the partner
};

void give_turn(Turns& turns, int to) {
  __atomic_store_n(&turns.word[to], 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &turns.word[to], futex_wake_private, 1, nullptr, nullptr, 0);
}

void take_turn(Turns& turns, int who) {
  while (__atomic_load_n(&turns.word[who], __ATOMIC_SEQ_CST) == 0) {
    syscall(SYS_futex, &turns.word[who], futex_wait_private, 0, nullptr, nullptr, 0);
  }
  __atomic_store_n(&turns.word[who], 0, __ATOMIC_SEQ_CST);
}

void* futex_partner(void* argument) {
  Turns& turns = *static_cast<Turns*>(argument);
  while (turns.left-- > 0) {
    take_turn(turns, 1);
    give_turn(turns, 0);
  }
  return nullptr;
}

}  // namespace

void pipe_switch(Run& run) {
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) run.failed("pipe");
  const pid_t partner = fork();
  if (partner < 0) run.failed("fork");
  if (partner == 0) {
    close(there[1]);
    echo(there[0], back[1]);
  }
  ping(run, back[0], there[1], (run.count + 1) / 2);
  end(run, partner);
}

void futex_switch(Run& run) {
  Turns turns{};
  while (run.next_round()) {
    const long round_trips = (run.count + 1) / 2;
    turns.left = round_trips + 1;
    pthread_t partner;
    if (pthread_create(&partner, nullptr, futex_partner, &turns) != 0) run.failed("pthread_create");
    give_turn(turns, 1);  // once before: the partner has started
    take_turn(turns, 0);
    run.start();
    for (long i = 0; i < round_trips; ++i) {
      give_turn(turns, 1);
      take_turn(turns, 0);
    }
    run.stop();
    pthread_join(partner, nullptr);
  }
}

void unix_socket(Run& run) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) run.unsupported("socketpair");
  const pid_t partner = fork();
  if (partner < 0) run.failed("fork");
  if (partner == 0) {
    close(ends[0]);
    echo(ends[1], ends[1]);
  }
  ping(run, ends[0], ends[0], run.count);
  end(run, partner);
}
