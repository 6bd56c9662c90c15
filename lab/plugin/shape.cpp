#include "shape.h"

#include <charconv>

namespace corral::cache_model {

bool parse(std::string_view text, u32& number) {
  u64 value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || end - rest > 1 || value > ~u32{0}) return false;
  if (rest != end) {
    if (*rest != 'K' && *rest != 'M') return false;
    value <<= *rest == 'K' ? 10 : 20;
  }
  number = static_cast<u32>(value);
  return value == number;
}

bool parse(std::string_view text, CacheShape& shape) {
  const size_t first = text.find(':');
  if (first == std::string_view::npos) return false;
  const size_t second = text.find(':', first + 1);
  CacheShape read;
  if (!parse(text.substr(0, first), read.size)) return false;
  if (!parse(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1), read.ways)) return false;
  if (second != std::string_view::npos && !parse(text.substr(second + 1), read.line)) return false;
  shape = read;
  return true;
}

}  // namespace corral::cache_model
