// The register part of a panic screen (trace/backtrace.h declares it; the names are this processor's).
#include "arch/traps.h"
#include "trace/backtrace.h"

namespace corral {

namespace {

constexpr const char* exception_names[arch::exception_count] = {"divide error",
                                                                "debug",
                                                                "NMI",
                                                                "breakpoint",
                                                                "overflow",
                                                                "bound range",
                                                                "invalid opcode",
                                                                "no coprocessor",
                                                                "double fault",
                                                                "coprocessor overrun",
                                                                "invalid task state",
                                                                "segment not present",
                                                                "stack fault",
                                                                "general protection",
                                                                "page fault",
                                                                "reserved",
                                                                "x87 error",
                                                                "alignment check",
                                                                "machine check",
                                                                "SIMD error",
                                                                "virtualisation",
                                                                "control protection",
                                                                "reserved",
                                                                "reserved",
                                                                "reserved",
                                                                "reserved",
                                                                "reserved",
                                                                "reserved",
                                                                "hypervisor injection",
                                                                "VMM communication",
                                                                "security",
                                                                "reserved"};

}  // namespace

void log_registers(log::Level level, const arch::TrapFrame& f) {
  u64 cr2;
  u64 cr3;
  asm volatile("movq %%cr2, %0; movq %%cr3, %1" : "=r"(cr2), "=r"(cr3));
  const char* name = f.vector < arch::exception_count ? exception_names[f.vector]
                     : f.is_system_call()             ? "system call"
                                                      : "interrupt";
  log::print(level, "  trap {} ({}), error {x}, in {} mode", f.vector, name, f.error_code, f.from_user() ? "user" : "kernel");
  log::print(level, "  rip {X16} rsp {X16} flags {X16}", f.rip, f.rsp, f.rflags);
  log::print(level, "  rax {X16} rbx {X16} rcx {X16} rdx {X16}", f.rax, f.rbx, f.rcx, f.rdx);
  log::print(level, "  rsi {X16} rdi {X16} rbp {X16} r8  {X16}", f.rsi, f.rdi, f.rbp, f.r8);
  log::print(level, "  r9  {X16} r10 {X16} r11 {X16} r12 {X16}", f.r9, f.r10, f.r11, f.r12);
  log::print(level, "  r13 {X16} r14 {X16} r15 {X16}", f.r13, f.r14, f.r15);
  log::print(level, "  cr2 {X16} cr3 {X16} cs  {x} ss {x}", cr2, cr3, f.cs, f.ss);
}

}  // namespace corral
