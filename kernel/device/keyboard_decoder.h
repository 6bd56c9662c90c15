// From scan codes (set 1, as the PC's keyboard controller translates them) to the bytes that a terminal sends:
// characters of the US layout, control codes, and escape sequences (as a VT220/xterm) for the other keys.
//
// Pure: built and tested on the host. Invariant: any sequence of bytes is accepted; at most `most_bytes` come out for each.
// Source: IBM PS/2 Technical Reference, keyboard, scan-code set 1; xterm control sequences. Neighbour: platform/pc/ps2_keyboard.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral {

class KeyboardDecoder {
 public:
  static constexpr size_t most_bytes = 8;

  constexpr KeyboardDecoder() = default;
  // Takes one scan code; returns what the key sends, often nothing. Valid until the next call.
  [[nodiscard]] std::string_view decode(u8 scan_code);
  [[nodiscard]] bool caps_lock() const { return caps_lock_; }

 private:
  [[nodiscard]] std::string_view plain_key(u8 key);
  [[nodiscard]] std::string_view extended_key(u8 key);
  [[nodiscard]] std::string_view keypad_key(u8 key);
  [[nodiscard]] std::string_view character(char c);
  [[nodiscard]] std::string_view sequence(std::string_view text);
  bool modifier(u8 key, bool extended, bool pressed);

  bool left_shift_ = false;
  bool right_shift_ = false;
  bool left_control_ = false;
  bool right_control_ = false;
  bool left_alt_ = false;
  bool right_alt_ = false;
  bool caps_lock_ = false;
  bool number_lock_ = true;
  bool extended_ = false;  // the last byte was 0xe0
  u32 skip_ = 0;  // bytes of a Pause sequence (0xe1 …) still to come
  char out_[most_bytes] = {};
};

}  // namespace corral
