// operator new(std::nothrow) and delete over the heap. There is no throwing operator new: code that would need it does
// not link. Any core, interrupts off. Alignments above a cache line are served by whole pages.
#include <new>

#include "memory/heap.h"

const std::nothrow_t std::nothrow{};

namespace {

void* allocate_aligned(std::size_t size, std::align_val_t alignment) noexcept {
  const auto boundary = static_cast<std::size_t>(alignment);
  if (boundary <= 16) return corral::memory::allocate(size);
  if (boundary <= 64) return corral::memory::allocate(size < 64 ? 64 : size);
  if (boundary <= corral::page_size) return corral::memory::allocate(size <= 2048 ? 2049 : size);
  return nullptr;
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return corral::memory::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return corral::memory::allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_aligned(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_aligned(size, alignment);
}

void operator delete(void* pointer) noexcept {
  corral::memory::release(pointer);
}
void operator delete[](void* pointer) noexcept {
  corral::memory::release(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
  corral::memory::release(pointer);
}
void operator delete[](void* pointer, std::size_t) noexcept {
  corral::memory::release(pointer);
}
void operator delete(void* pointer, std::align_val_t) noexcept {
  corral::memory::release(pointer);
}
void operator delete[](void* pointer, std::align_val_t) noexcept {
  corral::memory::release(pointer);
}
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept {
  corral::memory::release(pointer);
}
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept {
  corral::memory::release(pointer);
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept {
  corral::memory::release(pointer);
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
  corral::memory::release(pointer);
}
void operator delete(void* pointer, std::align_val_t, const std::nothrow_t&) noexcept {
  corral::memory::release(pointer);
}
void operator delete[](void* pointer, std::align_val_t, const std::nothrow_t&) noexcept {
  corral::memory::release(pointer);
}
