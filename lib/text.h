// Cutting texts into parts without allocation and without std::string_view::substr, whose range check throws.
// Pure; the results are parts of the argument.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral {

// At most `count` characters from `from` on; empty when `from` is past the end.
constexpr std::string_view slice(std::string_view text, size_t from, size_t count = ~size_t{0}) {
  if (from >= text.size()) return {};
  const size_t rest = text.size() - from;
  return {text.data() + from, count < rest ? count : rest};
}

// Takes the part before the first `separator` off `text` (all of it when there is none) and returns that part.
constexpr std::string_view take_part(std::string_view& text, char separator) {
  size_t end = 0;
  while (end < text.size() && text[end] != separator) ++end;
  const std::string_view part{text.data(), end};
  text = slice(text, end + 1);
  return part;
}

constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Takes the next word off `text`, with what separates it from the one before: is_gap(char). Empty: there is none left.
template <class IsGap>
constexpr std::string_view take_word(std::string_view& text, IsGap&& is_gap) {
  while (!text.empty() && is_gap(text.front())) text.remove_prefix(1);
  size_t length = 0;
  while (length < text.size() && !is_gap(text[length])) ++length;
  const std::string_view word{text.data(), length};
  text.remove_prefix(length);
  return word;
}

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Copies as much as fits, always with a zero byte behind; false when it was cut. `size` at least 1.
constexpr bool copy_text(char* to, size_t size, std::string_view text) {
  const size_t count = text.size() < size ? text.size() : size - 1;
  for (size_t i = 0; i < count; ++i) to[i] = text[i];
  to[count] = 0;
  return count == text.size();
}

}  // namespace corral
