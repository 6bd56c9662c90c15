// The interrupt table, the thread's frame as the entry point's stack, and the three exceptions that may come at any
// instruction. Neighbours: entry.S (saves and restores), descriptors.h; task/ defines what happens on a trap.
#include "arch/traps.h"

#include "arch/guarded_call.h"
#include "arch/page_table.h"
#include "arch/processor.h"
#include "descriptors.h"
#include "lib/atomic.h"
#include "lib/format.h"
#include "trace/log.h"
#include "trace/panic.h"

namespace corral::arch {

extern "C" {
extern const u8 corral_trap_stubs[256][16];
[[noreturn]] void corral_leave_to_user(TrapFrame& frame);
[[noreturn]] void corral_restart(void (*function)());
void corral_emergency_trap(TrapFrame& frame);
void corral_report_missed_nmis();
}

namespace {

static_assert(offsetof(TrapFrame, r11) == CORRAL_FRAME_R11 && offsetof(TrapFrame, rcx) == CORRAL_FRAME_RCX &&
              offsetof(TrapFrame, vector) == CORRAL_FRAME_VECTOR && offsetof(TrapFrame, rip) == CORRAL_FRAME_RIP &&
              offsetof(TrapFrame, cs) == CORRAL_FRAME_CS && offsetof(TrapFrame, rflags) == CORRAL_FRAME_RFLAGS &&
              offsetof(TrapFrame, rsp) == CORRAL_FRAME_RSP && offsetof(TrapFrame, ss) == CORRAL_FRAME_SS &&
              TrapFrame::system_call_vector == CORRAL_SYSTEM_CALL_VECTOR && sizeof(TrapFrame) % 16 == 0);
static_assert(offsetof(CoreArea, core) == 0 && offsetof(CoreArea, entry_stack) == CORRAL_AREA_ENTRY_STACK &&
              offsetof(CoreArea, kernel_stack) == CORRAL_AREA_KERNEL_STACK &&
              offsetof(CoreArea, scratch) == CORRAL_AREA_SCRATCH && offsetof(CoreArea, descriptors) == 32 &&
              offsetof(CoreArea, id) == 40 && offsetof(CoreArea, missed_nmis) == CORRAL_AREA_MISSED_NMIS &&
              offsetof(CoreArea, mode_changed) == 80 && offsetof(CoreArea, trace_ring) == 88);
static_assert(user_space_end == CORRAL_USER_SPACE_END && kernel_image_base == CORRAL_IMAGE_BASE);

// SDM vol. 3, figure 6-8.
struct Gate {
  u16 offset_low;
  u16 selector;
  u8 stack;
  u8 type;
  u16 offset_middle;
  u32 offset_high;
  u32 reserved;
};
static_assert(sizeof(Gate) == 16);

struct [[gnu::packed]] TablePointer {
  u16 limit;
  u64 base;
};

constinit Gate gates[256] = {};  // boot writes it, the same for all cores
constexpr u8 interrupt_gate = 0x8e;
constexpr u8 user_may_raise = 0x60;
constexpr u32 vector_double_fault = 8;
constexpr u32 vector_machine_check = 18;

void build_gates() {
  for (u32 vector = 0; vector < 256; ++vector) {
    u64 stub = reinterpret_cast<u64>(&corral_trap_stubs[vector]);
    u8 type = interrupt_gate;
    if (vector == 3 || vector == 4) type |= user_may_raise;  // INT3 and INTO
    u8 stack = vector == vector_nmi             ? stack_nmi
               : vector == vector_double_fault  ? stack_double_fault
               : vector == vector_machine_check ? stack_machine_check
                                                : u8{0};
    gates[vector] = {static_cast<u16>(stub),       CORRAL_KERNEL_CODE,           stack, type,
                     static_cast<u16>(stub >> 16), static_cast<u32>(stub >> 32), 0};
  }
}

constinit Atomic<u64> nmis{0};
constinit Atomic<u64> nmis_shown{0};
constinit Atomic<NmiListener> nmi_listener{nullptr};

// While a guarded call is watched, this bit of where it goes on is off: every address in the kernel's image has it, so a call
// that begins is not taken for the one that was looked at.
constexpr u64 unwatched = u64{1} << 63;

void set_gs_word(u64 offset, u64 value) {
  asm volatile("movq %1, %%gs:(%0)" ::"r"(offset), "r"(value) : "memory");
}
u64 gs_word(u64 offset) {
  u64 value;
  asm volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(offset) : "memory");
  return value;
}

void set_gs_word32(u64 offset, u32 value) {
  asm volatile("movl %1, %%gs:(%0)" ::"r"(offset), "r"(value) : "memory");
}
u32 gs_word32(u64 offset) {
  u32 value;
  asm volatile("movl %%gs:(%1), %0" : "=r"(value) : "r"(offset) : "memory");
  return value;
}

u64 fault_address() {
  u64 address;
  asm volatile("movq %%cr2, %0" : "=r"(address));
  return address;
}

// No lock is held by this core while it runs user code, or sleeps in halt(), the one place with interrupts on.
bool may_take_locks(const TrapFrame& frame) {
  return frame.from_user() || (frame.rflags & CORRAL_FLAG_INTERRUPT) != 0;
}

}  // namespace

void install_traps() {
  if (gates[0].selector == 0) build_gates();
  TablePointer pointer{sizeof(gates) - 1, reinterpret_cast<u64>(gates)};
  asm volatile("lidt %0" ::"m"(pointer) : "memory");
}

void set_entry_frame(TrapFrame& frame) {
  u64 end = reinterpret_cast<u64>(&frame + 1);
  set_gs_word(offsetof(CoreArea, entry_stack), end);
  reinterpret_cast<Descriptors*>(gs_word(offsetof(CoreArea, descriptors)))->task.rsp0 = end;
}

void enter_user(TrapFrame& frame) {
  corral_leave_to_user(frame);
}

void restart_on_core_stack(void (*function)()) {
  corral_restart(function);
}

PageFault page_fault_of(const TrapFrame& frame) {
  // SDM vol. 3, figure 4-12: P, W/R, U/S, RSVD, I/D.
  return {{fault_address()}, (frame.error_code & 2) != 0, (frame.error_code & 16) != 0, (frame.error_code & 1) != 0};
}

void TrapFrame::start_user(VirtualAddress entry, VirtualAddress stack) {
  *this = TrapFrame{};
  rip = entry.value;
  rsp = stack.value;
  cs = CORRAL_USER_CODE;
  ss = CORRAL_USER_DATA;
  rflags = CORRAL_FLAGS_ALWAYS_SET;
}

void TrapFrame::rewind_system_call() {
  rip -= 2;  // SYSCALL is 0f 05
  rax = error_code;
  rcx = rip;  // as SYSCALL would leave it, so that the short way back stays open
}

bool leave_guarded_call(TrapFrame& frame, CallFailure why) {
  const u64 resume = gs_word(offsetof(CoreArea, guarded_resume));
  if (resume == 0) return false;
  set_gs_word(offsetof(CoreArea, guarded_resume), 0);
  set_gs_word32(offsetof(CoreArea, guarded_failure), static_cast<u32>(why));
  frame.rip = resume | unwatched;
  frame.rsp = gs_word(offsetof(CoreArea, guarded_stack));
  frame.rbp = gs_word(offsetof(CoreArea, guarded_frame));
  frame.rflags = CORRAL_FLAGS_ALWAYS_SET & ~u64{CORRAL_FLAG_INTERRUPT};
  return true;
}

void look_at_guarded_call(TrapFrame& frame, u32 most) {
  const u64 resume = gs_word(offsetof(CoreArea, guarded_resume));
  if (resume == 0) return;
  u32 looks = 0;
  if ((resume & unwatched) != 0) {
    set_gs_word(offsetof(CoreArea, guarded_resume), resume & ~unwatched);
  } else {
    looks = gs_word32(offsetof(CoreArea, guarded_looks)) + 1;
    if (looks >= most) leave_guarded_call(frame, CallFailure::endless);
  }
  set_gs_word32(offsetof(CoreArea, guarded_looks), looks);
}

void set_nmi_listener(NmiListener listener) {
  nmi_listener.store(listener, Order::release);
}

u64 nmi_count() {
  return nmis.load(Order::relaxed);
}

// Called on an emergency stack; the interrupted code may be anything, the entry code included.
void corral_emergency_trap(TrapFrame& frame) {
  if (frame.vector == vector_nmi) {
    if (panicking_here()) return;  // whoever sent it: this core still has to say why
    if (panicking()) halt_forever();
    const NmiListener listener = nmi_listener.load(Order::acquire);
    if (listener != nullptr && listener(frame)) return;
    nmis.fetch_add(1, Order::relaxed);
    asm volatile("incl %%gs:%c0" ::"i"(CORRAL_AREA_MISSED_NMIS) : "memory");
    if (may_take_locks(frame)) corral_report_missed_nmis();
    return;
  }
  if (frame.vector == vector_double_fault) {
    // The processor could not push a frame: almost always because the kernel stack has run into its guard page.
    const bool overflow = is_stack_guard({fault_address()});
    if (overflow && leave_guarded_call(frame, CallFailure::stack_overflow)) return;
    if (!overflow) panic_with_frame("double fault", frame);
    char text[64];
    std::string_view message = format_to({text, sizeof(text) - 1}, "kernel stack overflow on core {}", core_index());
    text[message.size()] = 0;
    panic_with_frame(text, frame);
  }
  panic_with_frame("machine check", frame);
}

// Called when this core holds no lock: in user mode or idle when the NMI came, or at the next such moment. Of many only some
// are shown (each time their number has doubled), so that a storm of them does not fill the log.
void corral_report_missed_nmis() {
  u32 news = 0;
  asm volatile("xchgl %0, %%gs:%c1" : "+r"(news) : "i"(CORRAL_AREA_MISSED_NMIS) : "memory");
  u64 number = nmi_count();
  u64 shown = nmis_shown.load(Order::relaxed);
  if (news == 0 || (shown != 0 && number < 2 * shown)) return;
  if (!nmis_shown.compare_exchange(shown, number, Order::relaxed, Order::relaxed)) return;
  log::warning("NMI: the reason is unknown, going on ({} so far)", number);
}

}  // namespace corral::arch
