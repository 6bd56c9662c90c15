// From TextScreen's cells to pixels. See the header.
#include "platform/pc/framebuffer_text.h"

#include "arch/page_table.h"
#include "generated/font_8x16.h"
#include "lib/format.h"

namespace corral::platform {

bool FramebufferText::initialise(const FramebufferInfo& info) {
  if (!info.present()) return false;
  Result<volatile u8*> mapped = arch::map_framebuffer(info.base, u64{info.pitch} * info.height);
  if (!mapped.ok()) return false;
  auto* pixels = reinterpret_cast<volatile u32*>(mapped.value());
  const PixelFormat format{info.red_shift, info.green_shift, info.blue_shift};
  if (!painter_.initialise(pixels, info.pitch / sizeof(u32), info.width, info.height, format, font_8x16)) return false;
  info_ = info;
  painter_.clear();
  begin();
  return true;
}

void FramebufferText::show(TextScreen& screen) {
  const u32 cursor = screen.cursor_visible() ? screen.cursor_row() * TextScreen::columns + screen.cursor_column() : nowhere;
  u32 rows = screen.take_changed_rows();
  if (cursor != shown_cursor_) {
    for (u32 place : {cursor, shown_cursor_}) {
      if (place != nowhere) rows |= u32{1} << place / TextScreen::columns;
    }
  }
  for (u32 row = 0; row < TextScreen::rows; ++row) {
    if ((rows >> row & 1) == 0) continue;
    const auto cells = screen.row(row);
    for (u32 column = 0; column < TextScreen::columns; ++column) {
      const u32 place = row * TextScreen::columns + column;
      TextScreen::Cell& shown = shown_[row][column];
      if (cells[column] == shown && (place == cursor) == (place == shown_cursor_)) continue;
      shown = cells[column];
      painter_.paint(row, column, shown, place == cursor);
    }
  }
  shown_cursor_ = cursor;
}

size_t FramebufferText::describe(char* to, size_t size) const {
  return format_to({to, size}, "framebuffer {} x {}, text {} x {} enlarged {} times, memory {x}", info_.width, info_.height,
                   TextScreen::columns, TextScreen::rows, painter_.scale(), info_.base.value)
      .size();
}

}  // namespace corral::platform
