// Very many threads and processes: all blocked at once, joined and waited for; and very many one after the other. Effort 20
// is what the system promises: 10,000 threads and 1,000 processes at once, 100,000 threads in turn. That no memory is
// missing afterwards is looked at from outside (tests/system/test_many.py), where nobody else uses the machine.
#include "check.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace {

constexpr size_t page = 4096;

pthread_attr_t small_stack;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t arrival = PTHREAD_COND_INITIALIZER;
pthread_cond_t release = PTHREAD_COND_INITIALIZER;
long arrived;
bool released;

void* wait_for_release(void* argument) {
  pthread_mutex_lock(&mutex);
  ++arrived;
  pthread_cond_signal(&arrival);
  while (!released) pthread_cond_wait(&release, &mutex);
  pthread_mutex_unlock(&mutex);
  return argument;
}

void* nothing(void* argument) {
  return argument;
}

void allow(int resource, rlim_t wanted) {
  rlimit limit{};
  CHECK_EQ(getrlimit(resource, &limit), 0);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted) {
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ? wanted : limit.rlim_max;
    CHECK_EQ(setrlimit(resource, &limit), 0);
  }
}

void test_threads_at_once(long count) {
  auto* threads = static_cast<pthread_t*>(calloc(static_cast<size_t>(count), sizeof(pthread_t)));
  CHECK(threads != nullptr);
  for (long i = 0; i < count; ++i) {
    CHECK_EQ(pthread_create(&threads[i], &small_stack, wait_for_release, reinterpret_cast<void*>(i)), 0);
  }
  pthread_mutex_lock(&mutex);
  while (arrived < count) pthread_cond_wait(&arrival, &mutex);
  released = true;
  pthread_cond_broadcast(&release);
  pthread_mutex_unlock(&mutex);
  for (long i = 0; i < count; ++i) {
    void* answer = nullptr;
    CHECK_EQ(pthread_join(threads[i], &answer), 0);
    CHECK_EQ(reinterpret_cast<long>(answer), i);
  }
  free(threads);
}

void test_processes_at_once(long count) {
  int gate[2];
  CHECK_EQ(pipe(gate), 0);
  for (long i = 0; i < count; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(gate[1]);
      char byte;
      _exit(read(gate[0], &byte, 1) == 0 ? static_cast<int>(i % 100) : 255);  // the end of the pipe
    }
  }
  close(gate[1]);
  long sum = 0;
  for (long i = 0; i < count; ++i) {
    int status = 0;
    CHECK(wait(&status) > 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 100);
    sum += WEXITSTATUS(status);
  }
  long expected = 0;
  for (long i = 0; i < count; ++i) expected += i % 100;
  CHECK_EQ(sum, expected);
  close(gate[0]);
}

void test_threads_in_turn(long count) {
  for (long i = 0; i < count; ++i) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, &small_stack, nothing, nullptr), 0);
    CHECK_EQ(pthread_join(thread, nullptr), 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("manytest", argc, argv);
  const long threads = 500 * check_effort;
  allow(RLIMIT_NPROC, static_cast<rlim_t>(threads) + 1000);
  CHECK_EQ(pthread_attr_init(&small_stack), 0);
  CHECK_EQ(pthread_attr_setstacksize(&small_stack, 4 * page), 0);
  test_threads_at_once(threads);
  test_processes_at_once(50 * check_effort);
  test_threads_in_turn(5000 * check_effort);
  return check_done();
}
