// Tables and state of the decoder. See the header.
#include "device/keyboard_decoder.h"

namespace corral {

namespace {

constexpr u8 released = 0x80;
constexpr u8 prefix_extended = 0xe0;
constexpr u8 prefix_pause = 0xe1;
constexpr u32 rest_of_pause = 2;  // 0xe1 0x1d 0x45 and 0xe1 0x9d 0xc5

constexpr u8 key_control = 0x1d;
constexpr u8 key_left_shift = 0x2a;
constexpr u8 key_right_shift = 0x36;
constexpr u8 key_alt = 0x38;
constexpr u8 key_caps_lock = 0x3a;
constexpr u8 key_number_lock = 0x45;

// Keys 0x00 … 0x39; 0: no character.
constexpr char unshifted[] =
    "\0\x1b"
    "1234567890-=\x7f\t"
    "qwertyuiop[]\r\0"
    "asdfghjkl;'`\0\\"
    "zxcvbnm,./\0*\0 ";
constexpr char shifted[] =
    "\0\x1b"
    "!@#$%^&*()_+\x7f\t"
    "QWERTYUIOP{}\r\0"
    "ASDFGHJKL:\"~\0|"
    "ZXCVBNM<>?\0*\0 ";
constexpr u8 last_character_key = 0x39;
static_assert(sizeof unshifted == last_character_key + 2 && sizeof shifted == sizeof unshifted);

constexpr std::string_view function_keys[] = {"\x1bOP",   "\x1bOQ",   "\x1bOR",   "\x1bOS",   "\x1b[15~",
                                              "\x1b[17~", "\x1b[18~", "\x1b[19~", "\x1b[20~", "\x1b[21~"};
constexpr std::string_view keypad_digits = "789-456+1230.";  // keys 0x47 … 0x53

}  // namespace

std::string_view KeyboardDecoder::sequence(std::string_view text) {
  size_t count = 0;
  if (left_alt_ && text.front() != '\x1b') out_[count++] = '\x1b';
  for (char c : text) {
    if (count < most_bytes) out_[count++] = c;
  }
  return {out_, count};
}

std::string_view KeyboardDecoder::character(char c) {
  if (left_control_ || right_control_) {
    if ((c >= 'a' && c <= 'z') || (c >= '@' && c <= '_')) {
      c = static_cast<char>(c & 0x1f);
    } else if (c == ' ' || c == '2') {
      c = '\0';
    } else if (c == '/' || c == '?') {
      c = c == '/' ? '\x1f' : '\x7f';
    } else if (c == '\x7f') {
      c = '\b';
    }
  }
  return sequence({&c, 1});
}

bool KeyboardDecoder::modifier(u8 key, bool extended, bool pressed) {
  switch (key) {
    case key_control: (extended ? right_control_ : left_control_) = pressed; return true;
    case key_alt: (extended ? right_alt_ : left_alt_) = pressed; return true;
    case key_left_shift:
      if (!extended) left_shift_ = pressed;  // 0xe0 0x2a is a false shift around grey keys
      return true;
    case key_right_shift:
      if (!extended) right_shift_ = pressed;
      return true;
    case key_caps_lock:
      if (pressed) caps_lock_ = !caps_lock_;
      return true;
    case key_number_lock:
      if (pressed) number_lock_ = !number_lock_;
      return true;
    default: return false;
  }
}

std::string_view KeyboardDecoder::decode(u8 scan_code) {
  if (skip_ > 0) {
    --skip_;
    return {};
  }
  if (scan_code == prefix_extended) {
    extended_ = true;
    return {};
  }
  if (scan_code == prefix_pause) {
    skip_ = rest_of_pause;
    return {};
  }
  const bool extended = extended_;
  extended_ = false;
  const u8 key = static_cast<u8>(scan_code & ~released);
  const bool pressed = (scan_code & released) == 0;
  if (modifier(key, extended, pressed) || !pressed) return {};
  return extended ? extended_key(key) : plain_key(key);
}

std::string_view KeyboardDecoder::plain_key(u8 key) {
  if (key <= last_character_key) {
    const char plain = unshifted[key];
    if (plain == '\0') return {};
    const bool letter = plain >= 'a' && plain <= 'z';
    const bool shift = left_shift_ || right_shift_;
    const bool upper = letter && caps_lock_ ? !shift : shift;
    return character(upper ? shifted[key] : plain);
  }
  if (key >= 0x3b && key <= 0x44) return sequence(function_keys[key - 0x3b]);
  if (key >= 0x47 && key <= 0x53) return keypad_key(key);
  if (key == 0x56) return character(left_shift_ || right_shift_ ? '|' : '\\');  // the 102nd key
  if (key == 0x57) return sequence("\x1b[23~");
  if (key == 0x58) return sequence("\x1b[24~");
  return {};
}

std::string_view KeyboardDecoder::keypad_key(u8 key) {
  const char digit = keypad_digits[key - 0x47];
  if (number_lock_ || digit == '-' || digit == '+') return character(digit);
  return extended_key(key);
}

std::string_view KeyboardDecoder::extended_key(u8 key) {
  switch (key) {
    case 0x1c: return character('\r');
    case 0x35: return character('/');
    case 0x47: return sequence("\x1b[H");
    case 0x48: return sequence("\x1b[A");
    case 0x49: return sequence("\x1b[5~");
    case 0x4b: return sequence("\x1b[D");
    case 0x4d: return sequence("\x1b[C");
    case 0x4f: return sequence("\x1b[F");
    case 0x50: return sequence("\x1b[B");
    case 0x51: return sequence("\x1b[6~");
    case 0x52: return sequence("\x1b[2~");
    case 0x53: return sequence("\x1b[3~");
    default: return {};
  }
}

}  // namespace corral
