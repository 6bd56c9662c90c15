// The C names of lib/byte_operations.h, for the kernel alone (see lib/memory_functions.h). Any context.
#include "lib/memory_functions.h"

#include "lib/byte_operations.h"

extern "C" {

const void* memchr(const void* from, int value, std::size_t size) noexcept;

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) noexcept {
  corral::bytes::copy_forwards(to, from, size);
  return to;
}

void* memmove(void* to, const void* from, std::size_t size) noexcept {
  corral::bytes::move(to, from, size);
  return to;
}

void* memset(void* to, int value, std::size_t size) noexcept {
  corral::bytes::fill(to, static_cast<corral::u8>(value), size);
  return to;
}

int memcmp(const void* a, const void* b, std::size_t size) noexcept {
  return corral::bytes::compare(a, b, size);
}

std::size_t strlen(const char* text) noexcept {
  return corral::bytes::length(text);
}

const void* memchr(const void* from, int value, std::size_t size) noexcept {
  return corral::bytes::find(from, static_cast<corral::u8>(value), size);
}

}  // extern "C"
