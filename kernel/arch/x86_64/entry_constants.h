// Numbers that assembly and C++ share. Read by both, so only #define here; the C++ side asserts each against the
// structure that it describes (traps.cpp, descriptors.cpp, start_core.cpp), so drift does not compile.
#pragma once

// Segment selectors: index in the descriptor table times 8, plus the privilege level. The user's are those that Linux
// shows to programs (cs 0x33, ss 0x2b), and stand in the order that SYSRET demands (SDM vol. 2B, SYSRET).
#define CORRAL_KERNEL_CODE 0x10
#define CORRAL_KERNEL_DATA 0x18
#define CORRAL_USER_BASE 0x23
#define CORRAL_USER_DATA 0x2b
#define CORRAL_USER_CODE 0x33
#define CORRAL_TASK_STATE 0x40

// TrapFrame
#define CORRAL_FRAME_R11 (6 * 8)
#define CORRAL_FRAME_RCX (7 * 8)
#define CORRAL_FRAME_VECTOR (15 * 8)
#define CORRAL_FRAME_RIP (17 * 8)
#define CORRAL_FRAME_CS (18 * 8)
#define CORRAL_FRAME_RFLAGS (19 * 8)
#define CORRAL_FRAME_RSP (20 * 8)
#define CORRAL_FRAME_SS (21 * 8)
#define CORRAL_SYSTEM_CALL_VECTOR 256

// CoreArea
#define CORRAL_AREA_ENTRY_STACK 8
#define CORRAL_AREA_KERNEL_STACK 16
#define CORRAL_AREA_SCRATCH 24
#define CORRAL_AREA_MISSED_NMIS 44

// RFLAGS (SDM vol. 1, 3.4.3). User programs own CF PF AF ZF SF TF DF OF RF AC ID; the rest is the kernel's.
#define CORRAL_FLAG_INTERRUPT 0x200
#define CORRAL_FLAGS_USER_OWNS 0x250dd5
#define CORRAL_FLAGS_SYSRET_RESTORES 0x240ed5  // without TF and RF, with IF: what SYSRET may be trusted with
#define CORRAL_FLAGS_ALWAYS_SET 0x202
#define CORRAL_FLAGS_CLEARED_ON_ENTRY 0x44700  // AC NT DF IF TF

// First address that no user mapping reaches (arch/page_table.h).
#define CORRAL_USER_SPACE_END 0x00007ffffffff000
#define CORRAL_IMAGE_BASE 0xffffffff80000000

// Control registers and MSRs (SDM vol. 3, 2.5; vol. 4, 2.1)
#define CORRAL_CR0_PE 0x1
#define CORRAL_CR0_MP 0x2
#define CORRAL_CR0_ET 0x10
#define CORRAL_CR0_NE 0x20
#define CORRAL_CR0_WP 0x10000
#define CORRAL_CR0_AM 0x40000
#define CORRAL_CR0_PG 0x80000000
#define CORRAL_CR4_PAE 0x20
#define CORRAL_MSR_EFER 0xc0000080
#define CORRAL_EFER_LME 0x100
#define CORRAL_EFER_NXE 0x800
#define CORRAL_MSR_GS_BASE 0xc0000101

// StartBlock (start_core.cpp): where the trampoline finds its parameters, from the beginning of the low page.
#define CORRAL_START_BLOCK 0xf00
#define CORRAL_START_ROOT 0
#define CORRAL_START_EFER 4
#define CORRAL_START_HARDWARE_ID 8
#define CORRAL_START_STATE 12
#define CORRAL_START_BLOCK_ADDRESS 16
#define CORRAL_START_ARRIVE 24
#define CORRAL_START_KERNEL_ROOT 32
#define CORRAL_START_STACK 40
#define CORRAL_START_GDT_POINTER 72
#define CORRAL_START_JUMP32 80
#define CORRAL_START_JUMP64 88
#define CORRAL_START_GDT 96
#define CORRAL_STATE_IDLE 0
#define CORRAL_STATE_ARMED 1
#define CORRAL_STATE_CLAIMED 2
#define CORRAL_STATE_LEFT 3
