// Registers of the local APIC. See the header.
#include "platform/pc/local_apic.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "arch/processor.h"
#include "arch/traps.h"
#include "lib/format.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u32 msr_apic_base = 0x1b;
constexpr u64 base_x2apic = u64{1} << 10;
constexpr u64 base_enabled = u64{1} << 11;
constexpr u64 base_address = 0x000f'ffff'ffff'f000;
constexpr u32 msr_x2apic = 0x800;
constexpr u32 msr_x2apic_command = 0x830;
constexpr u64 register_window = 0x1000;

constexpr u32 spurious_enabled = 0x100;
constexpr u32 flat_model = 0xffff'ffff;

// Local vector table and interrupt command (11.5.1, 11.6.1).
constexpr u32 masked = 1u << 16;
constexpr u32 active_low = 1u << 13;
constexpr u32 delivery_nmi = 4u << 8;
constexpr u32 delivery_init = 5u << 8;
constexpr u32 delivery_startup = 6u << 8;
constexpr u32 delivery_external = 7u << 8;
constexpr u32 level_assert = 1u << 14;
constexpr u32 to_all_but_self = 3u << 18;
constexpr u32 send_pending = 1u << 12;
constexpr u32 most_looks = 100'000;

constinit LocalApicController the_controller;

}  // namespace

LocalApicController& local_apic() {
  return the_controller;
}

Result<void> LocalApicController::choose_mode(bool want_x2apic) {
  constexpr u32 feature_apic = 1u << 9;  // CPUID leaf 1, EDX
  if ((arch::cpuid(1).d & feature_apic) == 0) return Errno::enodev;
  const u64 base = arch::read_msr(msr_apic_base);
  const bool already = (base & base_enabled) != 0 && (base & base_x2apic) != 0;
  // There is no way back from x2APIC mode but through "off" (11.12.5): firmware that chose it is followed.
  x2apic_ = already || (want_x2apic && arch::features().x2apic);
  must_wait_ = !arch::features().hypervisor;
  address_ = {base & base_address};
  if (!x2apic_) registers_ = TRY(arch::map_device(address_, register_window));
  switch_on();
  return {};
}

void LocalApicController::switch_on() const {
  const u64 base = arch::read_msr(msr_apic_base);
  if ((base & base_enabled) == 0) arch::write_msr(msr_apic_base, base | base_enabled);  // x2APIC only by way of xAPIC
  if (x2apic_ && (base & base_x2apic) == 0) arch::write_msr(msr_apic_base, base | base_enabled | base_x2apic);
}

u32 LocalApicController::read(ApicRegister which) const {
  const u32 offset = static_cast<u32>(which);
  if (x2apic_) return static_cast<u32>(arch::read_msr(msr_x2apic + offset / 16));
  return *reinterpret_cast<volatile u32*>(registers_ + offset);
}

void LocalApicController::write(ApicRegister which, u32 value) const {
  const u32 offset = static_cast<u32>(which);
  if (x2apic_) {
    arch::write_msr(msr_x2apic + offset / 16, value);
  } else {
    *reinterpret_cast<volatile u32*>(registers_ + offset) = value;
  }
}

u32 LocalApicController::own_id() const {
  const u32 value = read(ApicRegister::id);
  return x2apic_ ? value : value >> 24;
}

void LocalApicController::enable(u32 firmware_id, const acpi::Madt& madt, bool legacy_interrupts) {
  switch_on();
  if (!x2apic_) write(ApicRegister::destination_format, flat_model);
  write(ApicRegister::task_priority, 0);
  write(ApicRegister::local_timer, masked | arch::vector_timer);
  const u32 entries = read(ApicRegister::version) >> 16 & 0xff;  // number of the last entry of the local vector table
  if (entries >= 4) write(ApicRegister::local_performance, masked | arch::vector_spurious);
  if (entries >= 5) write(ApicRegister::local_thermal, masked | arch::vector_spurious);
  write(ApicRegister::local_error, masked | arch::vector_spurious);
  write(ApicRegister::local_input_0, legacy_interrupts ? delivery_external : masked | arch::vector_spurious);
  // Without a word from the firmware NMIs arrive at input 1, as on every PC.
  write(ApicRegister::local_input_1, madt.nmis.count() == 0 ? delivery_nmi : masked | arch::vector_spurious);
  for (const acpi::LocalNmi& nmi : madt.nmis.all()) {
    if (nmi.firmware_id != acpi::LocalNmi::all_processors && nmi.firmware_id != firmware_id) continue;
    if (nmi.input > 1) continue;
    write(nmi.input == 0 ? ApicRegister::local_input_0 : ApicRegister::local_input_1,
          delivery_nmi | (nmi.active_low ? active_low : 0));
  }
  write(ApicRegister::error_status, 0);
  write(ApicRegister::spurious, spurious_enabled | arch::vector_spurious);
  // What the firmware may have left in service.
  write(ApicRegister::end_of_interrupt, 0);
}

void LocalApicController::end_of_interrupt() {
  write(ApicRegister::end_of_interrupt, 0);
}

void LocalApicController::wait_until_sent() const {
  for (u32 i = 0; i < most_looks && (read(ApicRegister::command_low) & send_pending) != 0; ++i) arch::pause();
}

void LocalApicController::send(u32 hardware_id, u32 command) const {
  if (x2apic_) {
    // Unlike a write to memory, this one is not ordered after earlier stores, and the message must be seen by whoever
    // gets the interrupt (11.12.3).
    asm volatile("mfence; lfence" ::: "memory");
    arch::write_msr(msr_x2apic_command, u64{hardware_id} << 32 | command);
    return;
  }
  if (must_wait_) wait_until_sent();
  write(ApicRegister::command_high, hardware_id << 24);
  write(ApicRegister::command_low, command);
}

void LocalApicController::send_message_interrupt(u32 hardware_id) {
  send_vector(hardware_id, arch::vector_message);
}

void LocalApicController::send_vector(u32 hardware_id, u32 vector) {
  send(hardware_id, level_assert | vector);
}

// An NMI, because the others may be anywhere, interrupts off; its handler halts while there is a panic.
void LocalApicController::send_halt_to_others() {
  send(0, to_all_but_self | level_assert | delivery_nmi);
}

// The code that is interrupted may be between the two halves of a command of its own.
void LocalApicController::send_nmi(u32 hardware_id) {
  const u32 half = x2apic_ ? 0 : read(ApicRegister::command_high);
  send(hardware_id, level_assert | delivery_nmi);
  if (!x2apic_) write(ApicRegister::command_high, half);
}

void LocalApicController::send_init(u32 hardware_id) {
  send(hardware_id, delivery_init | level_assert);
  if (!x2apic_) wait_until_sent();
}

void LocalApicController::send_startup(u32 hardware_id, u8 page) {
  send(hardware_id, delivery_startup | level_assert | page);
  if (!x2apic_) wait_until_sent();
}

size_t LocalApic::describe(char* to, size_t size) const {
  return format_to({to, size}, "local APIC {}, version {x}, {}", id_, version_ & 0xff, x2apic_ ? "x2APIC" : "xAPIC").size();
}

}  // namespace corral::platform
