// See trace/panic.h. Nothing here waits, allocates or takes a lock: the log is told to do without its own. The first core
// that panics speaks; a second one halts, and a panic inside a panic ends at once with what can still be said.
#include "trace/panic.h"

#include "arch/guarded_call.h"
#include "arch/processor.h"
#include "lib/atomic.h"
#include "lib/format.h"
#include "sync/spin_lock.h"
#include "trace/backtrace.h"
#include "trace/log.h"

namespace corral {

namespace {

constexpr u32 nobody = ~u32{0};
constinit Atomic<u32> panic_core{nobody};
constinit PanicHooks hooks;
constinit Atomic<PanicAction> action{PanicAction::halt};

void say_verdict(const char* message) {
  char line[256];
  if (hooks.verdict != nullptr) hooks.verdict(format_to(line, "corral: panic {}\n", message));
}

// What panics in a call that is guarded ends that call, as any other fault in it does.
void end_guarded_call() {
  if (arch::in_guarded_call()) __builtin_trap();
}

void begin(const char* message) {
  arch::disable_interrupts();
  u32 me = arch::core_index();
  u32 owner = nobody;
  if (!panic_core.compare_exchange(owner, me, Order::acq_rel, Order::acquire)) {
    if (owner == me) say_verdict(message);
    arch::halt_forever();
  }
  abandon_locks();
  log::begin_panic();
  if (hooks.halt_others != nullptr) hooks.halt_others();
}

[[noreturn]] void end(const char* message) {
  say_verdict(message);
  if (hooks.account != nullptr) hooks.account();
  if (action.load(Order::relaxed) == PanicAction::power_off && hooks.power_off != nullptr) hooks.power_off();
  arch::halt_forever();
}

// The part of a path that a reader looks for.
std::string_view short_path(std::string_view path) {
  constexpr std::string_view root = "kernel/";
  size_t at = path.rfind(root);
  if (at != std::string_view::npos) path.remove_prefix(at);
  return path;
}

void say_headline(const char* message, const std::source_location& where) {
  log::error("");
  log::error("panic: {}", message);
  log::error("  at {}:{} on core {}", short_path(where.file_name()), where.line(), arch::core_index());
}

}  // namespace

void panic(const char* message, std::source_location where) {
  end_guarded_call();
  begin(message);
  say_headline(message, where);
  log_backtrace(log::Level::error);
  end(message);
}

void panic_with_frame(const char* message, const arch::TrapFrame& frame, std::source_location where) {
  begin(message);
  say_headline(message, where);
  log_registers(log::Level::error, frame);
  log_backtrace(log::Level::error, frame);
  end(message);
}

void set_panic_hooks(const PanicHooks& wanted) {
  hooks = wanted;
}
void set_panic_action(PanicAction wanted) {
  action.store(wanted, Order::relaxed);
}
bool panicking() {
  return panic_core.load(Order::relaxed) != nobody;
}
bool panicking_here() {
  return panic_core.load(Order::relaxed) == arch::core_index();
}

}  // namespace corral
