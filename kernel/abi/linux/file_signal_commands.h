// Commands of fcntl that are about signals that tell of a file, and about leases. For descriptor_calls.cpp.
#pragma once

#include "abi/linux/file_handlers.h"

namespace corral::abi {

// F_SETOWN, F_GETOWN, their _EX, F_SETSIG, F_GETSIG, F_SETLEASE, F_GETLEASE; einval: the second argument is none of them.
Result<i64> signal_command(Call& call, fs::OpenFile& file);
// FIOSETOWN and FIOGETOWN of sockets, the same number by way of memory.
Result<i64> owner_request(Call& call, fs::OpenFile& socket, bool set);
// The first argument's file, which can_signal(), tells of changes by signals from now on, or no longer. enomem.
Result<void> tell_by_signals(Call& call, fs::OpenFile& file, bool on);

}  // namespace corral::abi
