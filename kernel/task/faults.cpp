// See faults.h. Numbers of exceptions: Intel SDM vol. 3, table 6-1; signal codes: Linux asm-generic/siginfo.h.
#include "task/faults.h"

#include "core/core.h"
#include "lib/format.h"
#include "task/executive.h"
#include "task/process.h"
#include "trace/log.h"
#include "trace/panic.h"

namespace corral {

namespace {

enum Exception : u64 {
  divide_error = 0,
  debug = 1,
  breakpoint = 3,
  overflow = 4,
  bound = 5,
  invalid_opcode = 6,
  no_device = 7,
  stack_fault = 12,
  general_protection = 13,
  page_fault = 14,
  x87_error = 16,
  alignment = 17,
  simd_error = 19,
};

constexpr i32 code_kernel = 0x80;  // SI_KERNEL
constexpr i32 code_int_divide = 1, code_illegal_operand = 2, code_trace = 2;
constexpr i32 code_not_mapped = 1, code_no_right = 2, code_bus_address = 2, code_alignment = 1;

Errno resolve_page_fault(Thread& thread) {
  const arch::PageFault& fault = thread.fault;
  const vm::Access access = fault.write ? vm::Access::write : fault.execute ? vm::Access::execute : vm::Access::read;
  if (fault.address.value >= arch::user_space_end) {
    signals::force(thread, {sigsegv, code_not_mapped, 0, 0, fault.address.value});
    return Errno{};
  }
  const Result<void> result = thread.space->handle_fault_in_parts(thread.caller, fault.address, access);
  if (result) {
    thread.faults.store(thread.faults.load(Order::relaxed) + 1, Order::relaxed);
    return Errno{};
  }
  switch (result.error()) {
    case Errno::blocked: return Errno::blocked;
    case Errno::eio: signals::force(thread, {sigbus, code_bus_address, 0, 0, fault.address.value}); break;
    case Errno::enomem:
      log::error("out of memory: ending process {} ({})", thread.process().id(), static_cast<const char*>(thread.name));
      thread.process().end(sigkill);
      break;
    case Errno::eacces: signals::force(thread, {sigsegv, code_no_right, 0, 0, fault.address.value}); break;
    default: signals::force(thread, {sigsegv, code_not_mapped, 0, 0, fault.address.value}); break;
  }
  return Errno{};
}

i32 code_of(arch::FpState::Exception exception) {
  switch (exception) {
    case arch::FpState::Exception::division: return 3;   // FPE_FLTDIV
    case arch::FpState::Exception::overflow: return 4;   // FPE_FLTOVF
    case arch::FpState::Exception::underflow: return 5;  // FPE_FLTUND
    case arch::FpState::Exception::inexact: return 6;    // FPE_FLTRES
    case arch::FpState::Exception::invalid:
    case arch::FpState::Exception::none: break;
  }
  return 7;  // FPE_FLTINV
}

SignalInfo signal_for(Thread& thread, const arch::TrapFrame& frame) {
  const u64 where = frame.program_counter().value;
  switch (frame.vector) {
    case divide_error: return {sigfpe, code_int_divide, 0, 0, where};
    case debug: return {sigtrap, code_trace, 0, 0, where};
    case breakpoint: return {sigtrap, code_kernel, 0, 0, 0};
    case invalid_opcode: return {sigill, code_illegal_operand, 0, 0, where};
    case x87_error:
      this_core().executive->save_floating_point(thread);
      return {sigfpe, code_of(thread.fp.x87_exception()), 0, 0, where};
    case simd_error:
      this_core().executive->save_floating_point(thread);
      return {sigfpe, code_of(thread.fp.vector_exception()), 0, 0, where};
    case alignment: return {sigbus, code_alignment, 0, 0, 0};
    case stack_fault: return {sigbus, code_kernel, 0, 0, 0};
    default: return {sigsegv, code_kernel, 0, 0, 0};
  }
}

}  // namespace

Step prepare_fault_step(Thread& thread, const arch::TrapFrame& frame) {
  if (frame.vector == page_fault) {
    thread.fault = arch::page_fault_of(frame);
    return resolve_page_fault;
  }
  thread.fault = {};
  signals::force(thread, signal_for(thread, frame));
  return nullptr;
}

void kernel_fault(arch::TrapFrame& frame) {
  char text[160] = {};
  if (frame.vector == page_fault) {
    const arch::PageFault fault = arch::page_fault_of(frame);
    if (arch::is_stack_guard(fault.address)) {
      (void)format_to({text, sizeof text - 1}, "kernel stack overflow on core {}", this_core().id());
    } else {
      (void)format_to({text, sizeof text - 1}, "kernel page fault at {x} ({})", fault.address,
                      fault.execute ? "execute"
                      : fault.write ? "write"
                                    : "read");
    }
  } else {
    (void)format_to({text, sizeof text - 1}, "exception {} in the kernel, error code {x}", frame.vector, frame.error_code);
  }
  panic_with_frame(text, frame);
}

}  // namespace corral
