// The part of TextScreen that changes cells in blocks and chooses colours.
// Source of the 256-colour palette: xterm's 6x6x6 cube (16 … 231) and greys (232 … 255). See the header.
#include "device/text_screen.h"

namespace corral {

namespace {

constexpr u32 smaller(u32 a, u32 b) {
  return a < b ? a : b;
}

// ANSI's order is red, green, blue in bits 0, 1, 2; VGA's is blue, green, red.
constexpr u8 vga_colour(u32 ansi) {
  return static_cast<u8>((ansi & 1) << 2 | (ansi & 2) | (ansi & 4) >> 2 | (ansi & 8));
}

// The nearest of the 16 colours for components of 0 … 255.
u8 nearest_colour(u32 red, u32 green, u32 blue) {
  const u32 most = red > green ? (red > blue ? red : blue) : (green > blue ? green : blue);
  if (most < 48) return 0;
  const u32 threshold = most / 2;
  const u32 bits = (red > threshold ? 1u : 0u) | (green > threshold ? 2u : 0u) | (blue > threshold ? 4u : 0u);
  if (bits == 7) return vga_colour(most > 200 ? 15 : most > 120 ? 7 : 8);
  return vga_colour(bits | (most > 200 ? 8u : 0u));
}

}  // namespace

u8 TextScreen::colours() const {
  u32 foreground = style_.foreground;
  u32 background = style_.background;
  if (style_.bold) foreground |= 8;
  if (style_.reverse) {
    const u32 kept = foreground;
    foreground = background;
    background = kept;
  }
  return static_cast<u8>(foreground | background << 4);
}

// Erased cells take the background, not the rest of the style (as xterm's "back colour erase").
TextScreen::Cell TextScreen::blank() const {
  return {' ', static_cast<u8>((default_colours & 0x0f) | style_.background << 4)};
}

void TextScreen::erase(u32 from_row, u32 from_column, u32 to_row, u32 to_column) {
  const Cell empty = blank();
  for (u32 row = from_row; row <= to_row && row < rows; ++row) {
    const u32 first = row == from_row ? from_column : 0;
    const u32 end = row == to_row ? to_column : columns;
    for (u32 column = first; column < end; ++column) cells_[row][column] = empty;
    touch(row);
  }
}

void TextScreen::erase_display(u32 mode) {
  wrap_pending_ = false;
  if (mode == 0) erase(row_, column_, rows - 1, columns);
  if (mode == 1) erase(0, 0, row_, column_ + 1);
  if (mode == 2 || mode == 3) erase(0, 0, rows - 1, columns);
}

void TextScreen::erase_line(u32 mode) {
  wrap_pending_ = false;
  if (mode == 0) erase(row_, column_, row_, columns);
  if (mode == 1) erase(row_, 0, row_, column_ + 1);
  if (mode == 2) erase(row_, 0, row_, columns);
}

void TextScreen::scroll_up(u32 top, u32 bottom, u32 count) {
  const u32 distance = smaller(count, bottom - top + 1);
  for (u32 row = top; row + distance <= bottom; ++row) {
    for (u32 column = 0; column < columns; ++column) cells_[row][column] = cells_[row + distance][column];
    touch(row);
  }
  erase(bottom + 1 - distance, 0, bottom, columns);
}

void TextScreen::scroll_down(u32 top, u32 bottom, u32 count) {
  const u32 distance = smaller(count, bottom - top + 1);
  for (u32 row = bottom; row >= top + distance; --row) {
    for (u32 column = 0; column < columns; ++column) cells_[row][column] = cells_[row - distance][column];
    touch(row);
  }
  erase(top, 0, top + distance - 1, columns);
}

void TextScreen::insert_characters(u32 count) {
  const u32 distance = smaller(count, columns - column_);
  for (u32 column = columns; column-- > column_ + distance;) cells_[row_][column] = cells_[row_][column - distance];
  erase(row_, column_, row_, column_ + distance);
}

void TextScreen::delete_characters(u32 count) {
  const u32 distance = smaller(count, columns - column_);
  for (u32 column = column_; column + distance < columns; ++column) cells_[row_][column] = cells_[row_][column + distance];
  erase(row_, columns - distance, row_, columns);
}

// 38 or 48 at `index`: ;5;N or ;2;R;G;B. Returns the index of the last parameter that belongs to it.
u32 TextScreen::extended_colour(u32 index, u8& colour) const {
  const u32 kind = index + 1 < parameter_count_ ? parameters_[index + 1] : 0;
  if (kind == 5 && index + 2 < parameter_count_) {
    const u32 n = smaller(parameters_[index + 2], 255);
    if (n < 16) {
      colour = vga_colour(n);
    } else if (n < 232) {
      const u32 cube = n - 16;
      colour = nearest_colour(cube / 36 * 51, cube / 6 % 6 * 51, cube % 6 * 51);
    } else {
      const u32 grey = 8 + (n - 232) * 10;
      colour = nearest_colour(grey, grey, grey);
    }
    return index + 2;
  }
  if (kind == 2 && index + 4 < parameter_count_) {
    colour = nearest_colour(smaller(parameters_[index + 2], 255), smaller(parameters_[index + 3], 255),
                            smaller(parameters_[index + 4], 255));
    return index + 4;
  }
  return parameter_count_;  // malformed: the rest cannot be told apart
}

void TextScreen::set_style() {
  if (parameter_count_ == 0) style_ = {};
  for (u32 i = 0; i < parameter_count_; ++i) {
    const u32 n = parameters_[i];
    if (n == 0) {
      style_ = {};
    } else if (n == 1) {
      style_.bold = true;
    } else if (n == 22) {
      style_.bold = false;
    } else if (n == 7 || n == 27) {
      style_.reverse = n == 7;
    } else if (n == 8 || n == 28) {
      style_.concealed = n == 8;
    } else if (n >= 30 && n <= 37) {
      style_.foreground = vga_colour(n - 30);
    } else if (n == 38) {
      i = extended_colour(i, style_.foreground);
    } else if (n == 39) {
      style_.foreground = 7;
    } else if (n >= 40 && n <= 47) {
      style_.background = vga_colour(n - 40);
    } else if (n == 48) {
      i = extended_colour(i, style_.background);
    } else if (n == 49) {
      style_.background = 0;
    } else if (n >= 90 && n <= 97) {
      style_.foreground = vga_colour(n - 90 + 8);
    } else if (n >= 100 && n <= 107) {
      style_.background = vga_colour(n - 100 + 8);
    }
  }
}

}  // namespace corral
