// The interpreter: a state machine over bytes, then the commands. See the header.
#include "device/text_screen.h"

namespace corral {

namespace {
constexpr u8 escape_byte = 0x1b;
constexpr u32 tab_width = 8;
constexpr u32 smaller(u32 a, u32 b) {
  return a < b ? a : b;
}
}  // namespace

void TextScreen::write_byte(u8 byte) {
  if (byte == 0x18 || byte == 0x1a) {  // CAN, SUB: end a sequence without doing it
    state_ = State::text;
    return;
  }
  if (byte == escape_byte) {
    utf8_left_ = 0;
    // ESC \ ends a command text (title and the like) just as well as any ESC does.
    state_ = State::escape;
    return;
  }
  switch (state_) {
    case State::text: text_byte(byte); break;
    case State::escape: escape(byte); break;
    case State::escape_ignore: state_ = State::text; break;
    case State::sequence: sequence_byte(byte); break;
    case State::command_text:
      if (byte == 0x07) state_ = State::text;
      break;
  }
}

void TextScreen::text_byte(u8 byte) {
  if (byte < 0x20 || byte == 0x7f) {
    control(byte);
  } else if (byte < 0x80) {
    utf8_left_ = 0;
    put(byte);
  } else if (byte < 0xc0) {
    if (utf8_left_ == 1) put('?');
    if (utf8_left_ > 0) --utf8_left_;
  } else {
    utf8_left_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
  }
}

void TextScreen::control(u8 byte) {
  switch (byte) {
    case '\b':
      if (column_ > 0 && !wrap_pending_) --column_;
      wrap_pending_ = false;
      break;
    case '\t': move_to(row_, smaller((column_ / tab_width + 1) * tab_width, columns - 1)); break;
    case '\n':
    case '\v':
    case '\f': line_feed(); break;
    case '\r': move_to(row_, 0); break;
    default: break;
  }
}

void TextScreen::escape(u8 byte) {
  state_ = State::text;
  switch (byte) {
    case '[':
      state_ = State::sequence;
      private_ = false;
      unknown_ = false;
      parameter_count_ = 0;
      for (u32& value : parameters_) value = 0;
      break;
    case ']':
    case 'P':
    case '^':
    case '_': state_ = State::command_text; break;
    case '(':
    case ')':
    case '*':
    case '+':
    case '#':
    case '%': state_ = State::escape_ignore; break;
    case '7': saved_ = {row_, column_, style_}; break;
    case '8':
      style_ = saved_.style;
      move_to(saved_.row, saved_.column);
      break;
    case 'D': line_feed(); break;
    case 'E':
      line_feed();
      move_to(row_, 0);
      break;
    case 'M': reverse_line_feed(); break;
    case 'c': reset(); break;
    default: break;
  }
}

void TextScreen::sequence_byte(u8 byte) {
  if (byte >= '0' && byte <= '9') {
    if (parameter_count_ == 0) parameter_count_ = 1;
    u32& value = parameters_[parameter_count_ - 1];
    value = smaller(value * 10 + (byte - '0'), most_value);
  } else if (byte == ';' || byte == ':') {
    if (parameter_count_ == 0) parameter_count_ = 1;
    if (parameter_count_ == most_parameters) {
      unknown_ = true;
    } else {
      ++parameter_count_;
    }
  } else if (byte == '?' && parameter_count_ == 0) {
    private_ = true;
  } else if (byte < 0x20) {
    control(byte);  // control characters work in the middle of a sequence
  } else if (byte < 0x40) {
    unknown_ = true;
  } else {
    state_ = State::text;
    if (unknown_ || byte >= 0x7f) return;
    if (private_) {
      run_private(byte);
    } else {
      run_sequence(byte);
    }
  }
}

u32 TextScreen::parameter(u32 index, u32 otherwise) const {
  return index < parameter_count_ && parameters_[index] != 0 ? parameters_[index] : otherwise;
}

void TextScreen::run_private(u8 final) {
  if (final != 'h' && final != 'l') return;
  for (u32 i = 0; i < parameter_count_; ++i) {
    if (parameters_[i] == 7) auto_wrap_ = final == 'h';
    if (parameters_[i] == 25) cursor_visible_ = final == 'h';
  }
}

void TextScreen::run_sequence(u8 final) {
  const u32 n = parameter(0, 1);
  switch (final) {
    case 'A': move_to(row_ - smaller(n, row_ >= top_ ? row_ - top_ : row_), column_); break;
    case 'e':
    case 'B': move_to(smaller(row_ + n, row_ <= bottom_ ? bottom_ : rows - 1), column_); break;
    case 'a':
    case 'C': move_to(row_, column_ + n); break;
    case 'D': move_to(row_, column_ - smaller(n, column_)); break;
    case 'E': move_to(row_ + n, 0); break;
    case 'F': move_to(row_ - smaller(n, row_), 0); break;
    case '`':
    case 'G': move_to(row_, n - 1); break;
    case 'd': move_to(n - 1, column_); break;
    case 'f':
    case 'H': move_to(n - 1, parameter(1, 1) - 1); break;
    case 'J': erase_display(parameter(0, 0)); break;
    case 'K': erase_line(parameter(0, 0)); break;
    case 'L':
      if (row_ >= top_ && row_ <= bottom_) scroll_down(row_, bottom_, n);
      break;
    case 'M':
      if (row_ >= top_ && row_ <= bottom_) scroll_up(row_, bottom_, n);
      break;
    case '@': insert_characters(n); break;
    case 'P': delete_characters(n); break;
    case 'X': erase(row_, column_, row_, smaller(column_ + n, columns)); break;
    case 'S': scroll_up(top_, bottom_, n); break;
    case 'T': scroll_down(top_, bottom_, n); break;
    case 'm': set_style(); break;
    case 'r': set_region(); break;
    case 's': saved_ = {row_, column_, style_}; break;
    case 'u': move_to(saved_.row, saved_.column); break;
    default: break;
  }
}

void TextScreen::put(u8 character) {
  if (wrap_pending_) {
    line_feed();
    column_ = 0;
    wrap_pending_ = false;
  }
  cells_[row_][column_] = {style_.concealed ? u8{' '} : character, colours()};
  touch(row_);
  if (column_ + 1 < columns) {
    ++column_;
  } else {
    wrap_pending_ = auto_wrap_;
  }
}

void TextScreen::line_feed() {
  wrap_pending_ = false;
  if (row_ == bottom_) {
    scroll_up(top_, bottom_, 1);
  } else if (row_ + 1 < rows) {
    ++row_;
  }
}

void TextScreen::reverse_line_feed() {
  wrap_pending_ = false;
  if (row_ == top_) {
    scroll_down(top_, bottom_, 1);
  } else if (row_ > 0) {
    --row_;
  }
}

void TextScreen::move_to(u32 row, u32 column) {
  row_ = smaller(row, rows - 1);
  column_ = smaller(column, columns - 1);
  wrap_pending_ = false;
}

void TextScreen::reset() {
  style_ = {};
  saved_ = {};
  top_ = 0;
  bottom_ = rows - 1;
  auto_wrap_ = true;
  cursor_visible_ = true;
  erase_display(2);
  move_to(0, 0);
}

void TextScreen::set_region() {
  const u32 top = parameter(0, 1) - 1;
  const u32 bottom = smaller(parameter(1, rows), rows) - 1;
  if (top >= bottom) return;
  top_ = top;
  bottom_ = bottom;
  move_to(0, 0);
}

}  // namespace corral
