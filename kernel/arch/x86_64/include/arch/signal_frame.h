// What a signal handler finds on its stack, in Linux's layout, because programs read and change it (x86-64).
// Source: Linux arch/x86/include/uapi/asm/sigcontext.h and asm-generic/ucontext.h (layouts only); System V ABI, 3.4.
#pragma once

#include <cstddef>

#include "arch/trap_frame.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral::arch {

struct SignalContext {  // struct sigcontext
  u64 r8, r9, r10, r11, r12, r13, r14, r15;
  u64 rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
  u16 cs, gs, fs, ss;
  u64 error_code, trap_number, old_mask, cr2;
  u64 floating_point;  // user address of the image, 0: none
  u64 reserved[8];
};
static_assert(sizeof(SignalContext) == 256);

struct SignalFrame {
  u64 return_address;  // the restorer
  struct {             // ucontext_t
    u64 flags;
    u64 link;
    struct {  // stack_t
      u64 base;
      i32 flags;
      u32 padding;
      u64 size;
    } stack;
    SignalContext context;
    u64 blocked;
  } user_context;
  u64 information[16];  // siginfo_t
};
static_assert(offsetof(SignalFrame, user_context) == 8);
static_assert(offsetof(SignalFrame, information) == 8 + 40 + 256 + 8);
static_assert(sizeof(SignalFrame) == 8 + 304 + 128);

inline constexpr u64 red_zone = 128;  // bytes below the stack pointer that belong to the interrupted function

// Where the frame goes below `stack_top`, with the floating-point image of `image_size` bytes above it.
struct SignalFramePlace {
  VirtualAddress frame, floating_point;
};
[[nodiscard]] SignalFramePlace place_signal_frame(VirtualAddress stack_top, size_t image_size);
// The interrupted registers into the context, which is all zero; a handler call into `frame`.
void save_to_context(const TrapFrame& frame, SignalContext& context);
void call_handler(TrapFrame& frame, VirtualAddress handler, VirtualAddress signal_frame, int signal);
// The registers of the context into `frame`; privileged bits keep safe values. einval: not a user context.
Result<void> restore_from_context(TrapFrame& frame, const SignalContext& context);
// User address of the signal frame when sigreturn is called with this frame.
[[nodiscard]] inline VirtualAddress signal_frame_at(const TrapFrame& frame) {
  return {frame.rsp - sizeof(u64)};
}

}  // namespace corral::arch
