// From the boot loader's 32-bit protected mode into C++ in the higher half. Two ways in, one way on.
//
// In: PVH (QEMU -kernel; physical entry point in an ELF note, ebx: start info) and Multiboot2 (GRUB; eax: magic, ebx:
// information). Both: paging off, flat segments, interrupts off, the image at its physical addresses (1 MiB on).
// Out: 64-bit mode on first tables that map physical memory below 4 GiB three times: at 0 (only for the instructions
// here), at the direct map, and its first 2 GiB at the kernel image; arch/x86_64/boot_map.cpp replaces them.
// Sources: Xen's PVH boot ABI (docs/misc/pvh.pandoc); Multiboot2 Specification 2.0, 3.1 and 3.3.
#include "arch/x86_64/entry_constants.h"

#define PHYSICAL(symbol) (symbol - CORRAL_IMAGE_BASE)
#define MULTIBOOT2_HEADER_MAGIC 0xe85250d6
#define PVH_MAGIC 0x336ec578
#define STACK_BYTES 32768

  .section .boot.header, "a", @progbits
  .balign 8
multiboot2_header:
  .long MULTIBOOT2_HEADER_MAGIC
  .long 0                                   // i386
  .long multiboot2_header_end - multiboot2_header
  .long -(MULTIBOOT2_HEADER_MAGIC + 0 + (multiboot2_header_end - multiboot2_header))
  .balign 8
  .short 3, 0                               // entry address
  .long 12
  .long PHYSICAL(multiboot2_entry)
  .balign 8
  .short 4, 0                               // console: text is supported
  .long 12
  .long 2
  .balign 8
  .short 5, 1                               // framebuffer, optional: UEFI has no text mode; any size, 32 bits a pixel
  .long 20
  .long 0, 0, 32
  .balign 8
  .short 6, 0                               // modules on page boundaries
  .long 8
  .balign 8
  .short 0, 0                               // end
  .long 8
multiboot2_header_end:

  .section .note.pvh, "a", @note
  .balign 4
  .long 4                                   // bytes of the name
  .long 8                                   // bytes of the description
  .long 18                                  // XEN_ELFNOTE_PHYS32_ENTRY
  .asciz "Xen"
  .quad PHYSICAL(pvh_entry)

  .section .boot.text, "ax", @progbits
  .code32
  .globl multiboot2_entry
multiboot2_entry:
  movl %eax, %ebp
  jmp .Lcommon
  .globl pvh_entry
pvh_entry:
  movl $PVH_MAGIC, %ebp
.Lcommon:
  cli
  cld
  movl %ebx, %esi

  // Loaders zero .bss; what runs here does not rely on it.
  movl $PHYSICAL(corral_bss_start), %edi
  movl $PHYSICAL(corral_data_end), %ecx
  subl %edi, %ecx
  shrl $2, %ecx
  xorl %eax, %eax
  rep stosl
  movl $PHYSICAL(boot_stack_top), %esp

  movl $0x80000000, %eax
  cpuid
  cmpl $0x80000001, %eax
  jb no_long_mode
  movl $0x80000001, %eax
  cpuid
  btl $29, %edx
  jnc no_long_mode

  // 2 MiB pages for the first 4 GiB: 2048 entries in four tables, side by side.
  movl $PHYSICAL(first_directories), %edi
  movl $0x83, %eax                          // present, writable, large
  movl $2048, %ecx
.Lfill:
  movl %eax, (%edi)
  addl $0x200000, %eax
  addl $8, %edi
  loop .Lfill
  movl $PHYSICAL(first_directories) + 3, %eax
  movl $PHYSICAL(first_low), %edi
  movl $4, %ecx
.Llink:
  movl %eax, (%edi)
  addl $0x1000, %eax
  addl $8, %edi
  loop .Llink
  movl $PHYSICAL(first_directories) + 3, PHYSICAL(first_high) + 510 * 8
  movl $PHYSICAL(first_directories) + 0x1003, PHYSICAL(first_high) + 511 * 8
  movl $PHYSICAL(first_low) + 3, PHYSICAL(first_root)
  movl $PHYSICAL(first_low) + 3, PHYSICAL(first_root) + 256 * 8
  movl $PHYSICAL(first_high) + 3, PHYSICAL(first_root) + 511 * 8

  movl $CORRAL_CR4_PAE, %eax
  movl %eax, %cr4
  movl $PHYSICAL(first_root), %eax
  movl %eax, %cr3
  movl $CORRAL_MSR_EFER, %ecx
  rdmsr
  orl $CORRAL_EFER_LME, %eax
  wrmsr
  movl $(CORRAL_CR0_PE | CORRAL_CR0_MP | CORRAL_CR0_ET | CORRAL_CR0_NE | CORRAL_CR0_WP | CORRAL_CR0_PG), %eax
  movl %eax, %cr0
  lgdtl PHYSICAL(first_gdt_pointer)
  ljmpl $CORRAL_KERNEL_CODE, $PHYSICAL(.Llong_mode)

  .code64
.Llong_mode:
  movl $CORRAL_KERNEL_DATA, %eax
  movl %eax, %ds
  movl %eax, %es
  movl %eax, %ss
  xorl %eax, %eax
  movl %eax, %fs
  movl %eax, %gs
  movq $.Lhigh, %rax
  jmp *%rax
.Lhigh:
  movq $boot_stack_top, %rsp
  movq $corral_boot_area, %rax
  movq %rax, %rdx
  shrq $32, %rdx
  movl $CORRAL_MSR_GS_BASE, %ecx
  wrmsr
  movl %ebp, %edi
  movl %esi, %esi
  xorl %ebp, %ebp
  call corral_boot
  ud2

// ---- a processor that cannot run this kernel: say so on the screen and the serial line ---------------------------------
  .code32
no_long_mode:
  movl $PHYSICAL(no_long_mode_text), %esi
  movl $0xb8000, %edi
.Lsay:
  lodsb
  testb %al, %al
  jz .Lstop
  movb $0x4f, %ah                           // white on red
  stosw
  movw $0x3f8, %dx
  outb %al, %dx
  jmp .Lsay
.Lstop:
  cli
  hlt
  jmp .Lstop

  .section .boot.rodata, "a", @progbits
no_long_mode_text:
  .asciz "corral: this processor has no 64-bit mode; start Corral on an x86-64 machine (qemu-system-x86_64)"
  .balign 8
first_gdt:
  .quad 0
  .quad 0
  .quad 0x00af9b000000ffff                  // CORRAL_KERNEL_CODE
  .quad 0x00cf93000000ffff                  // CORRAL_KERNEL_DATA
first_gdt_end:
first_gdt_pointer:
  .short first_gdt_end - first_gdt - 1
  .long PHYSICAL(first_gdt)

  .section .bss, "aw", @nobits
  .balign 4096
first_root:
  .skip 4096
first_low:
  .skip 4096
first_high:
  .skip 4096
first_directories:
  .skip 4 * 4096
  .globl corral_boot_stack_guard            // not mapped by the kernel's table
corral_boot_stack_guard:
  .skip 4096
  .skip STACK_BYTES
  .globl boot_stack_top
boot_stack_top:

  .section .note.GNU-stack, "", @progbits
