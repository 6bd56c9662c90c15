// See trace/backtrace.h.
#include "trace/backtrace.h"

#include "arch/backtrace.h"
#include "arch/traps.h"
#include "trace/symbols.h"

namespace corral {

namespace {

constexpr size_t deepest = 32;

// A return address belongs to the call before it, which may be the last instruction of its function.
void log_addresses(log::Level level, std::span<const VirtualAddress> addresses, bool first_is_exact) {
  if (addresses.empty()) log::print(level, "  no backtrace: the frame pointer leads nowhere");
  for (size_t i = 0; i < addresses.size(); ++i) {
    u64 back = i == 0 && first_is_exact ? 0 : 1;
    symbols::Symbol symbol = symbols::find({addresses[i].value - back});
    if (symbol.name.empty()) {
      log::print(level, "  #{} {x}", i, addresses[i].value);
    } else {
      log::print(level, "  #{} {x} {}+{x}", i, addresses[i].value, symbol.name, symbol.offset + back);
    }
  }
}

}  // namespace

void log_backtrace(log::Level level) {
  VirtualAddress addresses[deepest];
  size_t count = arch::backtrace_here(addresses);
  size_t own = count > 0 ? 1 : 0;  // this function itself
  log_addresses(level, std::span{addresses}.subspan(own, count - own), false);
}

void log_backtrace(log::Level level, const arch::TrapFrame& frame) {
  VirtualAddress addresses[deepest];
  log_addresses(level, std::span{addresses}.first(arch::backtrace_of(frame, addresses)), true);
}

}  // namespace corral
