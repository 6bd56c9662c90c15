// See text_buffer.h.
#include "fs/text_buffer.h"

#include <bit>
#include <utility>

#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

TextBuffer::TextBuffer(TextBuffer&& other) noexcept
    : bytes_{std::exchange(other.bytes_, nullptr)},
      size_{std::exchange(other.size_, 0)},
      capacity_{std::exchange(other.capacity_, 0)},
      failed_{other.failed_} {}

TextBuffer& TextBuffer::operator=(TextBuffer&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(failed_, other.failed_);
  return *this;
}

TextBuffer::~TextBuffer() {
  memory::release(bytes_);
}

bool TextBuffer::reserve(u64 more) {
  if (failed_) return false;
  const u64 wanted = size_ + more;
  if (wanted <= capacity_) return true;
  const u64 capacity = wanted < 512 ? 512 : std::bit_ceil(wanted);
  auto* bytes = capacity <= limit ? static_cast<char*>(memory::allocate(capacity)) : nullptr;
  if (bytes == nullptr) {
    failed_ = true;
    return false;
  }
  if (size_ > 0) memcpy(bytes, bytes_, size_);
  memory::release(bytes_);
  bytes_ = bytes;
  capacity_ = capacity;
  return true;
}

void TextBuffer::print_arguments(std::string_view format, std::span<const FormatArgument> arguments) {
  constexpr u64 usual = 128;
  append_from([&](std::span<char> to) { return format_arguments(to, format, arguments).size(); }, usual);
}

void TextBuffer::append(std::string_view text) {
  if (!reserve(text.size())) return;
  memcpy(bytes_ + size_, text.data(), text.size());
  size_ += text.size();
}

}  // namespace corral::fs
