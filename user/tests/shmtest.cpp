// System V's shared memory: errors, attachments and their number through fork, cuts and ends, removal, memory that comes back.

#include "tests/check.h"
#include "tests/children.h"

#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

namespace {

unsigned long attachments(int segment) {
  struct shmid_ds status = {};
  CHECK_EQ(shmctl(segment, IPC_STAT, &status), 0);
  return status.shm_nattch;
}

bool failed(const void* address, int error) {
  return address == reinterpret_cast<void*>(-1) && errno == error;
}

void check_segments() {
  const key_t key = 0x53480000 + getpid() % 10000;
  CHECK_ERRNO(shmget(key, 0, IPC_CREAT | 0600), EINVAL);
  CHECK_ERRNO(shmget(key, 4096, 0600), ENOENT);
  const int segment = shmget(key, 10000, IPC_CREAT | 0600);
  CHECK(segment >= 0);
  CHECK_EQ(shmget(key, 0, 0), segment);
  CHECK_EQ(shmget(key, 10000, 0), segment);
  CHECK_ERRNO(shmget(key, 10001, 0), EINVAL);
  CHECK_ERRNO(shmget(key, 1, IPC_CREAT | IPC_EXCL), EEXIST);
  CHECK_EQ(attachments(segment), 0);
  CHECK(failed(shmat(-1, nullptr, 0), EINVAL));
  CHECK(failed(shmat(segment, reinterpret_cast<void*>(0x10001), 0), EINVAL));
  CHECK(failed(shmat(segment, nullptr, SHM_REMAP), EINVAL));
  auto* first = static_cast<char*>(shmat(segment, nullptr, 0));
  CHECK(first != reinterpret_cast<char*>(-1));
  auto* second = static_cast<char*>(shmat(segment, nullptr, SHM_RDONLY));
  CHECK(second != reinterpret_cast<char*>(-1) && second != first);
  CHECK_EQ(attachments(segment), 2);
  CHECK(failed(shmat(segment, first, 0), EINVAL));
  CHECK(shmat(segment, first + 5, SHM_RND | SHM_REMAP) == first);
  first[9999] = 'x';
  CHECK_EQ(second[9999], 'x');
  CHECK_EQ(second[10001], 0);
  CHECK_ERRNO(shmdt(first + 4096), EINVAL);
  CHECK_ERRNO(shmdt(first + 1), EINVAL);
  CHECK_EQ(shmdt(second), 0);
  CHECK_ERRNO(shmdt(second), EINVAL);
  CHECK_EQ(attachments(segment), 1);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    first[1] = 'c';
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    _exit(0);
  }
  CHECK_EQ(attachments(segment), 2);
  CHECK_EQ(write(ends[1], "x", 1), 1);
  children::expect_exit(child, 0);
  CHECK_EQ(first[1], 'c');
  CHECK_EQ(attachments(segment), 1);
  // A detached middle does not confuse the end.
  CHECK_EQ(munmap(first + 4096, 4096), 0);
  CHECK_EQ(attachments(segment), 2);
  // Removed: found by its number only, until the last attachment ends.
  CHECK_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
  CHECK_ERRNO(shmget(key, 0, 0), ENOENT);
  struct shmid_ds status = {};
  CHECK_EQ(shmctl(segment, IPC_STAT, &status), 0);
  CHECK_EQ(status.shm_perm.mode & 01777, 01600);
  CHECK_EQ(status.shm_cpid, getpid());
  auto* again = static_cast<char*>(shmat(segment, nullptr, 0));
  CHECK(again != reinterpret_cast<char*>(-1) && again[9999] == 'x');
  CHECK_EQ(shmdt(again), 0);
  CHECK_EQ(shmdt(first), 0);
  CHECK_ERRNO(shmctl(segment, IPC_STAT, &status), EINVAL);
  CHECK(failed(shmat(segment, nullptr, 0), EINVAL));
  close(ends[0]);
  close(ends[1]);
}

// Who touches a page for the first time looks at the segment meanwhile, and is not counted for that.
void check_faults_do_not_count() {
  const int segment = shmget(IPC_PRIVATE, 8 << 20, 0600);
  auto* bytes = static_cast<volatile char*>(shmat(segment, nullptr, 0));
  CHECK(bytes != reinterpret_cast<char*>(-1));
  constexpr long last = (8 << 20) - 4096;
  volatile char& looked_at = bytes[1];  // while the child is still at it
  const pid_t child = children::spawn([bytes, &looked_at] {
    for (long at = 0; at < last; at += 4096) bytes[at] = 1;
    while (looked_at == 0) sched_yield();
    bytes[last] = 1;
    return 0;
  });
  unsigned long most = 0;
  while (bytes[last] == 0) {
    const unsigned long now = attachments(segment);
    if (now > most) most = now;
    looked_at = 1;
  }
  CHECK_EQ(most, 2);
  children::expect_exit(child, 0);
  CHECK_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
  CHECK_EQ(shmdt(const_cast<char*>(bytes)), 0);
}

// Memory of segments comes back: more in all than there is, by turns; some detached by the end of a process only.
void check_memory_returns() {
  for (int turn = 0; turn < 40; ++turn) {
    const int segment = shmget(IPC_PRIVATE, 16 << 20, 0600);
    CHECK(segment >= 0);
    const pid_t child = fork();
    if (child == 0) {
      auto* bytes = static_cast<char*>(shmat(segment, nullptr, 0));
      CHECK(bytes != reinterpret_cast<char*>(-1));
      for (long at = 0; at < 16 << 20; at += 4096) bytes[at] = 1;
      CHECK_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
      _exit(0);
    }
    children::expect_exit(child, 0);
    struct shmid_ds status = {};
    CHECK_ERRNO(shmctl(segment, IPC_STAT, &status), EINVAL);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("shmtest", argc, argv);
  check_segments();
  check_faults_do_not_count();
  check_memory_returns();
  return check_done();
}
