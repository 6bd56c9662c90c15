// Registers of the I/O APIC and the choice of vectors. See the header.
#include "platform/pc/io_apic.h"

#include "arch/page_table.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u64 window_size = 0x20;
constexpr u32 select_offset = 0x00;
constexpr u32 data_offset = 0x10;
constexpr u32 index_version = 1;
constexpr u32 index_redirection = 0x10;  // two registers for each input

constexpr u32 redirection_nmi = 4u << 8;
constexpr u32 redirection_masked = 1u << 16;
constexpr u32 redirection_level = 1u << 15;
constexpr u32 redirection_active_low = 1u << 13;
constexpr u32 most_inputs = 240;
constexpr u32 isa_lines = 16;

}  // namespace

u32 IoApic::read(u32 index) const {
  *reinterpret_cast<volatile u32*>(registers_ + select_offset) = index;
  return *reinterpret_cast<volatile u32*>(registers_ + data_offset);
}

void IoApic::write(u32 index, u32 value) const {
  *reinterpret_cast<volatile u32*>(registers_ + select_offset) = index;
  *reinterpret_cast<volatile u32*>(registers_ + data_offset) = value;
}

Result<void> IoApic::initialise() {
  registers_ = TRY(arch::map_device(entry_.address, window_size));
  const u32 version = read(index_version);
  if (version == 0xffff'ffff) return Errno::enodev;
  const u32 inputs = (version >> 16 & 0xff) + 1;
  if (inputs > most_inputs) return Errno::enodev;
  inputs_ = inputs;
  for (u32 i = 0; i < inputs_; ++i) write(index_redirection + 2 * i, redirection_masked);
  return {};
}

void IoApic::route(u32 line, u32 vector, u32 apic_id, bool active_low, bool level) {
  const u32 index = index_redirection + 2 * (line - entry_.first_line);
  write(index, redirection_masked);
  write(index + 1, apic_id << 24);  // physical destination
  write(index, vector | (active_low ? redirection_active_low : 0) | (level ? redirection_level : 0));
}

void IoApic::route_nmi(u32 line, u32 apic_id, bool active_low) {
  route(line, redirection_nmi, apic_id, active_low, false);
}

size_t IoApic::describe(char* to, size_t size) const {
  return format_to({to, size}, "I/O APIC {} at {x}, lines {} to {}", entry_.id, entry_.address.value, entry_.first_line,
                   entry_.first_line + inputs_ - 1)
      .size();
}

bool IoApicRouter::initialise(const acpi::Madt& madt, u32 bootstrap_apic_id) {
  madt_ = &madt;
  bootstrap_apic_id_ = bootstrap_apic_id;
  for (const acpi::IoApic& entry : madt.io_apics.all()) {
    Result<IoApic*> made = memory::make<IoApic>(entry);
    if (!made.ok()) {
      log::warning("I/O APIC {}: no memory for it; its lines are not available", entry.id);
      continue;
    }
    IoApic* controller = made.value();
    if (!controller->initialise().ok()) {
      log::warning("I/O APIC {}: nothing answers at {x}; ignored", entry.id, entry.address.value);
      delete controller;
      continue;
    }
    devices().add(*controller);
    LockGuard guard{lock_};
    if (controller_count_ < most_controllers) controllers_[controller_count_++] = controller;
  }
  LockGuard guard{lock_};
  return controller_count_ > 0;
}

IoApic* IoApicRouter::controller_of(u32 line) {
  for (u32 i = 0; i < controller_count_; ++i) {
    if (controllers_[i]->has(line)) return controllers_[i];
  }
  return nullptr;
}

IoApicRouter::Input IoApicRouter::input_of(u32 line) const {
  Input input{line, line >= isa_lines, line >= isa_lines};  // PCI's way; ISA: active high, edge
  for (const acpi::Override& entry : madt_->overrides.all()) {
    if (line >= isa_lines || entry.isa_irq != line) continue;
    input = {entry.line, entry.active_low, entry.level};
  }
  return input;
}

Result<IoApic*> IoApicRouter::free_controller_of(const Input& input) {
  IoApic* controller = controller_of(input.line);
  if (controller == nullptr || input.line >= most_lines) return Errno::enodev;
  if ((connected_[input.line / 64] >> (input.line % 64) & 1) != 0) return Errno::ebusy;
  return controller;
}

Result<void> IoApicRouter::connect(u32 line, const char* name, InterruptHandler& handler) {
  const Input input = input_of(line);
  LockGuard guard{lock_};
  IoApic* controller = TRY(free_controller_of(input));
  const u32 vector = TRY(interrupts::allocate_vector(name, handler));
  connected_[input.line / 64] |= u64{1} << (input.line % 64);
  controller->route(input.line, vector, bootstrap_apic_id_, input.active_low, input.level);
  return {};
}

bool IoApicRouter::is_free(u32 irq) {
  LockGuard guard{lock_};
  return free_controller_of(input_of(irq)).ok();
}

Result<void> IoApicRouter::connect_nmi(u32 irq) {
  const Input input = input_of(irq);
  LockGuard guard{lock_};
  IoApic* controller = TRY(free_controller_of(input));
  connected_[input.line / 64] |= u64{1} << (input.line % 64);
  controller->route_nmi(input.line, bootstrap_apic_id_, input.active_low);
  return {};
}

}  // namespace corral::platform
