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
  // The same state for a handler; what the processor does not load then may stay in memory, where the thread's own signal frames
  // show it, as they do on Linux.
  void reset_for_handler();
  void copy_from(const FpState& other);  // both allocated; `other` saved
  void save();  // registers → memory; pinned
  void restore();  // memory → registers; pinned. Never faults: the image is checked by accept_image().

  // What a floating-point exception was, from the saved registers: the first exception that is pending and not masked.
  enum class Exception : u8 { none, invalid, division, overflow, underflow, inexact };
  [[nodiscard]] Exception vector_exception() const;  // SIMD (MXCSR)
  [[nodiscard]] Exception x87_exception() const;

  // ---- for signal frames, in Linux's layout: the saved registers, then a mark ------------------------------------------
  // The mark in the image that says how long it is and what it holds; without it only its first 512 bytes count.
  static constexpr size_t mark_offset = 464;
  struct Mark {  // struct _fpx_sw_bytes
    u32 magic, whole_size;
    u64 components;
    u32 image_size;
    u32 padding[7];
  };
  static_assert(sizeof(Mark) == 48);
  static constexpr u32 end_mark = 0x46505845;  // follows a marked image
  [[nodiscard]] static bool frames_are_marked();
  [[nodiscard]] static size_t image_size();
  // The saved registers as they go into a frame.
  [[nodiscard]] const u8* frame_image();
  // How many bytes of an image with this mark are to be taken, if the end mark is there too; 0: the mark is none.
  [[nodiscard]] static size_t marked_size(const Mark& mark);
  // Room for an image of `size` bytes (at most image_size()) that comes from a program: they are to be put there, and
  // accept_image() must follow, or reset(). It refuses (einval, initial state) what would fault in restore(). `mark` null: an
  // image of 512 bytes.
  [[nodiscard]] u8* room_for_image(size_t size);
  Result<void> accept_image(const Mark* mark);
  static constexpr size_t plain_image_size = 512;

  // ---- for debuggers: of a thread whose registers are saved, and not loaded meanwhile (fp_debugger.cpp) --------------------
  // image_size() bytes: what is in its initial state is there, too, and XCR0 at mark_offset.
  void tell(u8* to) const;
  // Such an image, or its first plain_image_size bytes, the rest staying as it is. einval: what would fault in restore().
  Result<void> assign(const u8* from, size_t size);

 private:
  u8* area_ = nullptr;
  u32 mxcsr_mask_ = 0;  // what the processor said of MXCSR's bits when room_for_image() was last given out; 0: nothing
};

}  // namespace corral::arch
