// The functions on bytes that compilers call on their own (memcpy, memset, memmove, memcmp) and those that
// <string_view> uses (strlen, memchr), with the meanings of the C standard, 7.24. The kernel links lib/memory_functions.cpp;
// programs on a host have their own. Any context.
#pragma once

#include <cstddef>

extern "C" {
void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) noexcept;
void* memmove(void* to, const void* from, std::size_t size) noexcept;
void* memset(void* to, int value, std::size_t size) noexcept;
int memcmp(const void* a, const void* b, std::size_t size) noexcept;
std::size_t strlen(const char* text) noexcept;
}
