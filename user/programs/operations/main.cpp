// operations: measures one basic operation of the operating system. The identical static program runs on Corral and on
// Linux; `./corral bench operations` compares them.
//
//   operations NAME [N [COPIES [processes|threads]]]
//   operations --list
//
// NAME N times in each of seven rounds, by COPIES processes (or threads) at once, each on a core of its own. One line:
//
//   operations: name=getpid copies=1 by=processes count=1000 ticks=63.000 least_ticks=63.000 ns=63.0
//
// ticks: of the time-stamp counter for one operation, median of the rounds, each round as long as its slowest copy took;
// least_ticks: the shortest round; ns: the same median by CLOCK_MONOTONIC. What the system cannot do ends with status 3
// and "operations: name=NAME unsupported=ERRNO (REASON)".
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "team.h"

const Operation operations[] = {
    {"null", 2000, null_call, "a system call that does not exist: in and out"},
    {"getpid", 2000, getpid_call, "getpid"},
    {"read", 1000, read_byte, "read 1 byte of /dev/zero"},
    {"write", 1000, write_byte, "write 1 byte to /dev/null"},
    {"switch-pipe", 500, pipe_switch, "two processes take turns by pipes: one turn"},
    {"switch-futex", 500, futex_switch, "two threads take turns by futexes: one turn"},
    {"thread", 100, thread_create, "create and join a thread"},
    {"fork", 50, fork_exit, "fork, exit and wait"},
    {"fork-64m", 3, fork_large, "the same with 64 MiB of touched memory"},
    {"exec-static", 20, exec_static, "fork, exec of a static program, exit and wait"},
    {"exec-dynamic", 20, exec_dynamic, "fork, exec of a dynamic program, exit and wait"},
    {"fault-anonymous", 512, fault_anonymous, "first touch of a page of anonymous memory, small pages"},
    {"fault-large", 2048, fault_large, "first touch of a page of a large mapping, as the system likes it"},
    {"fault-copy", 512, fault_copy, "first write to a page after a fork"},
    {"fault-file", 512, fault_file, "first read of a page of a mapped file that is in memory"},
    {"mmap", 500, map_unmap, "mmap and munmap of 16 KiB, untouched"},
    {"signal", 500, signal_delivery, "send a signal to oneself and handle it"},
    {"select", 200, select_100, "select on 100 descriptors, none ready"},
    {"eventfd", 500, event_counter, "add to an event counter and take from it"},
    {"epoll", 500, epoll_100, "epoll_wait on 100 descriptors, one ready"},
    {"unix-socket", 300, unix_socket, "1 byte to another process and back by UNIX sockets"},
    {"file-create", 200, file_create, "create, close and remove a file"},
    {"read-4k", 1000, read_page, "read 4 KiB of a file that is in memory"},
};
const size_t operation_count = sizeof operations / sizeof operations[0];

namespace {

const Operation* find(const char* name) {
  for (const Operation& operation : operations) {
    if (strcmp(operation.name, name) == 0) return &operation;
  }
  return nullptr;
}

[[noreturn]] void wrong_use(const char* why, const char* word) {
  fprintf(stderr, "operations: %s%s\nusage: operations NAME [N [COPIES [processes|threads]]]\n       operations --list\n", why,
          word);
  exit(2);
}

long number(const char* text, long most) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1 || value > most) wrong_use("not a number that makes sense: ", text);
  return value;
}

void choose_cores(Team& team) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    perror("operations: cannot find the cores");
    exit(1);
  }
  int core = -1;
  for (int copy = 0; copy < team.copies; ++copy) {
    do { core = (core + 1) % CPU_SETSIZE; } while (!CPU_ISSET(core, &allowed));
    team.cores[copy] = core;
  }
}

int by_size(const void* a, const void* b) {
  const long difference = *static_cast<const long*>(a) - *static_cast<const long*>(b);
  return difference < 0 ? -1 : difference > 0;
}

// For one operation: the median and the least of the rounds.
struct Figures {
  double median, least;
};

Figures figures(const Team& team, long Round::* what) {
  long slowest[rounds] = {};
  for (int round = 0; round < rounds; ++round) {
    for (int copy = 0; copy < team.copies; ++copy) {
      const long value = team.measured[copy][round].*what;
      if (value > slowest[round]) slowest[round] = value;
    }
  }
  qsort(slowest, rounds, sizeof slowest[0], by_size);
  const auto count = static_cast<double>(team.count);
  return {static_cast<double>(slowest[rounds / 2]) / count, static_cast<double>(slowest[0]) / count};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--nothing") == 0) return 0;  // what exec-static executes
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    for (const Operation& operation : operations) printf("%-16s %6ld  %s\n", operation.name, operation.count, operation.what);
    return 0;
  }
  if (argc < 2 || argc > 5) wrong_use("which operation?", "");
  const Operation* operation = find(argv[1]);
  if (operation == nullptr) wrong_use("there is no operation ", argv[1]);
  const bool threads = argc > 4 && strcmp(argv[4], "threads") == 0;
  if (argc > 4 && !threads && strcmp(argv[4], "processes") != 0) wrong_use("neither processes nor threads: ", argv[4]);

  void* shared = mmap(nullptr, sizeof(Team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    perror("operations: no shared memory");
    return 1;
  }
  Team& team = *static_cast<Team*>(shared);
  team.operation = operation;
  team.count = argc > 2 ? number(argv[2], 100'000'000) : operation->count;
  team.copies = argc > 3 ? static_cast<int>(number(argv[3], most_copies)) : 1;
  choose_cores(team);

  const int status = threads ? run_threads(team) : run_processes(team);
  if (status != 0) return status;
  const Figures ticks = figures(team, &Round::ticks);
  printf("operations: name=%s copies=%d by=%s count=%ld ticks=%.3f least_ticks=%.3f ns=%.1f\n", operation->name, team.copies,
         threads ? "threads" : "processes", team.count, ticks.median, ticks.least, figures(team, &Round::nanoseconds).median);
  return 0;
}
