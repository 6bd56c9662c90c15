// What a program is told of a signal: the kernel's form of siginfo_t, and the bytes that a program gets.
// Layout: Linux asm-generic/siginfo.h (x86-64). Plain values, any context.
#pragma once

#include "lib/types.h"

namespace corral {

// si_code: who sent it.
inline constexpr i32 code_user = 0, code_kernel = 0x80, code_queue = -1, code_timer = -2, code_tkill = -6;
// si_code of SIGCHLD.
inline constexpr i32 child_exited = 1, child_killed = 2, child_dumped = 3, child_trapped = 4, child_stopped = 5,
                     child_continued = 6;

struct SignalInfo {
  i32 number = 0;
  i32 code = 0;         // one of the above, or what a fault was: SEGV_MAPERR 1, FPE_INTDIV 1 …
  i32 sender = 0;       // pid; of a timer: its number
  u32 sender_user = 0;  // of a timer: how often it passed unseen
  u64 value = 0;        // fault address, exit status, or sigval
  u64 more[2] = {};     // SIGCHLD: user and system time in 1/100 s; sigqueue: the bytes that follow
  i32 error = 0;        // si_errno

  // Of a fault or trap: the bytes after the code are its address.
  [[nodiscard]] bool tells_address() const {
    constexpr u64 faults = 1ull << 4 | 1ull << 5 | 1ull << 7 | 1ull << 8 | 1ull << 11;  // ILL TRAP BUS FPE SEGV
    return code > code_user && code < code_kernel && number < 32 && (faults >> number & 1) != 0;
  }
};

struct UserSignalInfo {  // siginfo_t
  i32 number, error, code, padding;
  u64 fields[14];
};
static_assert(sizeof(UserSignalInfo) == 128);

[[nodiscard]] inline UserSignalInfo for_user(const SignalInfo& info) {
  UserSignalInfo out{};
  out.number = info.number;
  out.error = info.error;
  out.code = info.code;
  if (info.tells_address()) {
    out.fields[0] = info.value;
  } else {
    out.fields[0] = static_cast<u32>(info.sender) | u64{info.sender_user} << 32;
    out.fields[1] = info.value;
    out.fields[2] = info.more[0];
    out.fields[3] = info.more[1];
  }
  return out;
}

[[nodiscard]] inline SignalInfo from_user(const UserSignalInfo& in) {
  SignalInfo info;
  info.number = in.number;
  info.error = in.error;
  info.code = in.code;
  info.sender = static_cast<i32>(in.fields[0]);
  info.sender_user = static_cast<u32>(in.fields[0] >> 32);
  info.value = in.fields[1];
  info.more[0] = in.fields[2];
  info.more[1] = in.fields[3];
  return info;
}

}  // namespace corral
