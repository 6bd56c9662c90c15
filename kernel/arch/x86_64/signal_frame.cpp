// See arch/signal_frame.h. Thread context, called by task/signal_delivery.cpp.
#include "arch/signal_frame.h"

#include "arch/page_table.h"

namespace corral::arch {

namespace {

constexpr u64 user_changeable_flags = 0x40dd5;  // CF PF AF ZF SF TF DF OF AC
constexpr u64 interrupt_flag = 0x200;
constexpr u64 always_one_flag = 0x2;
constexpr u64 direction_flag = 0x400;
constexpr u64 trap_flag = 0x100;

}  // namespace

SignalFramePlace place_signal_frame(VirtualAddress stack_top, size_t image_size) {
  const u64 image = round_down(stack_top.value - image_size, 64);
  // At a function's entry the stack pointer plus 8 is a multiple of 16.
  const u64 frame = round_down(image - sizeof(SignalFrame), 16) - 8;
  return {{frame}, {image}};
}

void save_to_context(const TrapFrame& f, SignalContext& c) {
  c.r8 = f.r8, c.r9 = f.r9, c.r10 = f.r10, c.r11 = f.r11, c.r12 = f.r12, c.r13 = f.r13, c.r14 = f.r14, c.r15 = f.r15;
  c.rdi = f.rdi, c.rsi = f.rsi, c.rbp = f.rbp, c.rbx = f.rbx, c.rdx = f.rdx, c.rax = f.rax, c.rcx = f.rcx;
  c.rsp = f.rsp, c.rip = f.rip, c.rflags = f.rflags;
  c.cs = static_cast<u16>(f.cs), c.ss = static_cast<u16>(f.ss);
  if (!f.is_system_call()) c.error_code = f.error_code, c.trap_number = f.vector;
}

void call_handler(TrapFrame& f, VirtualAddress handler, VirtualAddress signal_frame, int signal) {
  f.rdi = static_cast<u64>(signal);
  f.rsi = signal_frame.value + offsetof(SignalFrame, information);
  f.rdx = signal_frame.value + offsetof(SignalFrame, user_context);
  f.rax = 0;
  f.rsp = signal_frame.value;
  f.rip = handler.value;
  f.rflags &= ~(direction_flag | trap_flag);
}

Result<void> restore_from_context(TrapFrame& f, const SignalContext& c) {
  if (c.rip >= user_space_end) return Errno::einval;
  f.r8 = c.r8, f.r9 = c.r9, f.r10 = c.r10, f.r11 = c.r11, f.r12 = c.r12, f.r13 = c.r13, f.r14 = c.r14, f.r15 = c.r15;
  f.rdi = c.rdi, f.rsi = c.rsi, f.rbp = c.rbp, f.rbx = c.rbx, f.rdx = c.rdx, f.rax = c.rax, f.rcx = c.rcx;
  f.rsp = c.rsp, f.rip = c.rip;
  f.rflags = (c.rflags & user_changeable_flags) | interrupt_flag | always_one_flag;
  return {};
}

}  // namespace corral::arch
