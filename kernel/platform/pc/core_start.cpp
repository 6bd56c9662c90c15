// See the header. All waits are on the machine's clock and bounded: a dead core costs about a second and its line in the log.
#include "platform/pc/core_start.h"

#include "arch/page_table.h"
#include "arch/processor.h"
#include "arch/start_core.h"
#include "memory/page_allocator.h"
#include "platform/pc/local_apic.h"
#include "platform/pc/tsc_check.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u32 stack_pages = 4;
constexpr Duration after_init = milliseconds(10);
constexpr Duration after_first_startup = milliseconds(1);
constexpr Duration after_second_startup = seconds(1);
constexpr Duration until_claimed_start_arrives = seconds(1);
// From the first C++ line to "online": its timer's calibration and little more, but an emulator may be slow.
constexpr Duration until_online = seconds(10);

[[noreturn]] void enter_core(void* argument) {
  Core& core = *static_cast<Core*>(argument);
  arch::initialise_processor(core, core.area(), {core.area().kernel_stack});
  core_main(core);
}

template <class Condition>
bool wait_for(Duration at_most, Condition&& holds) {
  const Instant end = clock::now() + at_most;
  while (!holds()) {
    if (clock::now() >= end) return holds();
    arch::pause();
  }
  return true;
}

void give_up(Core& core, const char* reason) {
  core.set_state(CoreState::error);
  log::error("core {} (APIC id {}) is left out: {}", core.id().value, core.hardware_id(), reason);
}

// Whether the core has come out of the trampoline.
bool wake(Core& core, u8 page) {
  LocalApicController& apic = local_apic();
  apic.send_init(core.hardware_id());
  clock::spin(after_init);
  apic.send_startup(core.hardware_id(), page);
  if (wait_for(after_first_startup, arch::core_start_left)) return true;
  apic.send_startup(core.hardware_id(), page);
  if (wait_for(after_second_startup, arch::core_start_left)) return true;
  // Taken back, unless the core has claimed it this very moment.
  return !arch::disarm_core_start() && wait_for(until_claimed_start_arrives, arch::core_start_left);
}

bool start_core(Core& core, u8 page) {
  if (core.hardware_id() > local_apic().largest_id()) {
    give_up(core, "its APIC id needs x2APIC mode, which the processor lacks or x2apic=off forbids");
    return false;
  }
  Result<VirtualAddress> stack = arch::map_kernel_stack(stack_pages);
  if (!stack.ok() || !arch::prepare_core_area(core, core.area()).ok()) {
    give_up(core, "no memory for its stacks");
    return false;
  }
  core.area().kernel_stack = stack.value().value;
  tsc_check::begin();
  arch::arm_core_start({.hardware_id = core.hardware_id(),
                        .stack = stack.value(),
                        .area = &core.area(),
                        .entry = enter_core,
                        .argument = &core});
  if (!wake(core, page)) {
    give_up(core, "it does not answer its start-up interrupts");
    return false;
  }
  const bool online = wait_for(until_online, [&core] {
    tsc_check::bootstrap_step();
    return core.state() != CoreState::offline;
  });
  if (!online) {
    log::error("core {} (APIC id {}) has started but is not online after {} s; going on without it for now", core.id().value,
               core.hardware_id(), until_online.ns / 1'000'000'000);
    return false;
  }
  return core.state() == CoreState::online;
}

}  // namespace

u32 start_cores(const CoreSet& startable) {
  Result<PhysicalAddress> low = memory::allocate_low();
  u32 started = 0;
  if (low.ok()) arch::prepare_trampoline(low.value());
  startable.for_each([&](CoreId id) {
    Core& core = cores::get(id);
    if (core.state() != CoreState::offline) return;
    if (!low.ok()) {
      give_up(core, "no memory below 1 MiB for the start-up code");
    } else if (start_core(core, static_cast<u8>(low.value().value >> page_shift))) {
      ++started;
    }
  });
  return started;
}

}  // namespace corral::platform
