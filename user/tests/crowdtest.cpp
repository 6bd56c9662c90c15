// The pattern of hackbench: groups in which every sender writes to every receiver, through socket pairs or pipes, by
// processes or by threads. All that is sent arrives; nobody waits for ever.

#include "tests/check.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace {

constexpr int members = 5;  // senders, and receivers, of a group
constexpr int groups = 2;
constexpr size_t size = 100;

struct Group {
  int reader[members], writer[members];
  int ready_writer;  // each member says that it is there …
  int go_reader;     // … and waits for the start
  long messages;
};

void open_channel(bool pipes, int& reader, int& writer) {
  int ends[2];
  CHECK_EQ(pipes ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  reader = ends[0];
  writer = ends[1];
}

void be_ready(const Group& group) {
  CHECK_EQ(write(group.ready_writer, "r", 1), 1);
  pollfd polled = {group.go_reader, POLLIN, 0};
  CHECK_EQ(poll(&polled, 1, -1), 1);
}

void* send_all(void* argument) {
  const Group& group = *static_cast<Group*>(argument);
  char message[size] = {};
  be_ready(group);
  for (long i = 0; i < group.messages; ++i) {
    for (const int writer : group.writer) {
      for (size_t done = 0; done < size;) {
        const ssize_t now = write(writer, message + done, size - done);
        CHECK(now > 0);
        done += static_cast<size_t>(now);
      }
    }
  }
  return nullptr;
}

struct Receiver {
  Group* group;
  int reader;
};

void* receive_all(void* argument) {
  const Receiver& own = *static_cast<Receiver*>(argument);
  char message[size];
  be_ready(*own.group);
  for (long left = own.group->messages * members * static_cast<long>(size); left > 0;) {
    const ssize_t now = read(own.reader, message, left < static_cast<long>(size) ? static_cast<size_t>(left) : size);
    CHECK(now > 0);
    left -= now;
  }
  return nullptr;
}

void crowd(bool pipes, bool threads) {
  static Group all[groups];
  static Receiver receivers[groups * members];
  static pthread_t workers[groups * members * 2];
  static pid_t children[groups * members * 2];
  int ready_reader, go_writer, ready_writer, go_reader;
  open_channel(true, ready_reader, ready_writer);
  open_channel(true, go_reader, go_writer);
  for (int g = 0; g < groups; ++g) {
    all[g].messages = 40 * check_effort;
    all[g].ready_writer = ready_writer;
    all[g].go_reader = go_reader;
    for (int i = 0; i < members; ++i) {
      open_channel(pipes, all[g].reader[i], all[g].writer[i]);
      receivers[g * members + i] = {&all[g], all[g].reader[i]};
    }
  }
  for (int i = 0; i < groups * members * 2; ++i) {
    const bool sends = i % 2 != 0;
    void* argument = sends ? static_cast<void*>(&all[i / 2 / members]) : static_cast<void*>(&receivers[i / 2]);
    if (threads) {
      CHECK_EQ(pthread_create(&workers[i], nullptr, sends ? send_all : receive_all, argument), 0);
    } else {
      children[i] = fork();
      CHECK(children[i] >= 0);
      if (children[i] == 0) {
        sends ? send_all(argument) : receive_all(argument);
        _exit(0);
      }
    }
  }
  char byte;
  for (int i = 0; i < groups * members * 2; ++i) CHECK_EQ(read(ready_reader, &byte, 1), 1);
  const int64_t start = check_now_ns();
  CHECK_EQ(write(go_writer, "g", 1), 1);
  for (int i = 0; i < groups * members * 2; ++i) {
    int status = 0;
    if (threads) {
      CHECK_EQ(pthread_join(workers[i], nullptr), 0);
    } else {
      CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
    }
    CHECK_EQ(status, 0);
  }
  printf("crowdtest: %s, %s: %lld us\n", pipes ? "pipes" : "sockets", threads ? "threads" : "processes",
         static_cast<long long>((check_now_ns() - start) / 1000));
  for (const Group& group : all) {
    for (int i = 0; i < members; ++i) {
      CHECK_EQ(close(group.reader[i]), 0);
      CHECK_EQ(close(group.writer[i]), 0);
    }
  }
  const int ends[] = {ready_reader, ready_writer, go_reader, go_writer};
  for (const int end : ends) CHECK_EQ(close(end), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("crowdtest", argc, argv);
  crowd(false, false);
  crowd(false, true);
  crowd(true, false);
  crowd(true, true);
  return check_done();
}
