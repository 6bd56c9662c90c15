// See the header. The order: what the firmware describes first, then what only some machines have, then a halt.
#include "platform/pc/power.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "arch/processor.h"
#include "platform/pc/ps2_keyboard.h"

namespace corral::platform {

namespace {

// PM1 control register (4.8.3.2.1).
constexpr u16 acpi_mode = 1u << 0;
constexpr u32 sleep_type_shift = 10;
constexpr u16 sleep_type_mask = 7u << sleep_type_shift;
constexpr u16 sleep_enable = 1u << 13;

// Ports that emulators watch: QEMU's pc and q35 machines before and after 2.0, and Bochs' word for the end.
constexpr u16 emulator_ports[] = {0x604, 0xb004};
constexpr u16 emulator_soft_off = 0x2000;
constexpr u16 bochs_port = 0x8900;

constexpr u16 pci_reset_port = 0xcf9;
constexpr u8 pci_full_reset = 0x06;
constexpr u32 most_looks = 1'000'000;

constinit const acpi::Tables* known = nullptr;
constinit volatile u8* memory_reset = nullptr;

// Some milliseconds, without any clock: it may be what is broken.
void wait_a_while() {
  for (u32 i = 0; i < most_looks; ++i) arch::pause();
}

void enable_acpi_mode(const acpi::Fadt& fadt) {
  if (fadt.smi_command == 0 || fadt.acpi_enable == 0) return;
  for (u32 i = 0; i < most_looks; ++i) {
    if ((arch::port_read16(fadt.pm1a_control.port) & acpi_mode) != 0) return;
    if (i == 0) arch::port_write8(fadt.smi_command, fadt.acpi_enable);
    arch::pause();
  }
}

void write_sleep(acpi::PortRegister control, u8 type, bool enable) {
  if (!control.present()) return;
  const u16 kept = static_cast<u16>(arch::port_read16(control.port) & ~(sleep_type_mask | sleep_enable));
  const u32 value = kept | static_cast<u32>(type) << sleep_type_shift | (enable ? sleep_enable : 0u);
  arch::port_write16(control.port, static_cast<u16>(value));
}

void soft_off() {
  if (known == nullptr || !known->soft_off.present || !known->fadt.pm1a_control.present()) return;
  const acpi::Fadt& fadt = known->fadt;
  enable_acpi_mode(fadt);
  for (bool enable : {false, true}) {
    write_sleep(fadt.pm1a_control, known->soft_off.sleep_type_a, enable);
    write_sleep(fadt.pm1b_control, known->soft_off.sleep_type_b, enable);
  }
  wait_a_while();
}

void reset_by_register() {
  if (known == nullptr) return;
  const acpi::ResetRegister& reset = known->fadt.reset;
  if (reset.space == acpi::ResetRegister::Space::port) {
    arch::port_write8(static_cast<u16>(reset.address), reset.value);
  } else if (reset.space == acpi::ResetRegister::Space::memory && memory_reset != nullptr) {
    *memory_reset = reset.value;
  } else {
    return;
  }
  wait_a_while();
}

// An interrupt without an interrupt table: the processor gives up and the machine resets.
[[noreturn]] void triple_fault() {
  struct [[gnu::packed]] {
    u16 limit = 0;
    u64 base = 0;
  } empty;
  asm volatile("lidt %0; int3" ::"m"(empty) : "memory");
  arch::halt_forever();
}

}  // namespace

void prepare_power(const acpi::Tables& tables) {
  known = &tables;
  if (tables.fadt.reset.space == acpi::ResetRegister::Space::memory) {
    Result<volatile u8*> mapped = arch::map_device({tables.fadt.reset.address}, 1);
    if (mapped.ok()) memory_reset = mapped.value();
  }
}

void power_off_machine() {
  arch::disable_interrupts();
  soft_off();
  for (u16 port : emulator_ports) arch::port_write16(port, emulator_soft_off);
  for (char c : {'S', 'h', 'u', 't', 'd', 'o', 'w', 'n'}) arch::port_write8(bochs_port, static_cast<u8>(c));
  arch::halt_forever();
}

void reset_machine() {
  arch::disable_interrupts();
  reset_by_register();
  reset_by_keyboard_controller();
  wait_a_while();
  arch::port_write8(pci_reset_port, pci_full_reset);
  wait_a_while();
  triple_fault();
}

}  // namespace corral::platform
