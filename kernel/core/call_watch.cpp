// See call_watch.h. The handler runs in an NMI: no lock, no log, nothing that the interrupted code may be in the middle of.
#include "core/call_watch.h"

#include "arch/guarded_call.h"
#include "arch/traps.h"
#include "core/core.h"

namespace corral::call_watch {

namespace detail {
constinit bool asleep = false;
}  // namespace detail

namespace {

constinit Atomic<CallWatchTimer*> timer{nullptr};

bool everybody_sleeps() {
  bool all = true;
  cores::online().for_each([&](CoreId id) { all = all && cores::get(id).asleep(); });
  return all;
}

// The timer's NMI, on the bootstrap core.
void on_time(CallWatchTimer& source) {
  // Before the look: a core that wakes meanwhile finds the timer stopped, or is seen here.
  __atomic_store_n(&detail::asleep, true, __ATOMIC_SEQ_CST);
  if (!everybody_sleeps()) detail::wake();
  const CoreId here = this_core().id();
  cores::online().for_each([&](CoreId id) {
    Core& core = cores::get(id);
    if (id == here || !core.in_guarded_call()) return;
    if (core.expected_nmi().expect()) source.send_nmi(core.hardware_id());
  });
}

bool on_nmi(arch::TrapFrame& frame) {
  CallWatchTimer* source = timer.load(Order::acquire);
  if (source == nullptr) return false;
  Core& here = this_core();
  bool expected = here.expected_nmi().take();
  if (here.state() == CoreState::bootstrap && !__atomic_load_n(&detail::asleep, __ATOMIC_RELAXED) && source->due()) {
    on_time(*source);
    expected = true;
  }
  if (expected) arch::look_at_guarded_call(frame, most_looks);
  return expected;
}

}  // namespace

void detail::wake() {
  if (!__atomic_exchange_n(&asleep, false, __ATOMIC_SEQ_CST)) return;
  if (CallWatchTimer* source = timer.load(Order::acquire)) source->start();
}

void use(CallWatchTimer& source) {
  timer.store(&source, Order::release);
  arch::set_nmi_listener(on_nmi);
  __atomic_store_n(&detail::asleep, true, __ATOMIC_SEQ_CST);
  keep();
}

}  // namespace corral::call_watch
