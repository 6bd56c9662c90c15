// See the header.
#include "device/text_painter.h"

namespace corral {

namespace {

struct Colour {
  u8 red, green, blue;
};

// The sixteen colours as the VGA's BIOS sets them.
constexpr Colour palette[16] = {
    {0x00, 0x00, 0x00}, {0x00, 0x00, 0xaa}, {0x00, 0xaa, 0x00}, {0x00, 0xaa, 0xaa}, {0xaa, 0x00, 0x00}, {0xaa, 0x00, 0xaa},
    {0xaa, 0x55, 0x00}, {0xaa, 0xaa, 0xaa}, {0x55, 0x55, 0x55}, {0x55, 0x55, 0xff}, {0x55, 0xff, 0x55}, {0x55, 0xff, 0xff},
    {0xff, 0x55, 0x55}, {0xff, 0x55, 0xff}, {0xff, 0xff, 0x55}, {0xff, 0xff, 0xff},
};

constexpr u32 cursor_rows = 2;  // at the bottom of a cell
constexpr u32 text_width = TextScreen::columns * TextPainter::glyph_width;
constexpr u32 text_height = TextScreen::rows * TextPainter::glyph_height;

}  // namespace

bool TextPainter::initialise(volatile u32* pixels, u32 pitch, u32 width, u32 height, PixelFormat format, const Font& font) {
  const u32 across = width / text_width;
  const u32 down = height / text_height;
  if (across == 0 || down == 0 || pitch < width) return false;
  pixels_ = pixels;
  pitch_ = pitch;
  width_ = width;
  height_ = height;
  format_ = format;
  font_ = &font;
  scale_ = across < down ? across : down;
  left_ = (width - text_width * scale_) / 2;
  top_ = (height - text_height * scale_) / 2;
  return true;
}

u32 TextPainter::pixel_of(u32 colour) const {
  const Colour& c = palette[colour & 0x0f];
  return u32{c.red} << format_.red_shift | u32{c.green} << format_.green_shift | u32{c.blue} << format_.blue_shift;
}

void TextPainter::fill(volatile u32* line, u32 count, u32 pixel) {
  for (u32 x = 0; x < count; ++x) line[x] = pixel;
}

void TextPainter::clear() {
  for (u32 y = 0; y < height_; ++y) fill(pixels_ + u64{y} * pitch_, width_, 0);
}

void TextPainter::paint(u32 row, u32 column, TextScreen::Cell cell, bool cursor) {
  if (row >= TextScreen::rows || column >= TextScreen::columns || scale_ == 0) return;
  const u32 foreground = pixel_of(cell.colours);
  const u32 background = pixel_of(cell.colours >> 4);
  const bool known = cell.character >= first_character && cell.character <= last_character;
  const Glyph& glyph = (*font_)[known ? cell.character - first_character : '?' - first_character];
  const u64 across = left_ + u64{column} * glyph_width * scale_;
  volatile u32* line = pixels_ + u64{top_ + row * glyph_height * scale_} * pitch_ + across;
  for (u32 y = 0; y < glyph_height; ++y) {
    const u32 dots = cursor && y >= glyph_height - cursor_rows ? 0xff : glyph[y];
    for (u32 repeat = 0; repeat < scale_; ++repeat, line += pitch_) {
      for (u32 x = 0; x < glyph_width; ++x) {
        fill(line + u64{x} * scale_, scale_, (dots >> (glyph_width - 1 - x) & 1) != 0 ? foreground : background);
      }
    }
  }
}

}  // namespace corral
