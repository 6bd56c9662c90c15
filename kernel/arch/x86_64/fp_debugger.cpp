// The saved floating-point registers as a debugger reads and writes them (arch/fp_state.h). Source: SDM vol. 1, 13.4 (XSAVE area); the
// place of XCR0 in it: Linux arch/x86/include/uapi/asm/ptrace-abi.h and sigcontext.h (xstate_fx_sw_bytes).
#include "arch/fp_state.h"
#include "arch/port_io.h"
#include "arch/processor.h"
#include "lib/memory_functions.h"

namespace corral::arch {

namespace {

constexpr size_t offset_mxcsr = 24, end_of_mxcsr = 32;  // with its mask
constexpr size_t offset_vectors = 160, end_of_vectors = 416;
constexpr size_t offset_components = 512, end_of_header = 576;
constexpr u16 initial_control_word = 0x37f;
constexpr u64 x87 = 1, sse = 2;
constexpr u32 first_extended = 2, most_components = 63;
constexpr u32 default_mxcsr_mask = 0xffbf;

u64 word_at(const u8* area, size_t offset) {
  u64 word;
  memcpy(&word, area + offset, sizeof word);
  return word;
}

// The processor does not write what is in its initial state, so that older values may stand there (SDM vol. 1, 13.6).
void clear_initial_state(u8* area, u64 components) {
  if ((components & x87) == 0) {
    memset(area, 0, offset_mxcsr);
    memcpy(area, &initial_control_word, sizeof initial_control_word);
    memset(area + end_of_mxcsr, 0, offset_vectors - end_of_mxcsr);
  }
  if ((components & sse) == 0) memset(area + offset_vectors, 0, end_of_vectors - offset_vectors);
  for (u32 i = first_extended; i < most_components; ++i) {
    if ((features().xsave_components >> i & 1) == 0 || (components >> i & 1) != 0) continue;
    const CpuidResult place = cpuid(0xd, i);  // a: size, b: offset
    if (u64{place.b} + place.a <= features().xsave_size) memset(area + place.b, 0, place.a);
  }
}

}  // namespace

void FpState::tell(u8* to) const {
  memcpy(to, area_, image_size());
  memset(to + mark_offset, 0, sizeof(Mark));
  if (!features().xsave) return;
  clear_initial_state(to, word_at(to, offset_components));
  const u64 components = features().xsave_components;
  memcpy(to + mark_offset, &components, sizeof components);
}

Result<void> FpState::assign(const u8* from, size_t size) {
  u32 mxcsr;
  u32 mask;
  memcpy(&mxcsr, from + offset_mxcsr, sizeof mxcsr);
  memcpy(&mask, area_ + offset_mxcsr + sizeof mxcsr, sizeof mask);  // as the last save left it; 0 before any
  if (mask == 0) mask = default_mxcsr_mask;
  if ((mxcsr & ~mask) != 0) return Errno::einval;
  const bool whole = size > plain_image_size;
  if (whole) {
    if ((word_at(from, offset_components) & ~features().xsave_components) != 0) return Errno::einval;
    for (size_t at = offset_components + sizeof(u64); at < end_of_header; at += sizeof(u64)) {
      if (word_at(from, at) != 0) return Errno::einval;
    }
  }
  memcpy(area_, from, size);
  memcpy(area_ + offset_mxcsr + sizeof mxcsr, &mask, sizeof mask);
  if (features().xsave && !whole) {
    const u64 components = word_at(area_, offset_components) | x87 | sse;
    memcpy(area_ + offset_components, &components, sizeof components);
  }
  return {};
}

}  // namespace corral::arch
