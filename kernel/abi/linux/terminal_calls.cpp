// vhangup: the caller's terminal is hung up. Source: Linux vhangup(2). The rest about terminals is ioctl.
#include "abi/linux/file_handlers.h"
#include "fs/terminals.h"

namespace corral::abi {

namespace {

Result<i64> sys_vhangup(Call& call) {
  if (!call.thread.may(Capability::sys_tty_config)) return Errno::eperm;
  fs::hang_up_own(call.process);
  return 0;
}

constexpr Entry entries[] = {{153, "vhangup", sys_vhangup}};

}  // namespace

std::span<const Entry> terminal_calls() {
  return entries;
}

}  // namespace corral::abi
