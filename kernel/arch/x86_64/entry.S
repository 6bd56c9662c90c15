// Every way into the kernel and out of it. Interrupts are off from the first instruction to the last.
//
// From user mode the registers are saved straight into the current thread's TrapFrame: the processor (interrupts,
// through the task state's rsp0) or the first instructions (SYSCALL, through gs:8) make the stack pointer the end of
// that frame. Then the core's own kernel stack is taken, always from its top. From kernel mode the frame is on the
// stack in use. NMI, double fault and machine check come at any instruction, so they have stacks of their own and look at
// the GS base itself instead of trusting the interrupted mode.
// Sources: SDM vol. 3, 6.14; vol. 2B, SYSCALL, SYSRET, SWAPGS. Neighbours: traps.cpp, descriptors.cpp.
#include "entry_constants.h"

  .text

// The order of TrapFrame, from its end.
.macro save_registers
  pushq %rax
  pushq %r9
  pushq %r8
  pushq %r10
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %rcx
  pushq %r11
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
.endm

.macro restore_registers
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  popq %r11
  popq %rcx
  popq %rdi
  popq %rsi
  popq %rdx
  popq %r10
  popq %r8
  popq %r9
  popq %rax
.endm

// User code may have set the AC flag, which would open user memory to the kernel; an interrupt does not clear it.
.macro close_user_memory
  cmpb $0, corral_has_smap(%rip)
  je .Lno_smap\@
  clac
.Lno_smap\@:
.endm

.macro begin_function name
  .globl \name
  .type \name, @function
  .balign 16
\name:
.endm
.macro end_function name
  .size \name, . - \name
.endm

// ---- SYSCALL -----------------------------------------------------------------------------------------------------
// rcx: return address, r11: flags, rax: number; the stack is still the user's. SFMASK has cleared IF, DF, TF, AC, NT.
begin_function corral_syscall_entry
  swapgs
  movq %rsp, %gs:CORRAL_AREA_SCRATCH
  movq %gs:CORRAL_AREA_ENTRY_STACK, %rsp
  pushq $CORRAL_USER_DATA
  pushq %gs:CORRAL_AREA_SCRATCH
  pushq %r11
  pushq $CORRAL_USER_CODE
  pushq %rcx
  pushq %rax
  pushq $CORRAL_SYSTEM_CALL_VECTOR
  save_registers
  movq %rsp, %rdi
  movq %gs:CORRAL_AREA_KERNEL_STACK, %rsp
  xorl %ebp, %ebp
  pushq %rdi
  pushq %rdi
  call corral_system_call
  popq %rdi
  jmp corral_leave_to_user
end_function corral_syscall_entry

// ---- interrupts and exceptions -------------------------------------------------------------------------------------
begin_function corral_common_trap
  cld
  save_registers
  testb $3, CORRAL_FRAME_CS(%rsp)
  jz .Lfrom_kernel
  swapgs
  close_user_memory
  movq %rsp, %rdi
  movq %gs:CORRAL_AREA_KERNEL_STACK, %rsp
  xorl %ebp, %ebp
  pushq %rdi
  pushq %rdi
  cmpl $0, %gs:CORRAL_AREA_MISSED_NMIS
  jne .Lreport_from_user
.Luser_trap:
  call corral_user_trap
  popq %rdi
  jmp corral_leave_to_user
.Lreport_from_user:
  call corral_report_missed_nmis
  movq (%rsp), %rdi
  jmp .Luser_trap

.Lfrom_kernel:
  movq %rsp, %rdi
  cmpl $0, %gs:CORRAL_AREA_MISSED_NMIS
  jne .Lreport_from_kernel
.Lkernel_trap:
  call corral_kernel_trap
  restore_registers
  addq $16, %rsp
  iretq
.Lreport_from_kernel:  // only from an idle core: with interrupts off locks may be held
  testl $CORRAL_FLAG_INTERRUPT, CORRAL_FRAME_RFLAGS(%rsp)
  jz .Lkernel_trap
  call corral_report_missed_nmis
  movq %rsp, %rdi
  jmp .Lkernel_trap
end_function corral_common_trap

// rbx remembers whether the GS base was the user's: the kernel's is an address of the upper half, a user's never is.
begin_function corral_emergency_entry
  cld
  save_registers
  xorl %ebx, %ebx
  movl $CORRAL_MSR_GS_BASE, %ecx
  rdmsr
  testl %edx, %edx
  js .Lkernel_base
  swapgs
  incl %ebx
.Lkernel_base:
  close_user_memory
  movq %rsp, %rdi
  call corral_emergency_trap
  testl %ebx, %ebx
  jz .Lkeep_base
  swapgs
.Lkeep_base:
  restore_registers
  addq $16, %rsp
  iretq
end_function corral_emergency_entry

// ---- back to user mode -----------------------------------------------------------------------------------------------
// rdi: the frame. SYSRET only for a system call whose frame still says what SYSCALL left; it faults in kernel mode for a
// non-canonical address on some processors, so the address is checked first. Everything else goes by IRETQ, with
// selectors and flags put right whatever the frame says, so that IRETQ cannot fault here.
begin_function corral_leave_to_user
  movq CORRAL_FRAME_RIP(%rdi), %rax
  movq %rax, %rdx
  shrq $47, %rdx
  jnz .Lwild_address
  cmpq $CORRAL_SYSTEM_CALL_VECTOR, CORRAL_FRAME_VECTOR(%rdi)
  jne .Lslow
  cmpq %rax, CORRAL_FRAME_RCX(%rdi)
  jne .Lslow
  movq CORRAL_FRAME_RFLAGS(%rdi), %rdx
  cmpq %rdx, CORRAL_FRAME_R11(%rdi)
  jne .Lslow
  andq $~(CORRAL_FLAGS_SYSRET_RESTORES & ~CORRAL_FLAGS_ALWAYS_SET), %rdx
  cmpq $CORRAL_FLAGS_ALWAYS_SET, %rdx
  jne .Lslow
  movq %rdi, %rsp
  restore_registers
  movq (CORRAL_FRAME_RSP - CORRAL_FRAME_VECTOR)(%rsp), %rsp
  swapgs
  sysretq

.Lwild_address:  // IRETQ would fault in kernel mode: send the thread to an address that faults in user mode instead
  movabsq $CORRAL_USER_SPACE_END, %rax
  movq %rax, CORRAL_FRAME_RIP(%rdi)
.Lslow:
  movq $CORRAL_USER_CODE, CORRAL_FRAME_CS(%rdi)
  movq $CORRAL_USER_DATA, CORRAL_FRAME_SS(%rdi)
  movq CORRAL_FRAME_RFLAGS(%rdi), %rdx
  andq $CORRAL_FLAGS_USER_OWNS, %rdx
  orq $CORRAL_FLAGS_ALWAYS_SET, %rdx
  movq %rdx, CORRAL_FRAME_RFLAGS(%rdi)
  movq %rdi, %rsp
  restore_registers
  addq $16, %rsp
  swapgs
  iretq
end_function corral_leave_to_user

// void corral_restart(void (*function)()): nothing on the core's stack is needed any more.
begin_function corral_restart
  movq %gs:CORRAL_AREA_KERNEL_STACK, %rsp
  xorl %ebp, %ebp
  call *%rdi
  ud2
end_function corral_restart

// ---- one stub for each vector, 16 bytes apart -----------------------------------------------------------------------
// Those without an error code of the processor's push a zero in its place (SDM vol. 3, table 6-1).
  .globl corral_trap_stubs
  .type corral_trap_stubs, @function
  .balign 16
corral_trap_stubs:
  .set vector, 0
  .rept 256
  .balign 16
  .if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 || vector == 30)
  pushq $0
  .endif
  pushq $vector
  .if vector == 2 || vector == 8 || vector == 18
  jmp corral_emergency_entry
  .else
  jmp corral_common_trap
  .endif
  .set vector, vector + 1
  .endr
  .balign 16
  .size corral_trap_stubs, . - corral_trap_stubs

  .section .note.GNU-stack, "", @progbits
