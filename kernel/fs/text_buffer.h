// Text that grows: what generated files hold. Bounded; when memory or the bound is reached it says so, and the reader gets
// an error instead of half a text; also of one piece of it, however long that is. Not synchronised.
#pragma once

#include <span>
#include <string_view>

#include "lib/format.h"
#include "lib/result.h"

namespace corral::fs {

class TextBuffer {
 public:
  static constexpr u64 limit = 4 << 20;

  TextBuffer() = default;
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;
  TextBuffer(TextBuffer&& other) noexcept;
  TextBuffer& operator=(TextBuffer&& other) noexcept;
  ~TextBuffer();

  void append(std::string_view text);
  template <class... Arguments>
  void print(std::string_view format, const Arguments&... arguments) {
    if constexpr (sizeof...(Arguments) == 0) {
      print_arguments(format, {});
    } else {
      const FormatArgument list[] = {FormatArgument::of(arguments)...};
      print_arguments(format, list);
    }
  }
  // What write(std::span<char>) writes, which fills the span and says so when that is too short; it is called again then, with
  // twice as much, after `expected` bytes at first.
  template <class Write>
  void append_from(Write&& write, u64 expected) {
    for (u64 most = expected; reserve(most); most = 2 * (capacity_ - size_)) {
      const u64 used = write(std::span<char>{bytes_ + size_, capacity_ - size_});
      if (used == capacity_ - size_) continue;
      size_ += used;
      return;
    }
  }
  [[nodiscard]] std::string_view text() const { return {bytes_, size_}; }
  [[nodiscard]] bool complete() const { return !failed_; }
  void clear() {
    size_ = 0;
    failed_ = false;
  }

 private:
  // Room for `more` bytes; false: there is none, and the text is not complete.
  bool reserve(u64 more);
  void print_arguments(std::string_view format, std::span<const FormatArgument> arguments);

  char* bytes_ = nullptr;
  u64 size_ = 0;
  u64 capacity_ = 0;
  bool failed_ = false;
};

}  // namespace corral::fs
