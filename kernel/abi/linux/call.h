// One Linux system call under way, as its handler sees it.
//
// A handler is (part of) a step: it returns the result, or an error, or Errno::blocked after it has enlisted the
// thread somewhere; then it is called again with the same arguments after the wake-up, and finds in
// thread.step (StepState) what it noted. It must not have changed anything before a point that may block or fail, unless
// it noted so. Errno::restart: a signal is pending; the call is restarted or ends with EINTR as Linux decides.
#pragma once

#include <span>

#include "lib/result.h"
#include "lib/types.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::abi {

struct Call {
  Thread& thread;
  Process& process;
  vm::AddressSpace& space;
  const u64* argument;  // six, in the thread's frame

  [[nodiscard]] VirtualAddress address(unsigned index) const { return {argument[index]}; }
  [[nodiscard]] int number(unsigned index) const { return static_cast<int>(argument[index]); }

  // User memory, shortened for handlers.
  template <class T>
  Result<T> read(VirtualAddress from) {
    return vm::read_user<T>(space, thread.caller, from);
  }
  template <class T>
  Result<void> write(VirtualAddress to, const T& value) {
    return vm::write_user(space, thread.caller, to, value);
  }
};

using Handler = Result<i64> (*)(Call& call);

struct Entry {
  u32 number;
  const char* name;
  Handler handler;
};

// Each file of calls offers its entries as one list; table.cpp makes the table of them.
[[nodiscard]] std::span<const Entry> clone_calls();      // fork, unshare …
[[nodiscard]] std::span<const Entry> exit_calls();       // exit, set_robust_list …
[[nodiscard]] std::span<const Entry> exec_calls();
[[nodiscard]] std::span<const Entry> wait_calls();       // wait4, waitid
[[nodiscard]] std::span<const Entry> identity_calls();   // getpid, process groups …
[[nodiscard]] std::span<const Entry> user_calls();       // getuid, setgroups …
[[nodiscard]] std::span<const Entry> signal_calls();
[[nodiscard]] std::span<const Entry> send_calls();       // kill, tgkill …
[[nodiscard]] std::span<const Entry> signal_return_calls();
[[nodiscard]] std::span<const Entry> memory_calls();
[[nodiscard]] std::span<const Entry> page_lock_calls();  // mlock …
[[nodiscard]] std::span<const Entry> time_calls();
[[nodiscard]] std::span<const Entry> wall_clock_calls();
[[nodiscard]] std::span<const Entry> timer_calls();      // alarm, setitimer, timer_create …
[[nodiscard]] std::span<const Entry> priority_calls();   // getpriority, ioprio_get …
[[nodiscard]] std::span<const Entry> prctl_calls();
[[nodiscard]] std::span<const Entry> foreign_memory_calls();  // process_vm_readv …
[[nodiscard]] std::span<const Entry> trace_calls();      // ptrace
[[nodiscard]] std::span<const Entry> capability_calls();
[[nodiscard]] std::span<const Entry> futex_calls();
[[nodiscard]] std::span<const Entry> barrier_calls();    // membarrier
[[nodiscard]] std::span<const Entry> node_calls();       // mbind, set_mempolicy, get_mempolicy
[[nodiscard]] std::span<const Entry> scheduling_calls();
[[nodiscard]] std::span<const Entry> system_calls();
[[nodiscard]] std::span<const Entry> uname_calls();      // and sethostname
[[nodiscard]] std::span<const Entry> limit_calls();      // prlimit and its older forms

}  // namespace corral::abi
