// Draws character cells into a picture of 32-bit pixels: glyphs of 8 × 16 dots, enlarged by the largest whole factor with
// which 80 × 25 of them fit, in the middle of the picture.
//
// Pure: it writes to the memory that it was given and nowhere else, and never reads it (reading a framebuffer is slow).
// Invariant: every pixel that it writes lies inside width × height.
// Context: any, one caller at a time. Neighbours: device/text_screen, platform/pc/framebuffer_text.
#pragma once

#include "device/text_screen.h"

namespace corral {

struct PixelFormat {
  u8 red_shift, green_shift, blue_shift;  // of eight bits each in a pixel
};

class TextPainter {
 public:
  static constexpr u32 glyph_width = 8;
  static constexpr u32 glyph_height = 16;
  static constexpr u8 first_character = 0x20;
  static constexpr u8 last_character = 0x7e;
  using Glyph = u8[glyph_height];  // a row of dots a byte, the leftmost in the highest bit
  using Font = Glyph[last_character - first_character + 1];

  constexpr TextPainter() = default;
  // `pitch`: pixels from one line to the next, at least width. False: the picture is too small for one dot a pixel.
  bool initialise(volatile u32* pixels, u32 pitch, u32 width, u32 height, PixelFormat format, const Font& font);

  void clear();
  // Row and column as TextScreen counts them. `cursor`: with a bar below the character.
  void paint(u32 row, u32 column, TextScreen::Cell cell, bool cursor);

  [[nodiscard]] u32 scale() const { return scale_; }

 private:
  [[nodiscard]] u32 pixel_of(u32 colour) const;
  static void fill(volatile u32* line, u32 count, u32 pixel);

  volatile u32* pixels_ = nullptr;
  u32 pitch_ = 0;
  u32 width_ = 0;
  u32 height_ = 0;
  u32 scale_ = 0;
  u32 left_ = 0;  // of the first column, in pixels
  u32 top_ = 0;
  PixelFormat format_{};
  const Font* font_ = nullptr;
};

}  // namespace corral
