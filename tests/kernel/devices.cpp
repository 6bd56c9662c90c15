// In the kernel: the devices that were found, the clock, the cores' timers, and interrupts that nobody expects.
#include "arch/traps.h"
#include "core/core.h"
#include "device/calibration.h"
#include "device/clock.h"
#include "device/console.h"
#include "device/interrupts.h"
#include "device/pci/pci_device.h"
#include "kernel_test.h"
#include "platform/pc/local_apic.h"

namespace corral::tests {

namespace {

// Lets pending interrupts of this core in.
void take_interrupts() {
  asm volatile("sti; nop; cli" ::: "memory");
}

// Between the devices' vectors and those of the local controller: never installed.
constexpr u32 unused_vector = 0xe5;

}  // namespace

KERNEL_TEST(devices_are_found_by_name_and_by_type) {
  Core* first = devices().find<Core>(0);
  KERNEL_EXPECT(first == &cores::get(CoreId{0}));
  KERNEL_EXPECT(devices().find("core0") == first && first->name() == "core0");
  KERNEL_EXPECT(devices().find<CoreTimer>(0) == first->timer());
  KERNEL_EXPECT(devices().find("local-apic0") != nullptr);
  KERNEL_EXPECT(devices().find<ConsoleDevice>(0) != nullptr);
  KERNEL_EXPECT(devices().find<ClockSource>(0) != nullptr);
  KERNEL_EXPECT(devices().find("no-such-device") == nullptr);
  KERNEL_EXPECT(devices().find<Core>(cores::count()) == nullptr);
  KERNEL_PASSED;
}

// The emulated machine has a host bridge at 0:0.0.
KERNEL_TEST(devices_of_pci_are_found) {
  auto* bridge = devices().find<pci::PciDevice>(0);
  KERNEL_EXPECT(bridge != nullptr);
  KERNEL_EXPECT(bridge->function().address == pci::Address{} && bridge->function().base_class == 6);
  KERNEL_EXPECT(bridge->read(pci::register_identity) == (u32{bridge->function().device} << 16 | bridge->function().vendor));
  KERNEL_EXPECT(bridge->read(4096) == ~0u);
  KERNEL_EXPECT(!bridge->map(0, 0, 4096).ok());
  KERNEL_EXPECT(bridge->message_count() == 0);
  KERNEL_PASSED;
}

KERNEL_TEST(devices_describe_themselves) {
  u32 silent = 0;
  devices().for_each(
      [](void* context, Device& device) {
        char text[200];
        const size_t length = device.describe(text, sizeof text);
        if (length == 0 || length > sizeof text || device.describe(text, 3) > 3) ++*static_cast<u32*>(context);
      },
      &silent);
  KERNEL_EXPECT(silent == 0);
  KERNEL_PASSED;
}

KERNEL_TEST(clock_never_goes_back_and_spin_lasts) {
  Instant last = clock::now();
  for (u32 i = 0; i < 100'000; ++i) {
    const Instant now = clock::now();
    KERNEL_EXPECT(now >= last);
    last = now;
  }
  const Instant before = clock::now();
  clock::spin(milliseconds(2));
  KERNEL_EXPECT(clock::now() - before >= milliseconds(2));
  KERNEL_EXPECT(clock::boot_wall_time_ns() >= 0);
  KERNEL_PASSED;
}

KERNEL_TEST(timers_of_all_cores_agree_within_one_percent) {
  const u64 first = cores::get(CoreId{0}).timer()->frequency();
  KERNEL_EXPECT(first > 0);
  bool agree = true;
  cores::online().for_each([&](CoreId id) {
    CoreTimer* timer = cores::get(id).timer();
    agree = agree && timer != nullptr && agree_within_percent(timer->frequency(), first, 1);
  });
  KERNEL_EXPECT(agree);
  KERNEL_PASSED;
}

KERNEL_TEST(interrupts_that_nobody_handles_are_counted_and_ignored) {
  platform::LocalApicController& apic = platform::local_apic();
  const CoreId self = this_core().id();
  const u64 unknown = interrupts::unknown_count();
  const u64 counted = interrupts::count(unused_vector, self);
  constexpr u32 rounds = 10'000;
  for (u32 i = 0; i < rounds; ++i) {
    apic.send_vector(apic.own_id(), unused_vector);
    take_interrupts();
  }
  // An interrupt takes its time to arrive on a real machine; then some fall together.
  clock::spin(milliseconds(1));
  take_interrupts();
  KERNEL_EXPECT(interrupts::count(unused_vector, self) > counted);
  KERNEL_EXPECT(interrupts::unknown_count() - unknown == interrupts::count(unused_vector, self) - counted);
  KERNEL_EXPECT(interrupts::name_of(unused_vector) == nullptr);
  KERNEL_PASSED;
}

KERNEL_TEST(spurious_interrupts_are_counted) {
  platform::LocalApicController& apic = platform::local_apic();
  const u64 spurious = interrupts::spurious_count();
  // The real ones cannot be made to happen; one of that vector that is sent stays in service until it is ended here.
  apic.send_vector(apic.own_id(), arch::vector_spurious);
  clock::spin(milliseconds(1));
  take_interrupts();
  apic.end_of_interrupt();
  KERNEL_EXPECT(interrupts::spurious_count() == spurious + 1);
  KERNEL_PASSED;
}

}  // namespace corral::tests
