// Floating-point and vector registers of a thread: XSAVE, or FXSAVE where the processor has no XSAVE.
// The kernel is compiled without any such instruction (checked on the linked image), so the registers stay the
// thread's until another thread is loaded. Source: Intel SDM vol. 1, chapter 13.
#pragma once

#include "lib/result.h"
#include "lib/types.h"

namespace corral::arch {

class FpState {
 public:
  FpState() = default;
  ~FpState();
  FpState(const FpState&) = delete;
  FpState& operator=(const FpState&) = delete;

  // Allocates the area (features().xsave_size bytes, 64-byte aligned) in the initial state. enomem.
  Result<void> allocate();
  void reset();                          // to the state that a new program expects
  void copy_from(const FpState& other);  // both allocated; `other` saved
  void save();     // registers → memory; pinned
  void restore();  // memory → registers; pinned. Never faults: the image is checked by accept_image().

  // What a floating-point exception was, from the saved registers: the first exception that is pending and not masked.
  enum class Exception : u8 { none, invalid, division, overflow, underflow, inexact };
  [[nodiscard]] Exception vector_exception() const;  // SIMD (MXCSR)
  [[nodiscard]] Exception x87_exception() const;

  // For signal frames (Linux layout): the saved registers as bytes, to be copied to and from the program. After new bytes
  // have been put there, accept_image() must follow: it refuses (einval, initial state) what would fault in restore().
  [[nodiscard]] static size_t image_size();
  [[nodiscard]] u8* image();
  Result<void> accept_image();

 private:
  u8* area_ = nullptr;
  u32 mxcsr_mask_ = 0;  // what the processor said of MXCSR's bits when image() was last given out; 0: nothing
};

}  // namespace corral::arch
