// See early_console.h. Serial: a 16550 at 0x3f8, 115200 8N1, polled, with a bound on the wait so that a missing port does not
// stop the machine. Screen: the VGA text buffer, 80×25, through the direct map.
#include "boot/early_console.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "arch/processor.h"
#include "platform/pc/debug_port.h"
#include "trace/log.h"

namespace corral::early_console {

namespace {

constexpr u16 serial = 0x3f8;
constexpr u16 line_status = serial + 5;
constexpr u8 transmitter_empty = 0x20;
constexpr u32 serial_patience = 100'000;

constexpr u32 columns = 80;
constexpr u32 rows = 25;
constexpr PhysicalAddress screen{0xb8000};
constexpr u16 grey_on_black = 0x0700;

constinit u32 column = 0;
constinit u32 row = 0;

void serial_write(char c) {
  for (u32 i = 0; i < serial_patience && (arch::port_read8(line_status) & transmitter_empty) == 0; ++i) arch::pause();
  arch::port_write8(serial, static_cast<u8>(c));
}

volatile u16& cell(u32 x, u32 y) {
  return arch::direct<volatile u16>(screen)[y * columns + x];
}

void new_line() {
  column = 0;
  if (++row < rows) return;
  row = rows - 1;
  for (u32 y = 0; y < rows; ++y) {
    for (u32 x = 0; x < columns; ++x) {
      u16 below = grey_on_black | ' ';
      if (y + 1 < rows) below = cell(x, y + 1);
      cell(x, y) = below;
    }
  }
}

void screen_write(char c) {
  if (c == '\n') {
    new_line();
    return;
  }
  cell(column, row) = static_cast<u16>(grey_on_black | static_cast<u8>(c));
  if (++column == columns) new_line();
}

}  // namespace

void start() {
  arch::port_write8(serial + 1, 0);     // no interrupts
  arch::port_write8(serial + 3, 0x80);  // divisor
  arch::port_write8(serial + 0, 1);
  arch::port_write8(serial + 1, 0);
  arch::port_write8(serial + 3, 3);     // 8 bits, no parity, one stop bit
  arch::port_write8(serial + 2, 0x07);  // queues on and empty
  arch::port_write8(serial + 4, 0x03);
  log::add_sink(write);
}

void write(std::string_view text) {
  for (char c : text) {
    if (c == '\n') serial_write('\r');
    serial_write(c);
    screen_write(c);
  }
}

void retire() {
  log::remove_sink(write);
}

void stop(std::string_view reason) {
  for (std::string_view part : {std::string_view{"corral: panic "}, reason, std::string_view{"\n"}}) {
    write(part);
    platform::write_debug_port(part);
  }
  arch::halt_forever();
}

}  // namespace corral::early_console
