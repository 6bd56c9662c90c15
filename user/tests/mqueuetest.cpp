// POSIX message queues: errors, priorities, waits with deadlines and signals, notification, poll, many threads at one queue.

#include "tests/check.h"
#include "tests/children.h"
#include "tests/signals.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

namespace {

constexpr const char* name = "/mqueuetest";
char text[9000];

mqd_t open_queue(long most, long bytes, int flags = O_RDWR) {
  struct mq_attr attributes = {};
  attributes.mq_maxmsg = most;
  attributes.mq_msgsize = bytes;
  mq_unlink(name);
  const mqd_t queue = mq_open(name, flags | O_CREAT | O_EXCL, 0600, &attributes);
  CHECK(queue >= 0);
  return queue;
}

bool gives(mqd_t queue, const char* expected, unsigned priority) {
  unsigned got = 99;
  const ssize_t size = mq_receive(queue, text, sizeof text, &got);
  return size == static_cast<ssize_t>(strlen(expected)) && memcmp(text, expected, strlen(expected)) == 0 && got == priority;
}

struct timespec after_ms(long milliseconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += milliseconds * 1000000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

void check_errors() {
  mq_unlink(name);
  CHECK_ERRNO(mq_open(name, O_RDWR), ENOENT);
  CHECK_ERRNO(mq_unlink(name), ENOENT);
  CHECK_ERRNO(mq_open("/a/b", O_RDWR | O_CREAT, 0600, nullptr), EACCES);
  CHECK_ERRNO(mq_open("/.", O_RDWR | O_CREAT, 0600, nullptr), EACCES);
  struct mq_attr attributes = {};
  CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes), EINVAL);
  attributes.mq_maxmsg = 65537;
  attributes.mq_msgsize = 1;
  CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes), EINVAL);
  attributes.mq_maxmsg = 65536;
  attributes.mq_msgsize = 8192;
  // Too much memory; who may not raise limits is told so earlier.
  CHECK(mq_open(name, O_RDWR | O_CREAT, 0600, &attributes) == -1 && (errno == EMFILE || errno == EINVAL));
  const mqd_t queue = open_queue(2, 16);
  CHECK_ERRNO(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, nullptr), EEXIST);
  CHECK_ERRNO(mq_send(queue, text, 17, 0), EMSGSIZE);
  CHECK_ERRNO(mq_send(queue, text, 1, 32768), EINVAL);
  CHECK_ERRNO(mq_receive(queue, text, 15, nullptr), EMSGSIZE);
  CHECK_ERRNO(syscall(SYS_mq_timedsend, queue, nullptr, 1L, 0, nullptr), EFAULT);
  const mqd_t reader = mq_open(name, O_RDONLY | O_NONBLOCK);
  const mqd_t writer = mq_open(name, O_WRONLY | O_NONBLOCK);
  CHECK_EQ(fcntl(reader, F_GETFD), FD_CLOEXEC);
  CHECK_ERRNO(mq_send(reader, text, 1, 0), EBADF);
  CHECK_ERRNO(mq_receive(writer, text, 16, nullptr), EBADF);
  CHECK_ERRNO(mq_receive(0, text, 16, nullptr), EBADF);
  CHECK_ERRNO(mq_send(-1, text, 1, 0), EBADF);
  CHECK_ERRNO(mq_receive(reader, text, 16, nullptr), EAGAIN);
  CHECK_EQ(mq_send(writer, "1", 1, 0), 0);
  CHECK_EQ(mq_send(writer, "2", 1, 0), 0);
  CHECK_ERRNO(mq_send(writer, "3", 1, 0), EAGAIN);
  CHECK_EQ(mq_getattr(queue, &attributes), 0);
  CHECK(attributes.mq_flags == 0 && attributes.mq_maxmsg == 2 && attributes.mq_msgsize == 16 && attributes.mq_curmsgs == 2);
  attributes.mq_flags = O_NONBLOCK | 1;
  CHECK_ERRNO(syscall(SYS_mq_getsetattr, queue, &attributes, nullptr), EINVAL);
  attributes.mq_flags = O_NONBLOCK;
  struct mq_attr old = {};
  CHECK_EQ(mq_setattr(queue, &attributes, &old), 0);
  CHECK_EQ(old.mq_flags, 0);
  CHECK_ERRNO(mq_send(queue, "3", 1, 0), EAGAIN);
  struct stat status;
  CHECK_EQ(fstat(queue, &status), 0);
  CHECK(S_ISREG(status.st_mode) && status.st_size == 80);
  struct timespec wrong = {0, -1};
  CHECK_ERRNO(mq_timedsend(queue, "3", 1, 0, &wrong), EINVAL);
  // The name goes, the queue stays as long as somebody has it.
  CHECK_EQ(mq_unlink(name), 0);
  CHECK(gives(queue, "1", 0));
  CHECK_EQ(mq_close(queue), 0);
  CHECK(gives(reader, "2", 0));
  CHECK_EQ(mq_close(reader), 0);
  CHECK_EQ(mq_close(writer), 0);
}

void check_order() {
  const mqd_t queue = open_queue(10, 16);
  CHECK_EQ(mq_send(queue, "low", 3, 1), 0);
  CHECK_EQ(mq_send(queue, "high", 4, 7), 0);
  CHECK_EQ(mq_send(queue, "middle", 6, 3), 0);
  CHECK_EQ(mq_send(queue, "second high", 11, 7), 0);
  CHECK_EQ(mq_send(queue, "", 0, 32767), 0);
  CHECK(gives(queue, "", 32767));
  CHECK(gives(queue, "high", 7));
  CHECK(gives(queue, "second high", 7));
  CHECK(gives(queue, "middle", 3));
  CHECK(gives(queue, "low", 1));
  CHECK_EQ(mq_close(queue), 0);
}

void check_waits() {
  const mqd_t queue = open_queue(1, 16);
  struct timespec soon = after_ms(30);
  const int64_t before = check_now_ns();
  CHECK_ERRNO(mq_timedreceive(queue, text, sizeof text, nullptr, &soon), ETIMEDOUT);
  CHECK(check_now_ns() - before >= 20000000);
  CHECK_ERRNO(mq_timedreceive(queue, text, sizeof text, nullptr, &soon), ETIMEDOUT);
  CHECK_EQ(mq_send(queue, "full", 4, 0), 0);
  CHECK_ERRNO(mq_timedsend(queue, "more", 4, 0, &soon), ETIMEDOUT);
  pid_t child = fork();
  if (child == 0) {
    signals::on(SIGUSR1, signals::count_signal);
    CHECK(gives(queue, "full", 0));
    _exit(mq_receive(queue, text, sizeof text, nullptr) == -1 && errno == EINTR ? 0 : 1);
  }
  struct mq_attr attributes = {.mq_flags = 0, .mq_maxmsg = 0, .mq_msgsize = 0, .mq_curmsgs = 1, .__unused = {}};
  while (attributes.mq_curmsgs != 0) {
    CHECK_EQ(mq_getattr(queue, &attributes), 0);
    check_sleep_us(10000);
  }
  check_sleep_us(20000);
  CHECK_EQ(kill(child, SIGUSR1), 0);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  CHECK_EQ(mq_close(queue), 0);
}

pid_t receiver(mqd_t queue, const char* expected, int real_time = 0) {
  const pid_t child = fork();
  if (child == 0) {
    struct sched_param parameters = {};
    parameters.sched_priority = real_time;
    if (real_time != 0) CHECK_EQ(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters), 0);
    _exit(gives(queue, expected, 5) ? 0 : 1);
  }
  children::await_sleep(child);
  return child;
}

pid_t sender(mqd_t queue, const char* what) {
  const pid_t child = fork();
  if (child == 0) _exit(mq_send(queue, what, strlen(what), 5) == 0 ? 0 : 1);
  children::await_sleep(child);
  return child;
}

// Who sends and then receives does not take what another one waits for; who receives and then sends leaves the room to the sender
// that waits.
void check_hand_over() {
  const mqd_t queue = open_queue(1, 16);
  struct timespec now = after_ms(0);
  pid_t waiting[2] = {receiver(queue, "first"), receiver(queue, "second")};
  CHECK_EQ(mq_send(queue, "first", 5, 5), 0);
  CHECK_ERRNO(mq_timedreceive(queue, text, sizeof text, nullptr, &now), ETIMEDOUT);
  CHECK_EQ(mq_send(queue, "second", 6, 5), 0);
  CHECK_ERRNO(mq_timedreceive(queue, text, sizeof text, nullptr, &now), ETIMEDOUT);
  for (pid_t child : waiting) children::expect_exit(child, 0);
  CHECK_EQ(mq_send(queue, "full", 4, 5), 0);
  waiting[0] = sender(queue, "third");
  waiting[1] = sender(queue, "fourth");
  CHECK(gives(queue, "full", 5));
  CHECK_ERRNO(mq_timedsend(queue, "again", 5, 5, &now), ETIMEDOUT);
  CHECK(gives(queue, "third", 5));
  CHECK(gives(queue, "fourth", 5));
  for (pid_t child : waiting) children::expect_exit(child, 0);
  // Nobody who was killed while it waited is served, and nothing that it brought is left.
  waiting[0] = receiver(queue, "");
  CHECK_EQ(kill(waiting[0], SIGKILL), 0);
  CHECK_EQ(waitpid(waiting[0], nullptr, 0), waiting[0]);
  CHECK_EQ(mq_send(queue, "kept", 4, 5), 0);
  waiting[0] = sender(queue, "lost");
  CHECK_EQ(kill(waiting[0], SIGKILL), 0);
  CHECK_EQ(waitpid(waiting[0], nullptr, 0), waiting[0]);
  CHECK(gives(queue, "kept", 5));
  CHECK_ERRNO(mq_timedreceive(queue, text, sizeof text, nullptr, &now), ETIMEDOUT);
  if (geteuid() == 0) {  // the highest real-time priority first
    const pid_t normal = receiver(queue, "normal");
    waiting[0] = receiver(queue, "ten", 10);
    waiting[1] = receiver(queue, "twenty", 20);
    CHECK_EQ(mq_send(queue, "twenty", 6, 5), 0);
    CHECK_EQ(mq_send(queue, "ten", 3, 5), 0);
    CHECK_EQ(mq_send(queue, "normal", 6, 5), 0);
    for (pid_t child : waiting) children::expect_exit(child, 0);
    children::expect_exit(normal, 0);
  }
  CHECK_EQ(mq_close(queue), 0);
}

volatile sig_atomic_t told_value;
volatile sig_atomic_t told_code;

void on_message(int, siginfo_t* information, void*) {
  told_value = information->si_value.sival_int;
  told_code = information->si_code;
}

void check_notification() {
  const mqd_t queue = open_queue(4, 16);
  struct sigaction action = {};
  action.sa_sigaction = on_message;
  action.sa_flags = SA_SIGINFO;
  CHECK_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  struct sigevent event = {};
  event.sigev_notify = 7;
  CHECK_ERRNO(mq_notify(queue, &event), EINVAL);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = 65;
  CHECK_ERRNO(mq_notify(queue, &event), EINVAL);
  event.sigev_signo = SIGUSR2;
  event.sigev_value.sival_int = 42;
  CHECK_EQ(mq_notify(queue, &event), 0);
  CHECK_ERRNO(mq_notify(queue, &event), EBUSY);
  CHECK_EQ(mq_send(queue, "x", 1, 0), 0);
  CHECK(told_value == 42 && told_code == -3);
  told_value = 0;
  CHECK_EQ(mq_send(queue, "y", 1, 0), 0);
  CHECK_EQ(told_value, 0);  // once only
  CHECK_EQ(mq_notify(queue, &event), 0);
  CHECK_EQ(mq_send(queue, "z", 1, 0), 0);
  CHECK_EQ(told_value, 0);  // it was not empty
  for (int i = 0; i < 3; ++i) CHECK_EQ(mq_receive(queue, text, sizeof text, nullptr), 1);
  // Given up by closing any descriptor, and by the end of the process.
  const mqd_t again = mq_open(name, O_RDWR);
  CHECK_EQ(mq_close(again), 0);
  const pid_t child = fork();
  if (child == 0) _exit(mq_notify(queue, &event) == 0 ? 0 : 1);
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  event.sigev_notify = SIGEV_NONE;
  CHECK_EQ(mq_notify(queue, &event), 0);
  CHECK_EQ(mq_notify(queue, nullptr), 0);
  CHECK_EQ(mq_notify(queue, nullptr), 0);
  CHECK_EQ(mq_close(queue), 0);
}

void check_poll() {
  const mqd_t queue = open_queue(1, 16);
  struct pollfd entry = {queue, POLLIN | POLLOUT, 0};
  CHECK_EQ(poll(&entry, 1, 0), 1);
  CHECK_EQ(entry.revents, POLLOUT);
  CHECK_EQ(mq_send(queue, "x", 1, 0), 0);
  CHECK_EQ(poll(&entry, 1, 0), 1);
  CHECK_EQ(entry.revents, POLLIN);
  entry.events = POLLOUT;
  const pid_t child = fork();
  if (child == 0) {
    check_sleep_us(20000);
    _exit(gives(queue, "x", 0) ? 0 : 1);
  }
  CHECK_EQ(poll(&entry, 1, 60000), 1);
  CHECK_EQ(entry.revents, POLLOUT);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  CHECK_EQ(mq_close(queue), 0);
}

struct Traffic {
  mqd_t queue;
  long numbers;
  long sum;
};

void* send_numbers(void* argument) {
  auto* traffic = static_cast<Traffic*>(argument);
  for (long i = 1; i <= traffic->numbers; ++i) {
    CHECK_EQ(mq_send(traffic->queue, reinterpret_cast<const char*>(&i), sizeof i, static_cast<unsigned>(i % 5)), 0);
  }
  return nullptr;
}

void* receive_numbers(void* argument) {
  auto* traffic = static_cast<Traffic*>(argument);
  for (long i = 0; i < traffic->numbers; ++i) {
    long number = 0;
    CHECK_EQ(mq_receive(traffic->queue, reinterpret_cast<char*>(&number), sizeof number, nullptr), sizeof number);
    __atomic_fetch_add(&traffic->sum, number, __ATOMIC_RELAXED);
  }
  return nullptr;
}

void check_traffic() {
  constexpr int pairs = 4;
  Traffic traffic = {open_queue(8, sizeof(long)), 2000 * check_effort, 0};
  pthread_t threads[2 * pairs];
  for (int i = 0; i < pairs; ++i) {
    CHECK_EQ(pthread_create(&threads[2 * i], nullptr, send_numbers, &traffic), 0);
    CHECK_EQ(pthread_create(&threads[2 * i + 1], nullptr, receive_numbers, &traffic), 0);
  }
  for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
  CHECK_EQ(traffic.sum, pairs * traffic.numbers * (traffic.numbers + 1) / 2);
  CHECK_EQ(mq_close(traffic.queue), 0);
  CHECK_EQ(mq_unlink(name), 0);
}

// Signals that come at any moment end waits, and lose and double nothing: what was handed over to one that was interrupted is
// received by it, or by somebody else.
void check_interrupted_traffic() {
  constexpr int pairs = 3;
  const long numbers = 1500 * check_effort;
  const mqd_t queue = open_queue(2, sizeof(long));
  auto* sum = static_cast<long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(sum != MAP_FAILED);
  pid_t processes[2 * pairs];
  for (int i = 0; i < 2 * pairs; ++i) {
    processes[i] = children::spawn([&] {
      signals::on(SIGALRM, signals::count_signal);
      const struct itimerval often = {{0, 300 + 50 * i}, {0, 300}};
      CHECK_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
      for (long done = 0; done < numbers;) {
        long number = done + 1;
        const long outcome = i < pairs ? mq_send(queue, reinterpret_cast<const char*>(&number), sizeof number, 0)
                                       : mq_receive(queue, reinterpret_cast<char*>(&number), sizeof number, nullptr);
        CHECK(outcome >= 0 || errno == EINTR);
        if (outcome < 0) continue;
        ++done;
        if (i >= pairs) __atomic_fetch_add(sum, number, __ATOMIC_RELAXED);
      }
      return 0;
    });
  }
  for (pid_t process : processes) children::expect_exit(process, 0);
  CHECK_EQ(*sum, pairs * numbers * (numbers + 1) / 2);
  struct mq_attr attributes = {};
  CHECK_EQ(mq_getattr(queue, &attributes), 0);
  CHECK_EQ(attributes.mq_curmsgs, 0);
  CHECK_EQ(munmap(sum, 4096), 0);
  CHECK_EQ(mq_close(queue), 0);
  CHECK_EQ(mq_unlink(name), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("mqueuetest", argc, argv);
  check_errors();
  check_order();
  check_waits();
  check_hand_over();
  check_notification();
  check_poll();
  check_traffic();
  check_interrupted_traffic();
  return check_done();
}
