// Text that grows: what generated files hold. Bounded; when memory or the bound is reached it says so, and the reader gets
// an error instead of half a text. Not synchronised.
#pragma once

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
    char piece[512];
    append(format_to(piece, format, arguments...));
  }
  [[nodiscard]] std::string_view text() const { return {bytes_, size_}; }
  [[nodiscard]] bool complete() const { return !failed_; }
  void clear() {
    size_ = 0;
    failed_ = false;
  }

 private:
  char* bytes_ = nullptr;
  u64 size_ = 0;
  u64 capacity_ = 0;
  bool failed_ = false;
};

}  // namespace corral::fs
