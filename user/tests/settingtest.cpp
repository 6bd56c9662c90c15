// /proc/sys: what root writes there is what the system goes by, wrong numbers change nothing, and others may not write. Every
// setting is put back. Needs root on Linux, too.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "check.h"
#include "users.h"

using users::become;
using users::in_child;

namespace {

struct Text {
  char bytes[256];
};

bool same(const Text& text, const char* expected) {
  return strcmp(text.bytes, expected) == 0;
}

Text read_file(const char* path) {
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  Text text = {};
  CHECK(read(file, text.bytes, sizeof text.bytes - 1) >= 0);
  close(file);
  return text;
}

ssize_t try_write(const char* path, const char* text) {
  const int file = open(path, O_WRONLY);
  if (file < 0) return -1;
  const ssize_t written = write(file, text, strlen(text));
  const int error = errno;
  close(file);
  errno = error;
  return written;
}

void write_file(const char* path, const char* text) {
  CHECK_EQ(try_write(path, text), strlen(text));
}

// Changed for as long as it lives.
class Changed {
 public:
  Changed(const char* path, const char* value) : path_{path}, before_{read_file(path)} {
    write_file(path, value);
    Text shown = read_file(path);
    shown.bytes[strcspn(shown.bytes, "\n")] = '\0';
    CHECK(same(shown, value));
  }
  ~Changed() { write_file(path_, before_.bytes); }
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;

 private:
  const char* path_;
  Text before_;
};

void test_process_numbers() {
  const Changed most("/proc/sys/kernel/pid_max", "400");
  for (int i = 0; i < 450; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0 && child <= 400);
    if (child == 0) _exit(0);
    CHECK_EQ(waitpid(child, nullptr, 0), child);
  }
}

// Children that wait for the end of a pipe, until there can be no more.
void test_number_of_threads() {
  int end[2];
  CHECK_EQ(pipe(end), 0);
  pid_t children[40];
  int count = 0;
  {
    const Changed most("/proc/sys/kernel/threads-max", "40");
    for (;;) {
      const pid_t child = fork();
      if (child < 0) break;
      if (child == 0) {
        close(end[1]);
        char byte;
        _exit(static_cast<int>(read(end[0], &byte, 1)));
      }
      CHECK(count < 40);
      children[count++] = child;
    }
    CHECK_EQ(errno, EAGAIN);
  }
  close(end[0]);
  close(end[1]);
  for (int i = 0; i < count; ++i) CHECK_EQ(waitpid(children[i], nullptr, 0), children[i]);
  const pid_t another = fork();
  CHECK(another >= 0);
  if (another == 0) _exit(0);
  CHECK_EQ(waitpid(another, nullptr, 0), another);
}

void test_pipes() {
  const Changed most("/proc/sys/fs/pipe-max-size", "65536");
  int end[2];
  CHECK_EQ(pipe(end), 0);
  CHECK_EQ(fcntl(end[0], F_SETPIPE_SZ, 131072), 131072);  // root may
  CHECK_EQ(fcntl(end[0], F_SETPIPE_SZ, 4096), 4096);
  in_child([&] {
    become(1000, 1000);
    CHECK_ERRNO(fcntl(end[0], F_SETPIPE_SZ, 131072), EPERM);
    CHECK_EQ(fcntl(end[0], F_SETPIPE_SZ, 65536), 65536);
  });
  {
    const Changed least("/proc/sys/fs/pipe-max-size", "8192");
    int another[2];
    CHECK_EQ(pipe(another), 0);
    CHECK_EQ(fcntl(another[1], F_GETPIPE_SZ), 65536);
    close(another[0]);
    close(another[1]);
    in_child([&] {
      become(1000, 1000);
      CHECK_EQ(pipe(another), 0);
      CHECK_EQ(fcntl(another[1], F_GETPIPE_SZ), 8192);
    });
  }
  close(end[0]);
  close(end[1]);
}

void test_pipe_sizes_are_rounded() {
  const char* const path = "/proc/sys/fs/pipe-max-size";
  const Text before = read_file(path);
  write_file(path, "70000");
  CHECK(same(read_file(path), "131072\n"));
  CHECK_ERRNO(try_write(path, "x"), EINVAL);
  CHECK(same(read_file(path), "131072\n"));
  write_file(path, before.bytes);
}

void test_mappings() {
  in_child([] {
    const Changed most("/proc/sys/vm/max_map_count", "100");
    int made = 0;
    for (; made < 200; ++made) {  // by turns readable and not, so that no two are one
      const int protection = made % 2 == 0 ? PROT_READ : PROT_NONE;
      if (mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
    }
    CHECK(made > 20 && made < 100);
    CHECK_EQ(errno, ENOMEM);
  });
}

void test_system_v() {
  {
    const Changed limits("/proc/sys/kernel/sem", "10\t100\t5\t20");
    CHECK_ERRNO(semget(IPC_PRIVATE, 11, 0600), EINVAL);
    const int set = semget(IPC_PRIVATE, 10, 0600);
    CHECK(set >= 0);
    sembuf operations[6] = {};
    CHECK_ERRNO(semop(set, operations, 6), E2BIG);
    CHECK_EQ(semop(set, operations, 5), 0);
    CHECK_EQ(semctl(set, 0, IPC_RMID), 0);
  }
  {
    const Changed largest("/proc/sys/kernel/msgmax", "100");
    const int queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
    struct {
      long type;
      char text[101];
    } message = {1, {}};
    CHECK_ERRNO(msgsnd(queue, &message, 101, 0), EINVAL);
    CHECK_EQ(msgsnd(queue, &message, 100, 0), 0);
    CHECK_EQ(msgctl(queue, IPC_RMID, nullptr), 0);
  }
  {
    const Changed largest("/proc/sys/kernel/shmmax", "8192");
    CHECK_ERRNO(shmget(IPC_PRIVATE, 8193, 0600), EINVAL);
    const int segment = shmget(IPC_PRIVATE, 8192, 0600);
    CHECK(segment >= 0);
    CHECK_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
  }
}

void test_message_queues() {
  const Changed most("/proc/sys/fs/mqueue/msg_max", "5");
  mq_attr attributes = {};
  attributes.mq_msgsize = 16;
  in_child([&] {
    become(1000, 1000);
    attributes.mq_maxmsg = 6;
    CHECK_ERRNO(mq_open("/settingtest", O_CREAT | O_RDWR, 0600, &attributes), EINVAL);
    attributes.mq_maxmsg = 5;
    CHECK(mq_open("/settingtest", O_CREAT | O_RDWR, 0600, &attributes) >= 0);
    CHECK_EQ(mq_unlink("/settingtest"), 0);
  });
  attributes.mq_maxmsg = 6;  // root may
  CHECK(mq_open("/settingtest", O_CREAT | O_RDWR, 0600, &attributes) >= 0);
  CHECK_EQ(mq_unlink("/settingtest"), 0);
}

void test_wrong_numbers() {
  const char* const path = "/proc/sys/kernel/pid_max";
  const Text before = read_file(path);
  const char* const wrong_ones[] = {"x", "300", "4194305", "-1", "99999999999999999999999"};
  for (const char* wrong : wrong_ones) CHECK_ERRNO(try_write(path, wrong), EINVAL);
  CHECK(same(read_file(path), before.bytes));
  write_file(path, " \t32768 \n");
  CHECK(same(read_file(path), "32768\n"));
  write_file(path, before.bytes);
  in_child([&] {
    become(1000, 1000);
    CHECK_ERRNO(try_write(path, "1000"), EACCES);
    CHECK(same(read_file(path), before.bytes));
  });
}

void test_caches() {
  write_file("/proc/sys/vm/drop_caches", "1");
  CHECK_ERRNO(try_write("/proc/sys/vm/drop_caches", "0"), EINVAL);
  CHECK_ERRNO(try_write("/proc/sys/vm/drop_caches", "9"), EINVAL);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("settingtest", argc, argv);
  test_process_numbers();
  test_number_of_threads();
  test_pipes();
  test_pipe_sizes_are_rounded();
  test_mappings();
  test_system_v();
  test_message_queues();
  test_wrong_numbers();
  test_caches();
  return check_done();
}
