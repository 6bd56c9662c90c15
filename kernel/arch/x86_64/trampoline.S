// Where another core begins: in real mode, at the start of the low page that this code is copied to. It runs there at
// its physical address, through protected mode into 64-bit mode on a page table that maps the page below the kernel
// half, takes the start that is meant for it, and jumps into the kernel image, which finishes the way out.
// All it knows stands in the StartBlock at the page's end (start_core.cpp). Source: SDM vol. 3, 8.4.4 and 9.8.5.
#include "entry_constants.h"

  .section .rodata.trampoline, "a", @progbits
  .globl corral_trampoline_begin
  .globl corral_trampoline_end
  .globl corral_trampoline_32
  .globl corral_trampoline_64
  .balign 16

  .code16
corral_trampoline_begin:
  cli
  cld
  xorl %ebx, %ebx
  movw %cs, %bx
  movw %bx, %ds
  shll $4, %ebx
  lgdtl CORRAL_START_BLOCK + CORRAL_START_GDT_POINTER
  movl $(CORRAL_CR0_PE | CORRAL_CR0_MP | CORRAL_CR0_ET | CORRAL_CR0_NE), %eax  // caches on: INIT leaves CD and NW set
  movl %eax, %cr0
  ljmpl *(CORRAL_START_BLOCK + CORRAL_START_JUMP32)

  .code32
corral_trampoline_32:
  movw $CORRAL_KERNEL_DATA, %ax
  movw %ax, %ds
  movw %ax, %es
  movw %ax, %ss
  leal CORRAL_START_BLOCK(%ebx), %esi
  movl $CORRAL_CR4_PAE, %eax
  movl %eax, %cr4
  movl CORRAL_START_ROOT(%esi), %eax
  movl %eax, %cr3
  movl $CORRAL_MSR_EFER, %ecx
  rdmsr
  orl CORRAL_START_EFER(%esi), %eax
  wrmsr
  movl $(CORRAL_CR0_PE | CORRAL_CR0_MP | CORRAL_CR0_ET | CORRAL_CR0_NE | CORRAL_CR0_WP | CORRAL_CR0_PG), %eax
  movl %eax, %cr0
  ljmpl *CORRAL_START_JUMP64(%esi)

  .code64
corral_trampoline_64:
  movl %esi, %esi
  movq CORRAL_START_BLOCK_ADDRESS(%rsi), %rsi  // the same block through the direct map
  // Own APIC id: leaf 0BH where there is one, else the eight bits of leaf 1.
  xorl %eax, %eax
  cpuid
  cmpl $0xb, %eax
  jb .Lshort_id
  movl $0xb, %eax
  xorl %ecx, %ecx
  cpuid
  testl %ebx, %ebx
  jnz .Lhave_id
.Lshort_id:
  movl $1, %eax
  cpuid
  shrl $24, %ebx
  movl %ebx, %edx
.Lhave_id:
  cmpl %edx, CORRAL_START_HARDWARE_ID(%rsi)
  jne .Lnot_meant
  movl $CORRAL_STATE_ARMED, %eax
  movl $CORRAL_STATE_CLAIMED, %ecx
  lock cmpxchgl %ecx, CORRAL_START_STATE(%rsi)
  jne .Lnot_meant
  jmp *CORRAL_START_ARRIVE(%rsi)
.Lnot_meant:
  cli
  hlt
  jmp .Lnot_meant
corral_trampoline_end:

  .text
// rsi: StartBlock, in the direct map. Now in the kernel image, but still on the small page table and the page's own
// segment table; corral_core_enter (start_core.cpp) loads the core's own.
  .globl corral_core_arrived
  .type corral_core_arrived, @function
  .balign 16
corral_core_arrived:
  movq CORRAL_START_STACK(%rsi), %rsp
  movq CORRAL_START_KERNEL_ROOT(%rsi), %rax
  movq %rax, %cr3
  movq %rsi, %rdi
  xorl %ebp, %ebp
  call corral_core_enter
  ud2
  .size corral_core_arrived, . - corral_core_arrived

  .section .note.GNU-stack, "", @progbits
