// Text formatting and number parsing. Pure: no allocation, no state. Any context.
#include "lib/format.h"

namespace corral {
namespace {

// What stands between the braces of a placeholder.
struct Specification {
  bool hexadecimal = false;
  bool prefix = false;  // 0x
  bool left = false;
  bool zeros = false;
  u32 width = 0;
};

constexpr u32 max_width = 256;

class Writer {
 public:
  explicit Writer(std::span<char> to) : to_{to} {}
  void put(char c) {
    if (used_ < to_.size()) to_[used_++] = c;
  }
  void put(std::string_view text) {
    char* const at = to_.data() + used_;
    const size_t size = take(text.size());
    for (size_t i = 0; i < size; ++i) at[i] = text[i];
  }
  void put(char c, size_t times) {
    char* const at = to_.data() + used_;
    const size_t size = take(times);
    for (size_t i = 0; i < size; ++i) at[i] = c;
  }
  [[nodiscard]] std::string_view text() const { return {to_.data(), used_}; }

 private:
  // Room for `wanted` characters, or as many as there is room for.
  size_t take(size_t wanted) {
    const size_t room = to_.size() - used_;
    const size_t size = wanted < room ? wanted : room;
    used_ += size;
    return size;
  }

  std::span<char> to_;
  size_t used_ = 0;
};

// False when the text between the braces is not a specification.
bool parse_specification(std::string_view text, Specification& s) {
  size_t i = 0;
  if (i < text.size() && (text[i] == 'x' || text[i] == 'X')) {
    s.hexadecimal = true;
    s.prefix = text[i] == 'x';
    s.zeros = !s.prefix;
    ++i;
    if (i < text.size() && text[i] == ' ') {
      s.zeros = false;
      ++i;
    }
  } else if (i < text.size() && text[i] == '-') {
    s.left = true;
    ++i;
  }
  if (i < text.size() && text[i] == '0' && i + 1 < text.size()) {
    s.zeros = !s.left;
    ++i;
  }
  for (; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    s.width = s.width * 10 + static_cast<u32>(text[i] - '0');
    if (s.width > max_width) return false;
  }
  return true;
}

void put_padded(Writer& out, const Specification& s, std::string_view sign, std::string_view digits, bool number) {
  const size_t length = sign.size() + digits.size();
  const size_t fill = s.width > length ? s.width - length : 0;
  const bool zeros = s.zeros && number;
  if (!s.left && !zeros) out.put(' ', fill);
  out.put(sign);
  if (zeros) out.put('0', fill);
  out.put(digits);
  if (s.left) out.put(' ', fill);
}

// Into the last of `digits`, for 2^64 - 1 has so many; answers where they begin.
template <u64 Base>
size_t write_digits(std::span<char, 20> digits, u64 value) {
  size_t at = digits.size();
  do {
    digits[--at] = "0123456789abcdef"[value % Base];
    value /= Base;
  } while (value != 0);
  return at;
}

void put_number(Writer& out, const Specification& s, u64 value, std::string_view sign) {
  char digits[20];
  const size_t at = s.hexadecimal ? write_digits<16>(digits, value) : write_digits<10>(digits, value);
  put_padded(out, s, sign, {digits + at, sizeof digits - at}, true);
}

void put_argument(Writer& out, const Specification& s, const FormatArgument& argument) {
  using Kind = FormatArgument::Kind;
  switch (argument.kind) {
    case Kind::text: put_padded(out, s, {}, argument.text, false); return;
    case Kind::boolean: put_padded(out, s, {}, argument.number != 0 ? "true" : "false", false); return;
    case Kind::character: {
      const char c = static_cast<char>(argument.number);
      put_padded(out, s, {}, {&c, 1}, false);
      return;
    }
    case Kind::signed_number:
      if (!s.hexadecimal && static_cast<i64>(argument.number) < 0) {
        put_number(out, s, u64{0} - argument.number, "-");
        return;
      }
      [[fallthrough]];
    case Kind::unsigned_number: put_number(out, s, argument.number, s.prefix ? "0x" : ""); return;
  }
}

}  // namespace

std::string_view format_arguments(std::span<char> to, std::string_view format, std::span<const FormatArgument> arguments) {
  Writer out{to};
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      out.put(c);
      ++i;
      continue;
    }
    if (c != '{') {
      out.put(c);
      continue;
    }
    size_t end = i + 1;
    while (end < format.size() && format[end] != '}') ++end;
    Specification s;
    if (end == format.size() || !parse_specification({format.data() + i + 1, end - i - 1}, s)) {
      out.put(c);  // not a placeholder: text like any other
      continue;
    }
    if (next < arguments.size()) {
      put_argument(out, s, arguments[next++]);
    } else {
      out.put("{missing}");
    }
    i = end;
  }
  return out.text();
}

bool parse_number(std::string_view text, u64& value) {
  u64 base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.empty()) return false;
  u64 result = 0;
  for (const char c : text) {
    u64 digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<u64>(c - '0');
    } else if (base == 16 && c >= 'a' && c <= 'f') {
      digit = static_cast<u64>(c - 'a') + 10;
    } else if (base == 16 && c >= 'A' && c <= 'F') {
      digit = static_cast<u64>(c - 'A') + 10;
    } else {
      return false;
    }
    if (__builtin_mul_overflow(result, base, &result) || __builtin_add_overflow(result, digit, &result)) return false;
  }
  value = result;
  return true;
}

}  // namespace corral
