// See last_core.h. A core takes the message between two steps, so that it holds no lock and has left nothing half done.
#include "core/last_core.h"

#include "core/core.h"

namespace corral::last_core {

namespace {

constinit Atomic<bool> begun{false};
constinit Atomic<u32> stopped{0};

[[noreturn]] void stop() {
  stopped.fetch_add(1, Order::acq_rel);
  arch::halt_forever();
}

void on_stop(Core&, const Message&) {
  stop();
}

}  // namespace

void initialise() {
  set_message_handler(MessageType::stop, on_stop);
}

bool stop_others() {
  constexpr Duration patience = seconds(1);
  if (begun.exchange(true, Order::acq_rel)) stop();
  const Instant end = clock::now() + patience;
  u32 asked = 0;
  for (u32 i = 0; i < cores::count(); ++i) {
    Core& core = cores::get(CoreId{i});
    if (&core == &this_core() || !cores::online().contains(core.id())) continue;
    while (!core.post({MessageType::stop, {}})) {
      if (clock::now() >= end) return false;
      arch::pause();
    }
    ++asked;
  }
  while (stopped.load(Order::acquire) < asked) {
    if (clock::now() >= end) return false;
    arch::pause();
  }
  return true;
}

}  // namespace corral::last_core
