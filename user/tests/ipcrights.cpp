// Whose System V's and POSIX's objects are, and who may use, change and remove them.

#include "tests/check.h"
#include "tests/users.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

namespace {

using namespace users;

union SemaphoreArgument {  // union semun
  int value;
  semid_ds* status;
  unsigned short* all;
};

void test_queue() {
  const key_t key = 0x1c0001;
  const int queue = msgget(key, IPC_CREAT | IPC_EXCL | 0620);
  CHECK(queue >= 0);
  struct Message {
    long type;
    char text[4];
  };
  in_child([&] {  // of nobody's group: neither reads nor writes
    become(alice, alice);
    Message message = {1, "abc"};
    CHECK_ERRNO(msgget(key, 0600), EACCES);
    CHECK_EQ(msgget(key, 0), queue);
    CHECK_ERRNO(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT), EACCES);
    CHECK_ERRNO(msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT), EACCES);
    msqid_ds status;
    CHECK_ERRNO(msgctl(queue, IPC_STAT, &status), EACCES);
    memset(&status, 0, sizeof status);
    CHECK_ERRNO(msgctl(queue, IPC_SET, &status), EPERM);
    CHECK_ERRNO(msgctl(queue, IPC_RMID, nullptr), EPERM);
  });
  in_child([&] {  // root's group may write
    CHECK_EQ(setresuid(alice, alice, alice), 0);
    Message message = {1, "abc"};
    CHECK_EQ(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT), 0);
    CHECK_ERRNO(msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT), EACCES);
  });
  // Given to alice, who may now do as she likes, but not get more room.
  msqid_ds status;
  CHECK_EQ(msgctl(queue, IPC_STAT, &status), 0);
  CHECK_EQ(status.msg_perm.uid, 0);
  status.msg_perm.uid = alice;
  CHECK_EQ(msgctl(queue, IPC_SET, &status), 0);
  in_child([&] {
    become(alice, alice);
    Message message;
    msqid_ds told;
    CHECK_EQ(msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT), sizeof message.text);
    CHECK_EQ(msgctl(queue, IPC_STAT, &told), 0);
    CHECK_EQ(told.msg_perm.uid, alice);
    CHECK_EQ(told.msg_perm.cuid, 0);
    told.msg_qbytes = 1 << 24;
    CHECK_ERRNO(msgctl(queue, IPC_SET, &told), EPERM);
    CHECK_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
  });
  CHECK_ERRNO(msgctl(queue, IPC_STAT, &status), EINVAL);
}

void test_semaphores() {
  int set = -1;
  const key_t key = 0x1c0002;
  in_child([&] {
    become(bob, staff);
    CHECK(semget(key, 2, IPC_CREAT | IPC_EXCL | 0640) >= 0);
  });
  set = semget(key, 0, 0);
  CHECK(set >= 0);
  semid_ds status;
  SemaphoreArgument argument{};
  argument.status = &status;
  CHECK_EQ(semctl(set, 0, IPC_STAT, argument), 0);
  CHECK_EQ(status.sem_perm.uid, bob);
  CHECK_EQ(status.sem_perm.cuid, bob);
  CHECK_EQ(status.sem_perm.cgid, staff);
  in_child([&] {  // his group may look
    become(alice, staff);
    CHECK_EQ(semctl(set, 1, GETVAL), 0);
    sembuf zero = {0, 0, IPC_NOWAIT};
    sembuf more = {0, 1, IPC_NOWAIT};
    sembuf none = {2, 1, IPC_NOWAIT};
    CHECK_EQ(semop(set, &zero, 1), 0);
    CHECK_ERRNO(semop(set, &more, 1), EACCES);
    CHECK_ERRNO(semop(set, &none, 1), EFBIG);  // told first
    SemaphoreArgument one{};
    one.value = 1;
    CHECK_ERRNO(semctl(set, 0, SETVAL, one), EACCES);
    CHECK_ERRNO(semctl(set, 0, IPC_RMID), EPERM);
  });
  in_child([&] {
    become(alice, alice);
    CHECK_ERRNO(semctl(set, 1, GETVAL), EACCES);
    semid_ds told;
    SemaphoreArgument to{};
    to.status = &told;
    CHECK_ERRNO(semctl(set, 0, IPC_STAT, to), EACCES);
  });
  in_child([&] {
    become(bob, staff);
    CHECK_EQ(semctl(set, 0, IPC_RMID), 0);
  });
}

void test_segment() {
  const int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0604);
  CHECK(segment >= 0);
  in_child([&] {
    become(alice, alice);
    CHECK(shmat(segment, nullptr, 0) == reinterpret_cast<void*>(-1) && errno == EACCES);
    void* place = shmat(segment, nullptr, SHM_RDONLY);
    CHECK(place != reinterpret_cast<void*>(-1));
    CHECK_EQ(shmdt(place), 0);
    CHECK_ERRNO(shmctl(segment, IPC_RMID, nullptr), EPERM);
    CHECK_ERRNO(shmctl(segment, SHM_LOCK, nullptr), EPERM);
    shmid_ds status;
    CHECK_EQ(shmctl(segment, IPC_STAT, &status), 0);
    CHECK_EQ(status.shm_perm.cuid, 0);
    CHECK_ERRNO(shmctl(segment, IPC_SET, &status), EPERM);
  });
  CHECK_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
}

void test_message_queue() {
  const char* const name = "/ipcrights";
  mq_unlink(name);
  mqd_t queue = -1;
  in_child([&] {
    become(bob, staff);
    umask(0);
    CHECK(mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0640, nullptr) >= 0);
  });
  queue = mq_open(name, O_RDWR);
  CHECK(queue >= 0);
  struct stat status;
  CHECK_EQ(fstat(queue, &status), 0);
  CHECK_EQ(status.st_uid, bob);
  CHECK_EQ(status.st_gid, staff);
  in_child([&] {
    become(alice, staff);
    CHECK(mq_open(name, O_RDONLY) >= 0);
    CHECK_ERRNO(mq_open(name, O_WRONLY), EACCES);
    CHECK_ERRNO(mq_unlink(name), EACCES);
  });
  in_child([&] {
    become(alice, alice);
    CHECK_ERRNO(mq_open(name, O_RDONLY), EACCES);
  });
  in_child([&] {
    become(bob, bob);
    CHECK_EQ(mq_unlink(name), 0);
  });
  CHECK_EQ(mq_close(queue), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("ipcrights", argc, argv);
  test_queue();
  test_semaphores();
  test_segment();
  test_message_queue();
  return check_done();
}
