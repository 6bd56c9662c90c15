// See canary.h.
#include "memory/canary.h"

#include "lib/memory_functions.h"
#include "trace/panic.h"

namespace corral::memory {

namespace {

constinit bool used = false;  // written in boot context only

bool holds_run(const u8* bytes, u64 size) {
  u64 run = 0;
  for (u64 i = 0; i < size; ++i) {
    run = bytes[i] == canary_byte ? run + 1 : 0;
    if (run == canary_run) return true;
  }
  return false;
}

}  // namespace

void use_canaries() {
  used = true;
}

bool canaries_used() {
  return used;
}

void lay_canaries(void* at, u64 size) {
  if (used) [[unlikely]]
    memset(at, canary_byte, size);
}

void check_for_canaries(const void* bytes, u64 size) {
  if (used && holds_run(static_cast<const u8*>(bytes), size)) [[unlikely]]
    panic("memory: a program would be given what the kernel left behind");
}

}  // namespace corral::memory
