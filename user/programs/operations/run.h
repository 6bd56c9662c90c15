// What the operations share: one Run is one copy of an operation, which measures itself in rounds.
//
// An operation is a function that prepares what it needs, then measures rounds:
//
//   void getpid_call(Run& run) {
//     while (run.next_round()) {
//       run.start();
//       for (long i = 0; i < run.count; ++i) syscall(SYS_getpid);
//       run.stop();
//     }
//   }
//
// Each copy is pinned to a core of its own; next_round() waits until all copies have come to it, so that the copies run at
// the same time. What a system lacks is told by unsupported(), any other failure by failed(); neither returns.
#pragma once

#include <stddef.h>

struct Round {
  long ticks = 0;        // of the time-stamp counter
  long nanoseconds = 0;  // of CLOCK_MONOTONIC
};

struct Team;  // the copies that run together

class Run {
 public:
  Run(Team& team, int copy, long number_of_operations) : count{number_of_operations}, team_{team}, copy_{copy} {}

  const long count;  // operations in a round
  bool next_round();
  // What is between counts; several times in a round if need be.
  void start();
  void stop();
  [[noreturn]] void unsupported(const char* what);  // errno tells why
  [[noreturn]] void failed(const char* what);       // the same
  [[nodiscard]] int copy() const { return copy_; }
  // A name of this copy alone, "/tmp/operations-COPY", valid until the next call.
  [[nodiscard]] const char* file_name();

 private:
  Team& team_;
  const int copy_;
  int round_ = -1;
  Round begin_;
  char file_name_[32];
};

struct Operation {
  const char* name;
  long count;  // operations in a round, if the user does not say
  void (*run)(Run& run);
  const char* what;
};

// calls.cpp
void null_call(Run& run);
void getpid_call(Run& run);
void read_byte(Run& run);
void write_byte(Run& run);
void select_100(Run& run);
void event_counter(Run& run);
void epoll_100(Run& run);
void signal_delivery(Run& run);
// switches.cpp
void pipe_switch(Run& run);
void futex_switch(Run& run);
void unix_socket(Run& run);
// processes.cpp
void thread_create(Run& run);
void fork_exit(Run& run);
void fork_large(Run& run);
void exec_static(Run& run);
void exec_dynamic(Run& run);
// memory.cpp
void fault_anonymous(Run& run);
void fault_large(Run& run);
void fault_copy(Run& run);
void fault_file(Run& run);
void map_unmap(Run& run);
// files.cpp
void file_create(Run& run);
void read_page(Run& run);

extern const Operation operations[];
extern const size_t operation_count;
