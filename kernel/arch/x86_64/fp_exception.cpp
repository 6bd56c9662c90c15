// Which floating-point exception is pending in saved registers. Source: Intel SDM vol. 1, 8.1.3 (x87 status word), 10.2.3
// (MXCSR), table 10-2 (their places in the FXSAVE image).
#include "arch/fp_state.h"
#include "lib/memory_functions.h"

namespace corral::arch {

namespace {

constexpr size_t control_word_at = 0, status_word_at = 2, mxcsr_at = 24;
constexpr u32 exception_bits = 0x3f;
constexpr u32 mxcsr_mask_shift = 7;

template <class T>
T read(const u8* area, size_t offset) {
  T value;
  memcpy(&value, area + offset, sizeof value);
  return value;
}

FpState::Exception first_of(u32 pending) {
  constexpr u32 invalid = 1, denormal = 2, division = 4, overflow = 8, underflow = 16;
  if (pending == 0) return FpState::Exception::none;
  if ((pending & invalid) != 0) return FpState::Exception::invalid;
  if ((pending & division) != 0) return FpState::Exception::division;
  if ((pending & overflow) != 0) return FpState::Exception::overflow;
  if ((pending & (underflow | denormal)) != 0) return FpState::Exception::underflow;
  return FpState::Exception::inexact;
}

}  // namespace

FpState::Exception FpState::vector_exception() const {
  const u32 mxcsr = read<u32>(area_, mxcsr_at);
  return first_of(mxcsr & ~(mxcsr >> mxcsr_mask_shift) & exception_bits);
}

FpState::Exception FpState::x87_exception() const {
  return first_of(read<u16>(area_, status_word_at) & ~u32{read<u16>(area_, control_word_at)} & exception_bits);
}

}  // namespace corral::arch
