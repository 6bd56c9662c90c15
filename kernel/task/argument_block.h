// The arguments and environment of a program to be executed: copied out of the old address space before it goes, then
// into the new one's stack. One block of zero-terminated strings, arguments first.
#pragma once

#include <string_view>

#include "lib/result.h"
#include "lib/types.h"

namespace corral {

class ArgumentBlock {
 public:
  static constexpr u64 capacity = 256 * 1024;  // bytes of strings
  static constexpr u32 max_strings = 16384;

  ArgumentBlock() = default;
  ~ArgumentBlock();
  ArgumentBlock(const ArgumentBlock&) = delete;
  ArgumentBlock& operator=(const ArgumentBlock&) = delete;

  // Before anything else. enomem.
  Result<void> allocate();
  // Room for a string of up to room() bytes with its zero; commit(length) takes it in (length without the zero).
  [[nodiscard]] char* tail() { return text_ + used_; }
  [[nodiscard]] u64 room() const { return capacity - used_; }
  void commit(u64 length) {
    used_ += length + 1;
    ++strings_;
  }
  // e2big when it does not fit.
  Result<void> append(std::string_view text);
  // All strings so far are arguments; the following ones are the environment.
  void end_arguments() { arguments_ = strings_; }
  // Replaces the first argument by several strings (a script's interpreter, its option, the script). e2big.
  Result<void> replace_first(std::string_view first, std::string_view second, std::string_view third);

  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] u64 size() const { return used_; }
  [[nodiscard]] u32 argument_count() const { return arguments_; }
  [[nodiscard]] u32 environment_count() const { return strings_ - arguments_; }

 private:
  char* text_ = nullptr;
  u64 used_ = 0;
  u32 strings_ = 0;
  u32 arguments_ = 0;
};

}  // namespace corral
