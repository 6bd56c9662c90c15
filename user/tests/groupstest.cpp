// Core groups (docs/groups.md): while the cores are partitioned, no thread is ever on a core of the other group, however it came
// there: made before or after the partition, woken, of a changed class, with a mask of its own; and no thread is lost when
// the partition changes under it. EFFORT times 50 changes. On Linux, which has no core groups, nothing is checked.

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

namespace {

constexpr int fifo = 1;
constexpr long looks = 30;  // of each thread at where it is, before the next thing happens

cpu_set_t group[2];  // [1]: the real-time group's cores

long set_policy(pid_t thread, int policy, int priority) {
  return syscall(SYS_sched_setscheduler, thread, policy, &priority);
}

// ---- /proc/sched --------------------------------------------------------------------------------------------------------

char state_text[16384];

void read_state() {
  const int file = open("/proc/sched", O_RDONLY);
  CHECK(file >= 0);
  long length = 0;
  for (long part = 1; part > 0; length += part) {
    part = read(file, state_text + length, sizeof state_text - 1 - static_cast<size_t>(length));
    CHECK(part >= 0);
  }
  state_text[length] = 0;
  CHECK_EQ(close(file), 0);
}

// 0, or the error.
int try_groups(const char* text) {
  char command[128];
  const int length = snprintf(command, sizeof command, "groups %s", text);
  const int file = open("/proc/sched", O_WRONLY);
  CHECK(file >= 0);
  const long written = write(file, command, static_cast<size_t>(length));
  const int error = written == length ? 0 : errno;
  CHECK_EQ(close(file), 0);
  return error;
}

void set_groups(const char* text) {
  int error = 0;
  while ((error = try_groups(text)) == EBUSY) usleep(100);
  CHECK_EQ(error, 0);
}

bool has(const char* text) {
  read_state();
  return strstr(state_text, text) != nullptr;
}

// "groups real-time cores 0,2-3" and the like.
void read_group(const char* label, cpu_set_t& to) {
  CPU_ZERO(&to);
  const char* at = strstr(state_text, label);
  CHECK(at != nullptr);
  at += strlen(label);
  while (*at != '\n') {
    char* end = nullptr;
    unsigned long first = strtoul(at, &end, 10);
    CHECK(end != at);
    unsigned long last = first;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    for (; first <= last; ++first) CPU_SET(first, &to);
    at = *end == ',' ? end + 1 : end;
  }
  CHECK(CPU_COUNT(&to) > 0);
}

void set_and_read_groups(const char* text) {
  set_groups(text);
  while (!has("groups change complete")) usleep(100);
  read_group("groups real-time cores ", group[1]);
  read_group("groups normal cores ", group[0]);
  cpu_set_t both;
  CPU_AND(&both, &group[0], &group[1]);
  CHECK_EQ(CPU_COUNT(&both), 0);
}

// ---- threads that look where they are -----------------------------------------------------------------------------------

struct Worker {
  pthread_t thread;
  pid_t id;  // 0 until it runs
  int real_time;  // its class
  int checked;  // it looks
  int wish;  // it is to change its class
  int stop;
  long looked;  // how often it has looked, or just gone on
};
constexpr int most_workers = 10;
Worker workers[most_workers];
int worker_count;

template <class T>
T get(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_SEQ_CST);
}
template <class T>
void set(T& to, T value) {
  __atomic_store_n(&to, value, __ATOMIC_SEQ_CST);
}

unsigned core_now() {
  unsigned core = ~0u;
  CHECK_EQ(syscall(SYS_getcpu, &core, nullptr, nullptr), 0);
  return core;
}

// The calling thread of this class is where it belongs.
void look(int real_time) {
  CHECK(CPU_ISSET(core_now(), &group[real_time]));
}

void* work(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  if (self.real_time != 0) CHECK_EQ(set_policy(0, fifo, 10), 0);
  set(self.id, static_cast<pid_t>(syscall(SYS_gettid)));
  while (get(self.stop) == 0) {
    if (get(self.wish) != 0) {
      CHECK_EQ(set_policy(0, self.real_time != 0 ? 0 : fifo, self.real_time != 0 ? 0 : 10), 0);
      set(self.real_time, 1 - self.real_time);
      set(self.wish, 0);
    }
    if (get(self.checked) != 0) look(self.real_time);
    for (int turn = 0; turn < 500; ++turn) asm volatile("");
    if (get(self.checked) != 0) look(self.real_time);
    __atomic_add_fetch(&self.looked, 1, __ATOMIC_SEQ_CST);
    if (self.looked % 3 == 0) {
      sched_yield();
    } else {
      usleep(static_cast<useconds_t>(20 + self.looked % 50));
    }
  }
  return nullptr;
}

void make(int real_time, int checked) {
  CHECK(worker_count < most_workers);
  Worker& worker = workers[worker_count++];
  worker = {};
  worker.real_time = real_time;
  worker.checked = checked;
  CHECK_EQ(pthread_create(&worker.thread, nullptr, work, &worker), 0);
  while (get(worker.id) == 0) usleep(100);
}

void check_all(int checked) {
  for (int i = 0; i < worker_count; ++i) set(workers[i].checked, checked);
}

// Everybody goes on.
void let_all_look() {
  for (int i = 0; i < worker_count; ++i) {
    const long before = get(workers[i].looked);
    while (get(workers[i].looked) < before + looks) usleep(200);
  }
}

void end_all() {
  for (int i = 0; i < worker_count; ++i) set(workers[i].stop, 1);
  for (int i = 0; i < worker_count; ++i) CHECK_EQ(pthread_join(workers[i].thread, nullptr), 0);
  worker_count = 0;
}

// Threads that never wait.
int spinning_policy;
int spin_on;
void* spin(void*) {
  if (spinning_policy != 0) CHECK_EQ(set_policy(0, spinning_policy, 5), 0);
  while (get(spin_on) != 0) {}
  return nullptr;
}

// ---- tests ----------------------------------------------------------------------------------------------------------------

void test_classes_stay_apart(const char* text) {
  make(1, 0);  // before the partition
  make(0, 0);
  make(0, 0);
  set_and_read_groups(text);
  CHECK(CPU_ISSET(core_now(), &group[0]));  // the calling one was on any core
  check_all(1);
  make(1, 1);
  make(0, 1);
  let_all_look();
  set(workers[0].wish, 1);  // by itself
  set(workers[1].wish, 1);
  while (get(workers[0].wish) + get(workers[1].wish) != 0) usleep(100);
  let_all_look();
  Worker& changed = workers[2];  // by somebody else: it takes a moment
  set(changed.checked, 0);
  let_all_look();
  CHECK_EQ(set_policy(changed.id, fifo, 20), 0);
  set(changed.real_time, 1);
  let_all_look();
  set(changed.checked, 1);
  let_all_look();
  check_all(0);
  let_all_look();
}

void test_masks(bool masks_are_set) {
  cpu_set_t all;
  CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  cpu_set_t both;
  CPU_OR(&both, &group[0], &group[1]);
  CHECK(CPU_EQUAL(&all, masks_are_set ? &group[0] : &both));
  CHECK_EQ(set_policy(0, fifo, 10), 0);
  CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CHECK(CPU_EQUAL(&all, masks_are_set ? &group[1] : &both));
  CHECK(CPU_ISSET(core_now(), &group[1]));
  CHECK_EQ(set_policy(0, 0, 0), 0);
  CHECK_ERRNO(sched_setaffinity(0, sizeof both, &group[1]), EINVAL);  // nothing of it is left
  unsigned last = 0;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &group[0])) last = core;
  }
  cpu_set_t one = group[1];
  CPU_SET(last, &one);
  CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  for (int i = 0; i < 10; ++i) {
    CHECK_EQ(core_now(), last);
    usleep(100);
  }
  // As a real-time thread it has the group's cores of its mask, and as a normal one again what it asked for.
  CHECK_EQ(set_policy(0, fifo, 10), 0);
  CHECK(CPU_ISSET(core_now(), &group[1]));
  CHECK_EQ(set_policy(0, 0, 0), 0);
  CHECK_EQ(core_now(), last);
  CHECK_EQ(sched_setaffinity(0, sizeof both, &both), 0);
}

void test_nonsense_is_refused() {
  read_state();
  static char before[sizeof state_text];
  strcpy(before, strstr(state_text, "\ngroups "));
  constexpr const char* wrong[] = {"", "nothing", "affinity-mask:ratio=0:1", "affinity-mask:ratio=1:257",
                                   "affinity-mask:ratio=1", "affinity-mask:ratio=:", "affinity-mask:ratio=1:2:3",
                                   "affinity-mask:layout=round", "affinity-mask:layout=", "affinity-mask:dynamic=2",
                                   "affinity-mask:interval=0", "affinity-mask:colour=1", "none:ratio=1:1",
                                   // No class may be left without a core.
                                   "affinity-mask:ratio=1:256", "blocked-migration:ratio=256:1",
                                   "run-queue-entry:layout=alternate,ratio=1:100"};
  for (const char* text : wrong) CHECK_EQ(try_groups(text), EINVAL);
  read_state();
  const char* after = strstr(state_text, "\ngroups ");
  CHECK_EQ(strncmp(before, after, static_cast<size_t>(strstr(before, "\ngroups changes ") - before)), 0);
}

// Until as many cores as expected are the real-time group's, while two threads of a class for each core never wait.
void check_dynamic_ratio(int policy, int expected, int cores) {
  pthread_t threads[64];
  const int count = 2 * cores;
  CHECK(count <= 64);
  spinning_policy = policy;
  set(spin_on, 1);
  for (int i = 0; i < count; ++i) CHECK_EQ(pthread_create(&threads[i], nullptr, spin, nullptr), 0);
  do {
    usleep(2000);
    read_state();
    read_group("groups real-time cores ", group[1]);
  } while (CPU_COUNT(&group[1]) != expected);
  set(spin_on, 0);
  for (int i = 0; i < count; ++i) CHECK_EQ(pthread_join(threads[i], nullptr), 0);
}

void test_a_dynamic_ratio_follows_the_load() {
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  set_groups("affinity-mask:dynamic=on,interval=5000");
  check_dynamic_ratio(fifo, cores - 1, cores);
  check_dynamic_ratio(0, 1, cores);
  CHECK(has("groups demand"));
  set_groups("none");
}

void test_changes_lose_nobody() {
  constexpr const char* texts[] = {"affinity-mask",
                                   "none",
                                   "blocked-migration:layout=alternate",
                                   "run-queue-entry",
                                   "affinity-mask:layout=double-alternate",
                                   "affinity-mask:layout=alternate",
                                   "run-queue-entry:dynamic=on,interval=1000,hysteresis=0"};
  for (int i = 0; i < 6; ++i) make(i % 2, 0);
  for (long change = 0; change < 50 * check_effort; ++change) {
    set_groups(texts[static_cast<unsigned long>(change) % (sizeof texts / sizeof texts[0])]);
    if (change % 16 == 0) let_all_look();
  }
  let_all_look();
  set_and_read_groups("affinity-mask");
  check_all(1);
  let_all_look();
  check_all(0);
  let_all_look();
  set_groups("none");
  end_all();
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("groupstest", argc, argv);
  if (access("/proc/sched", W_OK) != 0) return check_done();  // not Corral
  set_groups("none");
  if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
    CHECK_EQ(try_groups("affinity-mask"), EINVAL);  // a class would have none
    return check_done();
  }
  constexpr const char* methods[] = {"affinity-mask:layout=grouped", "blocked-migration:layout=alternate",
                                     "run-queue-entry:layout=double-alternate"};
  for (const char* method : methods) {
    test_classes_stay_apart(method);
    test_masks(method == methods[0]);
    test_nonsense_is_refused();
    end_all();
    set_groups("none");
  }
  test_a_dynamic_ratio_follows_the_load();
  test_changes_lose_nobody();
  return check_done();
}
