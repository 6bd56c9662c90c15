// What the kernel does for lwIP. See port/arch/cc.h. Context: under the stack's lock, or before anybody else knows the memory.
#include "net/port/arch/cc.h"

#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "sched/engine/random_source.h"
#include "trace/panic.h"

extern "C" {

void* corral_stack_allocate(size_t size) {
  return corral::memory::allocate(size);
}

void* corral_stack_allocate_zeroed(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* const memory = corral::memory::allocate(bytes);
  if (memory != nullptr) memset(memory, 0, bytes);
  return memory;
}

void corral_stack_release(void* pointer) {
  corral::memory::release(pointer);
}

uint32_t corral_stack_random(void) {
  return static_cast<uint32_t>(corral::random_source::next());
}

void corral_stack_is_wrong(const char* text) {
  corral::panic(text);
}

}  // extern "C"
