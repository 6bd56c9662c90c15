// Registers of the 8259s. See the header.
#include "platform/pc/legacy_pic.h"

#include "arch/port_io.h"
#include "lib/format.h"

namespace corral::platform {

namespace {

constexpr u16 master_command = 0x20;
constexpr u16 master_data = 0x21;
constexpr u16 slave_command = 0xa0;
constexpr u16 slave_data = 0xa1;
constexpr u8 initialise_with_icw4 = 0x11;
constexpr u8 slave_at_line_2 = 0x04;
constexpr u8 cascade_identity = 0x02;
constexpr u8 mode_8086 = 0x01;
constexpr u8 end_of_interrupt = 0x20;
constexpr u8 read_in_service = 0x0b;
constexpr u32 cascade_line = 2;
constexpr u16 delay_port = 0x80;  // a write there takes about a microsecond: the 8259 needs time between commands

void command(u16 port, u8 value) {
  arch::port_write8(port, value);
  arch::port_write8(delay_port, 0);
}

// Lines 7 and 15 also stand for "nothing was there"; then the in-service bit is clear.
bool is_spurious(u32 line) {
  if (line % 8 != 7) return false;
  const u16 port = line < 8 ? master_command : slave_command;
  command(port, read_in_service);
  return (arch::port_read8(port) & 0x80) == 0;
}

}  // namespace

void LegacyPic::initialise() {
  command(master_command, initialise_with_icw4);
  command(slave_command, initialise_with_icw4);
  command(master_data, first_vector);
  command(slave_data, first_vector + 8);
  command(master_data, slave_at_line_2);
  command(slave_data, cascade_identity);
  command(master_data, mode_8086);
  command(slave_data, mode_8086);
  command(master_data, 0xff);
  command(slave_data, 0xff);
}

void LegacyPic::unmask(u32 line) {
  mask_ = static_cast<u16>(mask_ & ~(1u << line));
  if (line >= 8) mask_ = static_cast<u16>(mask_ & ~(1u << cascade_line));
  command(master_data, static_cast<u8>(mask_));
  command(slave_data, static_cast<u8>(mask_ >> 8));
}

Result<void> LegacyPic::connect(u32 line, const char* name, InterruptHandler& handler) {
  if (line >= lines || line == cascade_line) return Errno::enodev;
  if (lines_[line].used()) return Errno::ebusy;
  lines_[line].set(line, handler);
  interrupts::set_handler(first_vector + line, name, lines_[line]);
  unmask(line);
  return {};
}

void LegacyPic::Line::handle_interrupt() {
  const bool spurious = is_spurious(number_);
  if (!spurious) handler_->handle_interrupt();
  if (number_ >= 8 && !spurious) command(slave_command, end_of_interrupt);
  if (number_ >= 8 || !spurious) command(master_command, end_of_interrupt);
}

size_t LegacyPic::describe(char* to, size_t size) const {
  return format_to({to, size}, "8259 pair, vectors {x} to {x}, mask {x}", first_vector, first_vector + lines - 1, mask_).size();
}

}  // namespace corral::platform
