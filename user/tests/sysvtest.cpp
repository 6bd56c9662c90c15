// System V's semaphores: errors, waiting and signals, hand-over, undoing, removal, many processes at once. Message queues:
// messagetest.cpp. Shared memory: shmtest.cpp.

#include "tests/check.h"
#include "tests/children.h"
#include "tests/signals.h"

#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

union SemaphoreArgument {
  int value;
  struct semid_ds* status;
  unsigned short* all;
  void* limits;
};

int control(int set, int number, int command, int value = 0) {
  SemaphoreArgument argument = {};
  argument.value = value;
  return semctl(set, number, command, argument);
}

int operate(int set, int number, int change, int flags = 0) {
  struct sembuf operation = {static_cast<unsigned short>(number), static_cast<short>(change), static_cast<short>(flags)};
  return semop(set, &operation, 1);
}

// Waits until so many wait at the semaphore.
void until_waiting(int set, int number, int command, int count) {
  while (control(set, number, command) != count) check_sleep_us(1000);
}

// ---- semaphores ------------------------------------------------------------------------------------------------------------

void check_semaphore_values() {
  CHECK_ERRNO(semget(IPC_PRIVATE, -1, 0600), EINVAL);
  CHECK_ERRNO(semget(IPC_PRIVATE, 0, 0600), EINVAL);
  CHECK_ERRNO(semget(IPC_PRIVATE, 32001, 0600), EINVAL);
  const key_t key = 0x5e3a0000 + getpid() % 10000;
  CHECK_ERRNO(semget(key, 2, 0600), ENOENT);
  const int set = semget(key, 3, IPC_CREAT | IPC_EXCL | 0640);
  CHECK(set >= 0);
  CHECK_EQ(semget(key, 0, 0), set);
  CHECK_ERRNO(semget(key, 4, 0), EINVAL);
  CHECK_ERRNO(semget(key, 3, IPC_CREAT | IPC_EXCL), EEXIST);
  CHECK_EQ(control(set, 1, SETVAL, 5), 0);
  CHECK_EQ(control(set, 1, GETVAL), 5);
  CHECK_EQ(control(set, 1, GETPID), getpid());
  CHECK_ERRNO(control(set, 3, GETVAL), EINVAL);
  CHECK_ERRNO(control(set, -1, GETVAL), EINVAL);
  CHECK_ERRNO(control(set, 0, SETVAL, 32768), ERANGE);
  CHECK_ERRNO(control(set, 0, SETVAL, -1), ERANGE);
  CHECK_ERRNO(control(set, 0, 77), EINVAL);
  CHECK_ERRNO(control(-1, 0, GETVAL), EINVAL);
  unsigned short values[3] = {1, 2, 40000};
  SemaphoreArgument argument = {};
  argument.all = values;
  CHECK_ERRNO(semctl(set, 0, SETALL, argument), ERANGE);
  values[2] = 3;
  CHECK_EQ(semctl(set, 0, SETALL, argument), 0);
  memset(values, 0, sizeof values);
  CHECK_EQ(semctl(set, 0, GETALL, argument), 0);
  CHECK(values[0] == 1 && values[1] == 2 && values[2] == 3);
  struct semid_ds status = {};
  argument.status = &status;
  CHECK_EQ(semctl(set, 0, IPC_STAT, argument), 0);
  CHECK_EQ(status.sem_nsems, 3);
  CHECK_EQ(status.sem_perm.mode & 0777, 0640);
  CHECK_EQ(status.sem_otime, 0);
  CHECK(status.sem_ctime > 0);
  status.sem_perm.mode = 0600;
  CHECK_EQ(semctl(set, 0, IPC_SET, argument), 0);
  CHECK_EQ(semctl(set, 0, IPC_STAT, argument), 0);
  CHECK_EQ(status.sem_perm.mode & 0777, 0600);
  // All or nothing.
  struct sembuf both[2] = {{0, -1, 0}, {1, -9, IPC_NOWAIT}};
  CHECK_ERRNO(semop(set, both, 2), EAGAIN);
  CHECK_EQ(control(set, 0, GETVAL), 1);
  both[1] = {1, 32767, 0};
  CHECK_ERRNO(semop(set, both, 2), ERANGE);
  CHECK_EQ(control(set, 0, GETVAL), 1);
  both[1] = {0, 0, IPC_NOWAIT};
  CHECK_EQ(semop(set, both, 2), 0);
  CHECK_EQ(control(set, 0, GETVAL), 0);
  both[1] = {3, 1, 0};
  CHECK_ERRNO(semop(set, both, 2), EFBIG);
  CHECK_ERRNO(semop(set, both, 0), EINVAL);
  CHECK_ERRNO(semop(set, both, 501), E2BIG);
  CHECK_ERRNO(semop(-1, both, 1), EINVAL);
  CHECK_ERRNO(semop(set, static_cast<struct sembuf*>(nullptr), 1), EFAULT);
  CHECK_ERRNO(operate(set, 0, -1, IPC_NOWAIT), EAGAIN);
  CHECK_ERRNO(operate(set, 1, 0, IPC_NOWAIT), EAGAIN);
  struct timespec wrong = {0, 1000000000};
  CHECK_ERRNO(semtimedop(set, both, 1, &wrong), EINVAL);
  struct timespec soon = {0, 20000000};
  const int64_t before = check_now_ns();
  both[0] = {0, -1, 0};
  CHECK_ERRNO(semtimedop(set, both, 1, &soon), EAGAIN);
  CHECK(check_now_ns() - before >= 20000000);
  CHECK_EQ(control(set, 0, GETNCNT), 0);
  CHECK_EQ(control(set, 0, IPC_RMID), 0);
  CHECK_ERRNO(control(set, 0, IPC_RMID), EINVAL);
  CHECK_ERRNO(semget(key, 1, 0), ENOENT);
}

void check_semaphore_waits() {
  const int set = semget(IPC_PRIVATE, 2, 0600);
  CHECK(set >= 0);
  CHECK_EQ(control(set, 1, SETVAL, 1), 0);
  // One that waits for more, one for zero.
  pid_t child = fork();
  if (child == 0) _exit(operate(set, 0, -2) == 0 ? 0 : 1);
  pid_t other = fork();
  if (other == 0) _exit(operate(set, 1, 0) == 0 ? 0 : 1);
  until_waiting(set, 0, GETNCNT, 1);
  until_waiting(set, 1, GETZCNT, 1);
  CHECK_EQ(operate(set, 0, 1), 0);
  CHECK_EQ(operate(set, 0, 1), 0);
  children::expect_exit(child, 0);
  CHECK_EQ(control(set, 0, GETPID), child);
  CHECK_EQ(operate(set, 1, -1), 0);
  children::expect_exit(other, 0);
  CHECK_EQ(control(set, 0, GETNCNT), 0);
  CHECK_EQ(control(set, 1, GETZCNT), 0);
  // A signal ends the wait, whatever its handler's flags; being killed leaves nothing behind.
  child = fork();
  if (child == 0) {
    signals::on(SIGUSR1, signals::count_signal, SA_RESTART);
    _exit(operate(set, 0, -1) == -1 && errno == EINTR ? 0 : 1);
  }
  until_waiting(set, 0, GETNCNT, 1);
  CHECK_EQ(kill(child, SIGUSR1), 0);
  children::expect_exit(child, 0);
  child = fork();
  if (child == 0) _exit(operate(set, 0, -1));
  until_waiting(set, 0, GETNCNT, 1);
  CHECK_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, SIGKILL);
  CHECK_EQ(control(set, 0, GETNCNT), 0);
  // Removal ends it.
  child = fork();
  if (child == 0) _exit(operate(set, 0, -1) == -1 && errno == EIDRM ? 0 : 1);
  until_waiting(set, 0, GETNCNT, 1);
  CHECK_EQ(control(set, 0, IPC_RMID), 0);
  children::expect_exit(child, 0);
}

// What is given goes to who waits for it, before the giver can take it again: at once, and in the order of waiting.
void check_hand_over() {
  const int set = semget(IPC_PRIVATE, 3, 0600);
  CHECK(set >= 0);
  pid_t child = fork();
  if (child == 0) _exit(operate(set, 0, -1) == 0 ? 0 : 1);
  until_waiting(set, 0, GETNCNT, 1);
  for (int i = 0; i < 2; ++i) {  // the first is the child's, the second anybody's
    CHECK_EQ(operate(set, 0, 1), 0);
    CHECK_EQ(control(set, 0, GETVAL), i);
  }
  CHECK_EQ(control(set, 0, GETNCNT), 0);
  CHECK_EQ(operate(set, 0, -1, IPC_NOWAIT), 0);
  children::expect_exit(child, 0);
  // The one that came first is served first; one that wants more than there is lets others pass.
  pid_t waiting[3];
  const int wanted[3] = {-3, -1, -1};
  for (int i = 0; i < 3; ++i) {
    waiting[i] = fork();
    if (waiting[i] == 0) _exit(operate(set, 0, wanted[i]) == 0 ? 0 : 1);
    until_waiting(set, 0, GETNCNT, i + 1);
  }
  CHECK_EQ(operate(set, 0, 1), 0);
  CHECK_EQ(control(set, 0, GETNCNT), 2);
  children::expect_exit(waiting[1], 0);
  CHECK_EQ(operate(set, 0, 3), 0);
  CHECK_EQ(control(set, 0, GETNCNT), 1);
  CHECK_EQ(control(set, 0, GETVAL), 0);
  children::expect_exit(waiting[0], 0);
  // What is done for one may be what another waits for; several operations on one counter.
  child = fork();
  if (child == 0) {
    struct sembuf both[2] = {{1, -1, 0}, {0, 1, 0}};
    _exit(semop(set, both, 2) == 0 ? 0 : 1);
  }
  until_waiting(set, 1, GETNCNT, 1);
  CHECK_EQ(operate(set, 1, 1), 0);
  CHECK_EQ(control(set, 0, GETNCNT), 0);
  children::expect_exit(child, 0);
  children::expect_exit(waiting[2], 0);
  child = fork();
  if (child == 0) {
    struct sembuf both[2] = {{0, 1, 0}, {0, -3, 0}};
    _exit(semop(set, both, 2) == 0 ? 0 : 1);
  }
  until_waiting(set, 0, GETNCNT, 1);
  CHECK_EQ(operate(set, 0, 1), 0);
  CHECK_EQ(control(set, 0, GETNCNT), 1);
  CHECK_EQ(operate(set, 0, 1), 0);
  CHECK_EQ(control(set, 0, GETVAL), 0);
  children::expect_exit(child, 0);
  // The second operation may not wait: the thread that waits for the first is told.
  child = fork();
  if (child == 0) {
    struct sembuf both[2] = {{0, -1, 0}, {1, -1, IPC_NOWAIT}};
    _exit(semop(set, both, 2) == -1 && errno == EAGAIN ? 0 : 1);
  }
  until_waiting(set, 0, GETNCNT, 1);
  CHECK_EQ(operate(set, 0, 1), 0);
  CHECK_EQ(control(set, 0, GETVAL), 1);
  children::expect_exit(child, 0);
  // What is done for one that is to be undone at its end is.
  CHECK_EQ(control(set, 2, SETVAL, 0), 0);
  child = fork();
  if (child == 0) _exit(operate(set, 2, -1, SEM_UNDO) == 0 ? 0 : 1);
  until_waiting(set, 2, GETNCNT, 1);
  CHECK_EQ(operate(set, 2, 1), 0);
  children::expect_exit(child, 0);
  CHECK_EQ(control(set, 2, GETVAL), 1);
  CHECK_EQ(control(set, 0, IPC_RMID), 0);
}

void check_undo() {
  const int set = semget(IPC_PRIVATE, 2, 0600);
  CHECK_EQ(control(set, 0, SETVAL, 3), 0);
  pid_t child = fork();
  if (child == 0) {
    CHECK_EQ(operate(set, 0, -2, SEM_UNDO), 0);
    CHECK_EQ(operate(set, 1, 7, SEM_UNDO), 0);
    CHECK_EQ(control(set, 0, GETVAL), 1);
    const pid_t grandchild = fork();  // inherits nothing that would be undone
    if (grandchild == 0) _exit(0);
    CHECK_EQ(waitpid(grandchild, nullptr, 0), grandchild);
    CHECK_EQ(control(set, 0, GETVAL), 1);
    _exit(0);
  }
  children::expect_exit(child, 0);
  CHECK_EQ(control(set, 0, GETVAL), 3);
  CHECK_EQ(control(set, 1, GETVAL), 0);
  // Setting a value forgets what was to be undone.
  child = fork();
  if (child == 0) {
    CHECK_EQ(operate(set, 0, -2, SEM_UNDO), 0);
    CHECK_EQ(control(set, 0, SETVAL, 9), 0);
    _exit(0);
  }
  children::expect_exit(child, 0);
  CHECK_EQ(control(set, 0, GETVAL), 9);
  CHECK_EQ(control(set, 0, SETVAL, 0), 0);
  // A holder that is killed gives its semaphore back to who waits.
  CHECK_EQ(control(set, 0, SETVAL, 1), 0);
  child = fork();
  if (child == 0) {
    CHECK_EQ(operate(set, 0, -1, SEM_UNDO), 0);
    for (;;) pause();
  }
  while (control(set, 0, GETVAL) != 0) check_sleep_us(1000);
  const pid_t waiter = fork();
  if (waiter == 0) _exit(operate(set, 0, -1) == 0 ? 0 : 1);
  until_waiting(set, 0, GETNCNT, 1);
  CHECK_EQ(kill(child, SIGKILL), 0);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  children::expect_exit(waiter, 0);
  CHECK_EQ(control(set, 0, IPC_RMID), 0);
}

// Processes add to a shared number under a semaphore; the number is right in the end.
void check_exclusion() {
  const int set = semget(IPC_PRIVATE, 1, 0600);
  CHECK_EQ(control(set, 0, SETVAL, 1), 0);
  const int segment = shmget(IPC_PRIVATE, sizeof(long), 0600);
  CHECK(segment >= 0);
  auto* sum = static_cast<volatile long*>(shmat(segment, nullptr, 0));
  CHECK(sum != reinterpret_cast<void*>(-1));
  constexpr int processes = 8;
  const long turns = 300 * check_effort;
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    for (long turn = 0; turn < turns; ++turn) {
      CHECK_EQ(operate(set, 0, -1, turn % 2 == 0 ? SEM_UNDO : 0), 0);
      const long before = *sum;
      if (turn % 16 == 0) sched_yield();
      *sum = before + 1;
      CHECK_EQ(operate(set, 0, 1, turn % 2 == 0 ? SEM_UNDO : 0), 0);
    }
    _exit(0);
  }
  for (int i = 0; i < processes; ++i) {
    int status = -1;
    CHECK(wait(&status) > 0);
    CHECK_EQ(status, 0);
  }
  CHECK_EQ(*sum, processes * turns);
  CHECK_EQ(shmdt(const_cast<long*>(sum)), 0);
  CHECK_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
  CHECK_EQ(control(set, 0, IPC_RMID), 0);
}

void check_files() {
  const int set = semget(IPC_PRIVATE, 7, 0640);
  char text[4096] = {};
  FILE* file = fopen("/proc/sysvipc/sem", "r");
  CHECK(file != nullptr);
  bool found = false;
  while (fgets(text, sizeof text, file) != nullptr) {
    int key = -1, number = -1, mode = 0, count = 0;
    if (sscanf(text, "%d %d %o %d", &key, &number, &mode, &count) == 4 && number == set) {
      found = key == 0 && mode == 0640 && count == 7;
    }
  }
  CHECK(found);
  fclose(file);
  CHECK_EQ(control(set, 0, IPC_RMID), 0);
  file = fopen("/proc/sys/kernel/sem", "r");
  CHECK(file != nullptr);
  long limits[4] = {};
  CHECK_EQ(fscanf(file, "%ld %ld %ld %ld", &limits[0], &limits[1], &limits[2], &limits[3]), 4);
  CHECK(limits[0] == 32000 && limits[2] == 500 && limits[3] == 32000);
  fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("sysvtest", argc, argv);
  check_semaphore_values();
  check_semaphore_waits();
  check_hand_over();
  check_undo();
  check_exclusion();
  check_files();
  return check_done();
}
