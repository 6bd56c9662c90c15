// How threads and processes end and stop: as steps, like everything that may wait.
#pragma once

#include "task/process.h"

namespace corral {

// The running thread ends: wakes who waits for its clear_child_tid, leaves its process; the last thread ends the process.
// Sets thread.ended when done. May answer blocked.
Errno end_thread_step(Thread& thread);

// Waits while the thread's process is stopped (SIGSTOP, SIGTSTP …).
Errno stop_step(Thread& thread);

// Word of a process's end that acts on its receiver at once, and is sent without a lock.
struct LateWord {
  Ref<Process> parent;
  Ref<Process> child;
  void send() const;
};
// The parent of a zombie hears of its end, or is rid of it. The caller holds processes::lock(), and sends the answer after it.
[[nodiscard]] LateWord tell_parent_of_end(Process& process);
// What SIGCHLD and waitid tell of a status in wait4's form.
struct EndDetails {
  i32 code;   // si_code
  u64 value;  // si_status: the exit status, or the signal
};
[[nodiscard]] EndDetails end_details(i32 status);

// Waiting parents: takes a zombie child out of the table (wait4). The caller holds processes::lock() and its own reference.
void reap(Process& child);

// The leader of a session is about to end: its terminal is to be told. Set by fs/; called without a lock.
using SessionEnd = void (*)(Process& leader);
void set_session_end(SessionEnd function);

// A process is about to end, and still has its number. Set by ipc/; called without a lock.
using ProcessEnd = void (*)(Process& process);
void set_process_end(ProcessEnd function);

// The machine's end: called once, when the first process has ended; set by boot/. `status` is in wait4's form.
using MachineEnd = void (*)(i32 wait_status);
void set_machine_end(MachineEnd function);

}  // namespace corral
