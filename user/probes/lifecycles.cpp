// Creates and ends processes and threads until its time is over, in every way that they end, on all cores at once.
//
//   lifecycles SECONDS [WORKERS]
//
// A worker is a process, one for each core by default. In each turn it makes threads that return, a child that ends itself, one
// that is killed while it waits, one that ends with threads still alive, one whose thread executes another program, and an
// orphan, which whoever adopts it waits for. What remains after that is for the caller to look at: nothing must.
// A load of real-time threads leaves whoever adopts little time, and a user may have only so many processes: who is refused
// another one for that waits for a while. The last line: "lifecycles: N processes, M threads, SECONDS s". Runs on Linux as well.

#include "probes/argument.h"
#include "tests/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace {

constexpr char usage[] = "lifecycles SECONDS [WORKERS]";
constexpr int most_workers = 64;
constexpr int threads_in_turn = 8;
constexpr size_t stack_bytes = 16384;
constexpr int patience_ms = 10000;

struct alignas(64) Count {
  volatile long processes, threads;
};
Count* counts;  // of each worker; shared
char* own_file;

void* nothing(void* argument) {
  return argument;
}

void* wait_for_ever(void*) {
  for (;;) pause();
}

void* execute(void*) {
  char* arguments[] = {own_file, nullptr};
  execv("/proc/self/exe", arguments);
  _exit(3);
}

// What `make` answers that is not EAGAIN, or at last that.
template <typename Make>
int patiently(Make make) {
  int answer = make();
  for (int waited = 0; answer == EAGAIN && waited < patience_ms; ++waited) {
    check_sleep_us(1000);
    answer = make();
  }
  return answer;
}

pthread_t thread(void* (*body)(void*)) {
  pthread_attr_t small;
  CHECK_EQ(pthread_attr_init(&small), 0);
  CHECK_EQ(pthread_attr_setstacksize(&small, stack_bytes), 0);
  pthread_t made;
  CHECK_EQ(patiently([&] { return pthread_create(&made, &small, body, nullptr); }), 0);
  return made;
}

int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) != child) CHECK_EQ(errno, EINTR);
  return status;
}

template <typename Body>
pid_t child(Body body) {
  pid_t made = -1;
  CHECK_EQ(patiently([&] { return (made = fork()) < 0 ? errno : 0; }), 0);
  if (made == 0) body();
  return made;
}

void turn(Count& count) {
  pthread_t made[threads_in_turn];
  for (auto& one : made) one = thread(nothing);
  for (auto& one : made) CHECK_EQ(pthread_join(one, nullptr), 0);

  const pid_t killed = child([] { wait_for_ever(nullptr); });
  CHECK_EQ(status_of(child([] { _exit(7); })), 7 << 8);
  CHECK_EQ(kill(killed, SIGKILL), 0);
  CHECK_EQ(status_of(killed), SIGKILL);

  CHECK_EQ(status_of(child([] {
             thread(wait_for_ever);
             thread(wait_for_ever);
             _exit(0);
           })),
           0);
  CHECK_EQ(status_of(child([] {
             thread(execute);
             wait_for_ever(nullptr);
           })),
           0);
  CHECK_EQ(status_of(child([] {
             child([] { _exit(0); });
             _exit(0);
           })),
           0);
  count.processes = count.processes + 6;
  count.threads = count.threads + threads_in_turn + 3;
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "lifecycles";
  if (argc == 1) return 0;  // it is the program that was executed
  const long seconds = number_of(argv[1], 1000000, usage);
  cpu_set_t allowed;
  CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const long cores = CPU_COUNT(&allowed);
  const long workers = argc > 2 ? number_of(argv[2], most_workers, usage) : cores < most_workers ? cores : most_workers;
  own_file = argv[0];
  void* area = mmap(nullptr, sizeof(Count) * most_workers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(area != MAP_FAILED);
  counts = static_cast<Count*>(area);
  const int64_t begin = check_now_ns();
  const int64_t end = begin + int64_t{seconds} * 1000000000;
  pid_t made[most_workers];
  for (long w = 0; w < workers; ++w) {
    made[w] = child([w, end] {
      do { turn(counts[w]); } while (check_now_ns() < end);
      _exit(0);
    });
  }
  long processes = workers;
  long threads = 0;
  for (long w = 0; w < workers; ++w) {
    CHECK_EQ(status_of(made[w]), 0);
    processes += counts[w].processes;
    threads += counts[w].threads;
  }
  printf("lifecycles: %ld processes, %ld threads, %lld s\n", processes, threads,
         static_cast<long long>((check_now_ns() - begin) / 1000000000));
  return 0;
}
