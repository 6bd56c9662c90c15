// flock, and the lock commands of fcntl for descriptor_calls.cpp.
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

struct LockCommand {
  bool ask = false;           // F_GETLK: who keeps this one out?
  bool wait = false;          // F_SETLKW
  bool of_open_file = false;  // F_OFD_…
};

// The third argument points to a struct flock.
Result<i64> lock_command(Call& call, const LockCommand& command);
[[nodiscard]] std::span<const Entry> lock_calls();

}  // namespace corral::abi
