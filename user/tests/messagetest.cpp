// System V's message queues: errors, copies, types, waiting and signals, hand-over, removal, many processes at once.

#include "tests/check.h"
#include "tests/children.h"
#include "tests/signals.h"

#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/time.h>
#include <sys/wait.h>

namespace {

struct Message {
  long type;
  char text[9000];
};
Message message;

int send(int queue, long type, const char* text, int flags = 0) {
  message.type = type;
  strcpy(message.text, text);
  return msgsnd(queue, &message, strlen(text), flags);
}

bool gives(int queue, long type, int flags, long expected_type, const char* text) {
  memset(&message, 0, sizeof message);
  const ssize_t size = msgrcv(queue, &message, sizeof message.text, type, flags);
  return size == static_cast<ssize_t>(strlen(text)) && message.type == expected_type && strcmp(message.text, text) == 0;
}

void check_messages() {
  const key_t key = 0x3e550000 + getpid() % 10000;
  CHECK_ERRNO(msgget(key, 0600), ENOENT);
  const int queue = msgget(key, IPC_CREAT | 0600);
  CHECK(queue >= 0);
  CHECK_EQ(msgget(key, 0), queue);
  CHECK_ERRNO(msgget(key, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
  CHECK_ERRNO(send(queue, 0, "x"), EINVAL);
  CHECK_ERRNO(send(queue, -1, "x"), EINVAL);
  CHECK_ERRNO(send(-1, 1, "x"), EINVAL);
  message.type = 1;
  CHECK_ERRNO(msgsnd(queue, &message, 8193, 0), EINVAL);
  CHECK_ERRNO(msgsnd(queue, nullptr, 1, 0), EFAULT);
  CHECK_ERRNO(msgrcv(queue, &message, 1, 0, IPC_NOWAIT), ENOMSG);
  CHECK_ERRNO(msgrcv(queue, &message, static_cast<size_t>(-1), 0, IPC_NOWAIT), EINVAL);
  CHECK_EQ(send(queue, 5, "five"), 0);
  CHECK_EQ(send(queue, 2, "two"), 0);
  CHECK_EQ(send(queue, 9, "nine"), 0);
  CHECK_EQ(send(queue, 2, ""), 0);
  struct msqid_ds status = {};
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  CHECK_EQ(status.msg_qnum, 4);
  CHECK_EQ(status.msg_qbytes, 16384);
  CHECK_EQ(status.msg_lspid, getpid());
  CHECK_EQ(status.msg_lrpid, 0);
  // Copies, by place.
  constexpr int copy = 040000;
  CHECK_EQ(msgrcv(queue, &message, 8, 0, copy | IPC_NOWAIT), 4);
  CHECK_EQ(message.type, 5);
  CHECK_EQ(msgrcv(queue, &message, 3, 2, copy | IPC_NOWAIT | MSG_NOERROR), 3);
  CHECK(message.type == 9 && memcmp(message.text, "nin", 3) == 0);
  CHECK_ERRNO(msgrcv(queue, &message, 3, 2, copy | IPC_NOWAIT), E2BIG);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 4, copy | IPC_NOWAIT), ENOMSG);
  CHECK_ERRNO(msgrcv(queue, &message, 8, -1, copy | IPC_NOWAIT), ENOMSG);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 0, copy), EINVAL);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 0, copy | IPC_NOWAIT | 020000), EINVAL);
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  CHECK_EQ(status.msg_qnum, 4);
  CHECK_EQ(status.msg_lrpid, 0);
  CHECK_ERRNO(msgrcv(queue, &message, 2, 9, 0), E2BIG);
  CHECK_EQ(msgrcv(queue, &message, 2, 9, MSG_NOERROR), 2);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 9, IPC_NOWAIT), ENOMSG);
  CHECK(gives(queue, -4, 0, 2, "two"));
  CHECK(gives(queue, 5, 020000, 2, ""));
  CHECK_ERRNO(msgrcv(queue, &message, 8, 5, IPC_NOWAIT | 020000), ENOMSG);
  CHECK_ERRNO(msgrcv(queue, &message, 8, -4, IPC_NOWAIT), ENOMSG);
  CHECK(gives(queue, 0, 0, 5, "five"));
  // Full, then a receiver makes room.
  static char much[8193];
  memset(much, 'm', 8192);
  CHECK_EQ(send(queue, 1, much), 0);
  CHECK_EQ(send(queue, 1, much), 0);
  CHECK_ERRNO(send(queue, 1, "x", IPC_NOWAIT), EAGAIN);
  pid_t child = fork();
  if (child == 0) _exit(send(queue, 3, "waited") == 0 ? 0 : 1);
  check_sleep_us(20000);
  CHECK(gives(queue, 1, 0, 1, much));
  children::expect_exit(child, 0);
  CHECK(gives(queue, 3, 0, 3, "waited"));
  CHECK(gives(queue, 1, 0, 1, much));
  // A signal, then removal, ends the wait.
  child = fork();
  if (child == 0) {
    signals::on(SIGUSR1, signals::count_signal, SA_RESTART);
    CHECK_EQ(send(queue, 7, "ready"), 0);
    _exit(msgrcv(queue, &message, 8, 1, 0) == -1 && errno == EINTR ? 0 : 1);
  }
  CHECK(gives(queue, 7, 0, 7, "ready"));
  check_sleep_us(20000);
  CHECK_EQ(kill(child, SIGUSR1), 0);
  children::expect_exit(child, 0);
  child = fork();
  if (child == 0) {
    CHECK_EQ(send(queue, 7, "ready"), 0);
    _exit(msgrcv(queue, &message, 8, 1, 0) == -1 && errno == EIDRM ? 0 : 1);
  }
  CHECK(gives(queue, 7, 0, 7, "ready"));
  check_sleep_us(20000);
  CHECK_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
  children::expect_exit(child, 0);
  CHECK_ERRNO(msgctl(queue, IPC_STAT, &status), EINVAL);
}

// A process that waits for a message of that type; it is to get this one.
pid_t receiver(int queue, long type, const char* text, int flags = 0) {
  const pid_t child = fork();
  if (child == 0) {
    memset(&message, 0, sizeof message);
    const ssize_t size = msgrcv(queue, &message, sizeof message.text, type, flags);
    _exit(size == static_cast<ssize_t>(strlen(text)) && strcmp(message.text, text) == 0 ? 0 : 1);
  }
  children::await_sleep(child);
  return child;
}

// A message goes to the receiver that waits longest of those who want it, not to who looks first.
void check_messages_handed_over() {
  const int queue = msgget(IPC_PRIVATE, 0600);
  CHECK(queue >= 0);
  struct msqid_ds status = {};
  const pid_t first = receiver(queue, 0, "1");
  const pid_t second = receiver(queue, 0, "2");
  CHECK_EQ(send(queue, 1, "1"), 0);
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  CHECK(status.msg_qnum == 0 && status.msg_cbytes == 0 && status.msg_lrpid == first);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 0, IPC_NOWAIT), ENOMSG);
  CHECK_EQ(send(queue, 1, "2"), 0);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 0, IPC_NOWAIT), ENOMSG);
  children::expect_exit(first, 0);
  children::expect_exit(second, 0);
  // By type: what nobody wants stays, and is taken by who comes.
  const pid_t low = receiver(queue, -3, "low");
  const pid_t seven = receiver(queue, 7, "seven");
  const pid_t other = receiver(queue, 7, "other", MSG_EXCEPT);
  CHECK_EQ(send(queue, 7, "seven"), 0);
  CHECK_EQ(send(queue, 7, "stays"), 0);
  CHECK_EQ(send(queue, 2, "low"), 0);
  CHECK_EQ(send(queue, 2, "other"), 0);
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  CHECK_EQ(status.msg_qnum, 1);
  CHECK(gives(queue, 0, IPC_NOWAIT, 7, "stays"));
  children::expect_exit(low, 0);
  children::expect_exit(seven, 0);
  children::expect_exit(other, 0);
  // A receiver without room for it is told, and the next one gets it.
  const pid_t small = fork();
  if (small == 0) _exit(msgrcv(queue, &message, 2, 0, 0) == -1 && errno == E2BIG ? 0 : 1);
  children::await_sleep(small);
  const pid_t large = receiver(queue, 0, "large");
  CHECK_EQ(send(queue, 1, "large"), 0);
  CHECK_ERRNO(msgrcv(queue, &message, 8, 0, IPC_NOWAIT), ENOMSG);
  children::expect_exit(small, 0);
  children::expect_exit(large, 0);
  // Who is killed while it waits gets nothing.
  const pid_t killed = receiver(queue, 0, "");
  CHECK_EQ(kill(killed, SIGKILL), 0);
  CHECK_EQ(waitpid(killed, nullptr, 0), killed);
  CHECK_EQ(send(queue, 1, "kept"), 0);
  CHECK(gives(queue, 0, IPC_NOWAIT, 1, "kept"));
  CHECK_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
}

// Processes send numbers, others take them by type; every number arrives once.
void check_traffic() {
  const int queue = msgget(IPC_PRIVATE, 0600);
  const int results = msgget(IPC_PRIVATE, 0600);
  constexpr int pairs = 4;
  const long numbers = 500 * check_effort;
  struct Number {
    long type, value;
  };
  for (int i = 0; i < 2 * pairs; ++i) {
    if (fork() != 0) continue;
    Number number = {i % pairs + 1, 0};
    for (long n = 0; n < numbers; ++n) {
      if (i < pairs) {
        const Number sent = {i % pairs + 1, n};
        CHECK_EQ(msgsnd(queue, &sent, sizeof(long), 0), 0);
      } else {
        Number got = {};
        CHECK_EQ(msgrcv(queue, &got, sizeof(long), i % pairs + 1, 0), sizeof(long));
        CHECK_EQ(got.value, n);
        number.value += got.value;
      }
    }
    if (i >= pairs) CHECK_EQ(msgsnd(results, &number, sizeof(long), 0), 0);
    _exit(0);
  }
  for (int i = 0; i < 2 * pairs; ++i) {
    int status = -1;
    CHECK(wait(&status) > 0);
    CHECK_EQ(status, 0);
  }
  for (int i = 0; i < pairs; ++i) {
    Number got = {};
    CHECK_EQ(msgrcv(results, &got, sizeof(long), 0, IPC_NOWAIT), sizeof(long));
    CHECK_EQ(got.value, numbers * (numbers - 1) / 2);
  }
  CHECK_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
  CHECK_EQ(msgctl(results, IPC_RMID, nullptr), 0);
}

// Signals that come at any moment end waits, and lose and double nothing.
void check_interrupted_traffic() {
  constexpr int pairs = 3;
  const long numbers = 1500 * check_effort;
  struct Number {
    long type, value;
  };
  const int queue = msgget(IPC_PRIVATE, 0600);
  CHECK(queue >= 0);
  struct msqid_ds status = {};
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  status.msg_qbytes = 3 * sizeof(long);
  CHECK_EQ(msgctl(queue, IPC_SET, &status), 0);
  auto* sum = static_cast<long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(sum != MAP_FAILED);
  pid_t processes[2 * pairs];
  for (int i = 0; i < 2 * pairs; ++i) {
    processes[i] = children::spawn([&] {
      signals::on(SIGALRM, signals::count_signal, 0);
      const struct itimerval often = {{0, 300 + 50 * i}, {0, 300}};
      CHECK_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
      for (long done = 0; done < numbers;) {
        Number number = {i % pairs + 1, done + 1};
        const long outcome =
            i < pairs ? msgsnd(queue, &number, sizeof(long), 0) : msgrcv(queue, &number, sizeof(long), i % pairs + 1, 0);
        CHECK(outcome >= 0 || errno == EINTR);
        if (outcome < 0) continue;
        ++done;
        if (i >= pairs) __atomic_fetch_add(sum, number.value, __ATOMIC_RELAXED);
      }
      return 0;
    });
  }
  for (pid_t process : processes) children::expect_exit(process, 0);
  CHECK_EQ(*sum, pairs * numbers * (numbers + 1) / 2);
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  CHECK(status.msg_qnum == 0 && status.msg_cbytes == 0);
  CHECK_EQ(munmap(sum, 4096), 0);
  CHECK_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("messagetest", argc, argv);
  check_messages();
  check_messages_handed_over();
  check_traffic();
  check_interrupted_traffic();
  return check_done();
}
