// A process that a signal ends may leave a picture of itself: all its threads stand still before their ends, and the one that took the
// signal writes their registers and the memory to a file. What goes where: abi/linux/core_file.h.
//
// The process is ending from the dump's beginning on, so that each of its threads comes to its end (exit.h), and waits there; those
// that have been further already go. Order of locks: the process's, then none.
#pragma once

#include "lib/result.h"
#include "sync/waiter.h"
#include "task/signal_information.h"

namespace corral {

class Process;
class Thread;

class CoreDump {
 public:
  explicit CoreDump(Thread& dumper);
  CoreDump(const CoreDump&) = delete;
  CoreDump& operator=(const CoreDump&) = delete;
  virtual ~CoreDump() = default;

  // Part of the dumper's step, while all other threads of the process stand still or have ended. blocked; any other error: the dump is
  // given up. To be given up soon when the process is killed.
  virtual Result<void> write(Thread& dumper) = 0;
  // It is over: what it holds is let go of. In the dumper's step.
  virtual void close() = 0;

 private:
  friend class Process;
  Thread& dumper_;  // lives until the dump is over
  // ---- the process's lock ----
  u32 standing_ = 0;  // other threads that wait for the end of the dump
  bool over_ = false;
  WaitQueue all_stand_;  // the dumper
  WaitQueue ended_;  // the others
};

// Makes what will write the dump, in the step of the thread that takes the signal; null: none is wanted, or memory is short. Set by
// abi/, before there are processes.
using CoreDumpMaker = CoreDump* (*)(Thread& thread, const SignalInfo& info);
void set_core_dump_maker(CoreDumpMaker maker);

}  // namespace corral
