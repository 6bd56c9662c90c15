// All cores of the machine, in order of discovery; index 0 is the bootstrap core. The table grows as cores are found (no
// fixed number below max_cores is assumed); entries are written in boot context only and never removed.
#include "core/core.h"
#include "memory/heap.h"
#include "trace/panic.h"
#include "trace/trace.h"

namespace corral::cores {

namespace {
constinit Core* table[max_cores] = {};
constinit Atomic<u32> detected{0};
constinit AtomicCoreSet online_set;
constinit Atomic<u32> online_number{0};
}  // namespace

Result<Core*> add(u32 hardware_id, u32 firmware_id, CoreState state) {
  const u32 index = detected.load(Order::relaxed);
  if (index == max_cores) return Errno::enomem;
  Core* core = TRY(memory::make<Core>(CoreId{index}, hardware_id, firmware_id, state));
  core->area().trace_ring = &trace::ring_of(core->id());
  table[index] = core;
  detected.store(index + 1, Order::release);
  devices().add(*core);
  return core;
}

u32 count() {
  return detected.load(Order::acquire);
}

Core& get(CoreId id) {
  KERNEL_ASSERT(id.value < count());
  return *table[id.value];
}

CoreSet online() {
  return online_set.snapshot(Order::acquire);
}

void mark_online(Core& core) {
  if (online_set.contains(core.id(), Order::relaxed)) return;
  if (core.state() != CoreState::bootstrap) core.set_state(CoreState::online);
  online_set.add(core.id(), Order::release);
  online_number.fetch_add(1, Order::acq_rel);
}

u32 online_count() {
  return online_number.load(Order::acquire);
}

}  // namespace corral::cores
