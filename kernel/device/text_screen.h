// A text screen that understands ANSI (ECMA-48) control sequences: bytes in, character cells out.
//
// Pure: it knows no hardware and no lock; its owner copies the rows that changed to wherever they are shown. Understood:
// CR LF BS HT BEL VT FF; ESC 7 8 D E M c; CSI A B C D E F G H J K L M P S T X @ d f m r s u; ?7 and ?25 h l.
// All else is taken and ignored. Wrapping is deferred, as in a VT100: a character in the last column leaves the cursor
// there, the next one goes to the next row. Bytes beyond ASCII are UTF-8; what the font lacks shows as '?'.
// Invariant: 0 <= row_ < rows, 0 <= column_ < columns, top_ <= bottom_ < rows, whatever the input.
// Source: ECMA-48 5th edition; VT100 user guide. Neighbour: platform/pc/vga_text.
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral {

class TextScreen {
 public:
  static constexpr u32 columns = 80;
  static constexpr u32 rows = 25;

  // Colours in VGA's order (black, blue, green, cyan, red, magenta, brown, grey; + 8: bright).
  struct Cell {
    u8 character = ' ';
    u8 colours = default_colours;  // foreground in the low half, background in the high half
    bool operator==(const Cell&) const = default;
  };
  static constexpr u8 default_colours = 0x07;

  constexpr TextScreen() = default;
  TextScreen(const TextScreen&) = delete;
  TextScreen& operator=(const TextScreen&) = delete;

  void write(std::string_view bytes) {
    for (char byte : bytes) write_byte(static_cast<u8>(byte));
  }

  [[nodiscard]] std::span<const Cell, columns> row(u32 index) const { return cells_[index]; }
  [[nodiscard]] u32 cursor_row() const { return row_; }
  [[nodiscard]] u32 cursor_column() const { return column_; }
  [[nodiscard]] bool cursor_visible() const { return cursor_visible_; }
  // Rows that changed since the last take, a bit for each.
  [[nodiscard]] u32 take_changed_rows() {
    const u32 changed = changed_;
    changed_ = 0;
    return changed;
  }

 private:
  enum class State : u8 { text, escape, escape_ignore, sequence, command_text };
  static constexpr u32 most_parameters = 16;
  static constexpr u32 most_value = 9999;

  struct Style {
    u8 foreground = 7;
    u8 background = 0;
    bool bold = false;
    bool reverse = false;
    bool concealed = false;
  };
  struct Saved {
    u32 row = 0;
    u32 column = 0;
    Style style;
  };

  void write_byte(u8 byte);
  void text_byte(u8 byte);
  void control(u8 byte);
  void escape(u8 byte);
  void sequence_byte(u8 byte);
  void run_sequence(u8 final);
  void run_private(u8 final);
  void put(u8 character);
  void line_feed();
  void reverse_line_feed();
  void move_to(u32 row, u32 column);
  void erase(u32 from_row, u32 from_column, u32 to_row, u32 to_column);  // the end is not included
  void erase_display(u32 mode);
  void erase_line(u32 mode);
  void scroll_up(u32 top, u32 bottom, u32 count);
  void scroll_down(u32 top, u32 bottom, u32 count);
  void insert_characters(u32 count);
  void delete_characters(u32 count);
  void set_region();
  void set_style();
  u32 extended_colour(u32 index, u8& colour) const;
  void reset();
  // Parameter `index`, or `otherwise` when it is missing or 0.
  [[nodiscard]] u32 parameter(u32 index, u32 otherwise) const;
  [[nodiscard]] u8 colours() const;
  [[nodiscard]] Cell blank() const;
  void touch(u32 row) { changed_ |= u32{1} << row; }

  Cell cells_[rows][columns] = {};
  u32 changed_ = (u32{1} << rows) - 1;
  u32 row_ = 0;
  u32 column_ = 0;
  u32 top_ = 0;
  u32 bottom_ = rows - 1;
  bool wrap_pending_ = false;
  bool auto_wrap_ = true;
  bool cursor_visible_ = true;
  Style style_;
  Saved saved_;

  State state_ = State::text;
  bool private_ = false;       // the sequence began with '?'
  bool unknown_ = false;       // it has something that is not understood: ignored as a whole
  u32 parameters_[most_parameters] = {};
  u32 parameter_count_ = 0;
  u32 utf8_left_ = 0;          // continuation bytes still to come
};

}  // namespace corral
