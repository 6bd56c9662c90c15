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
  void restore();  // memory → registers; pinned. Never faults: the image is sanitised by import().

  // What a floating-point exception was, from the saved registers: the first exception that is pending and not masked.
  enum class Exception : u8 { none, invalid, division, overflow, underflow, inexact };
  [[nodiscard]] Exception vector_exception() const;  // SIMD (MXCSR)
  [[nodiscard]] Exception x87_exception() const;

  // For signal frames (Linux layout): size of the image, and copying it out and in. import() refuses (einval)
  // an image whose reserved bits would fault.
  [[nodiscard]] static size_t image_size();
  void export_image(u8* to) const;
  Result<void> import_image(const u8* from);

 private:
  u8* area_ = nullptr;
};

}  // namespace corral::arch
