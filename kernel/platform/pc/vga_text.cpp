// From TextScreen's cells to the adapter's memory and cursor registers. See the header.
#include "platform/pc/vga_text.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "lib/format.h"

namespace corral::platform {

namespace {

constexpr PhysicalAddress text_buffer{0xb8000};
constexpr u16 crt_index = 0x3d4;
constexpr u16 crt_data = 0x3d5;
constexpr u8 crt_cursor_start = 0x0a;
constexpr u8 crt_cursor_end = 0x0b;
constexpr u8 crt_start_high = 0x0c;
constexpr u8 crt_start_low = 0x0d;
constexpr u8 crt_cursor_high = 0x0e;
constexpr u8 crt_cursor_low = 0x0f;
constexpr u16 attribute_port = 0x3c0;       // index and data in turn
constexpr u16 attribute_read_port = 0x3c1;
constexpr u16 input_status_port = 0x3da;    // reading makes the attribute port expect an index
constexpr u8 attribute_mode_control = 0x10 | 0x20;  // 0x20: the picture stays on
constexpr u8 mode_blink = 0x08;
constexpr u32 off_screen = TextScreen::columns * TextScreen::rows;

volatile u16* buffer() {
  return arch::direct<volatile u16>(text_buffer);
}

void set_crt(u8 index, u8 value) {
  arch::port_write8(crt_index, index);
  arch::port_write8(crt_data, value);
}

// Bit 7 of a cell's colours means a bright background, not blinking.
void allow_bright_backgrounds() {
  static_cast<void>(arch::port_read8(input_status_port));
  arch::port_write8(attribute_port, attribute_mode_control);
  const u8 mode = arch::port_read8(attribute_read_port);
  static_cast<void>(arch::port_read8(input_status_port));
  arch::port_write8(attribute_port, attribute_mode_control);
  arch::port_write8(attribute_port, static_cast<u8>(mode & ~mode_blink));
}

}  // namespace

bool VgaText::initialise() {
  // No adapter: the buffer is not memory.
  volatile u16* cell = buffer();
  const u16 before = cell[0];
  cell[0] = 0x0755;
  const bool holds = cell[0] == 0x0755;
  cell[0] = 0x07aa;
  if (!holds || cell[0] != 0x07aa) return false;
  cell[0] = before;
  allow_bright_backgrounds();
  set_crt(crt_start_high, 0);
  set_crt(crt_start_low, 0);
  set_crt(crt_cursor_start, 14);  // a line below the character
  set_crt(crt_cursor_end, 15);
  begin();
  return true;
}

void VgaText::show(TextScreen& screen) {
  const u32 changed = screen.take_changed_rows();
  volatile u16* cells = buffer();
  for (u32 row = 0; row < TextScreen::rows; ++row) {
    if ((changed >> row & 1) == 0) continue;
    volatile u16* to = cells + u64{row} * TextScreen::columns;
    for (TextScreen::Cell cell : screen.row(row)) *to++ = static_cast<u16>(cell.character | cell.colours << 8);
  }
  const u32 cursor = screen.cursor_visible() ? screen.cursor_row() * TextScreen::columns + screen.cursor_column() : off_screen;
  if (cursor == shown_cursor_) return;
  shown_cursor_ = cursor;
  set_crt(crt_cursor_high, static_cast<u8>(cursor >> 8));
  set_crt(crt_cursor_low, static_cast<u8>(cursor));
}

size_t VgaText::describe(char* to, size_t size) const {
  return format_to({to, size}, "VGA text screen, {} x {}, memory {x}", TextScreen::columns, TextScreen::rows, text_buffer.value)
      .size();
}

}  // namespace corral::platform
