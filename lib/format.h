// Small text formatting without allocation: format_to(buffer, "{} cores at {x}", n, address).
// Placeholders: {} decimal, text, bool or character; {x} hexadecimal with 0x; {X16} hexadecimal, 16 digits wide without 0x, {X 16} with spaces before it;
// {5} right-aligned in 5 columns, {-5} left-aligned, {05} filled with zeros; {{ and }} for the braces themselves.
// Too long for the buffer: cut, never overrun; more placeholders than arguments: {missing}. Pure.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include "lib/types.h"

namespace corral {

struct FormatArgument {
  enum class Kind : u8 { signed_number, unsigned_number, text, boolean, character } kind;
  u64 number = 0;
  std::string_view text = {};

  template <class T>
  static FormatArgument of(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return {Kind::boolean, value};
    } else if constexpr (std::is_same_v<T, char>) {
      return {Kind::character, static_cast<u64>(static_cast<unsigned char>(value))};
    } else if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, char*>) {
      return {Kind::text, 0, value == nullptr ? std::string_view{"(null)"} : std::string_view{value}};
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return {Kind::text, 0, std::string_view{value}};
    } else if constexpr (std::is_pointer_v<T>) {
      return {Kind::unsigned_number, reinterpret_cast<u64>(value)};
    } else if constexpr (std::is_enum_v<T>) {
      return {Kind::signed_number, static_cast<u64>(static_cast<i64>(value))};
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return {Kind::signed_number, static_cast<u64>(static_cast<i64>(value))};
    } else if constexpr (std::is_integral_v<T>) {
      return {Kind::unsigned_number, static_cast<u64>(value)};
    } else if constexpr (requires { value.ns; }) {
      return {Kind::signed_number, static_cast<u64>(value.ns)};
    } else {
      return of(value.value);  // the strong types of lib/types.h
    }
  }
};

// Returns the text written, a prefix of `to`.
std::string_view format_arguments(std::span<char> to, std::string_view format, std::span<const FormatArgument> arguments);

template <class... Arguments>
std::string_view format_to(std::span<char> to, std::string_view format, const Arguments&... arguments) {
  if constexpr (sizeof...(Arguments) == 0) {
    return format_arguments(to, format, {});
  } else {
    const FormatArgument list[] = {FormatArgument::of(arguments)...};
    return format_arguments(to, format, list);
  }
}

// Reads a number ("123", "0x1f"); false when `text` is not one, as a whole, or does not fit.
bool parse_number(std::string_view text, u64& value);

}  // namespace corral
