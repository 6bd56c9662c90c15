// See trace_registers.h.
#include "abi/linux/trace_registers.h"

#include "arch/page_table.h"
#include "lib/memory_functions.h"
#include "memory/heap_array.h"
#include "task/tracees.h"

namespace corral::abi::trace {

namespace {

constexpr u64 user_area_size = 928;  // struct user
constexpr u64 debug_registers_at = 848, debug_registers_end = debug_registers_at + 8 * sizeof(u64);
constexpr u64 break_addresses_end = debug_registers_at + sizeof(Tracee::break_address);
constexpr u64 register_count = sizeof(arch::UserRegisters) / sizeof(u64);

// What Linux keeps in the result's place while a call may be restarted.
struct Interruption {
  Errno error;
  i64 shown;
};
constexpr Interruption interruptions[] = {{Errno::restart, -512},
                                          {Errno::restart_always, -513},
                                          {Errno::restart_without_handler, -514},
                                          {Errno::restart_from_step, -516}};

bool before_its_call(const Thread& thread) {
  const Tracee& tracee = *thread.tracee.load(Order::acquire);
  return tracee.place == Tracee::Place::call && tracee.message == Tracee::entry;
}

Result<void> assign(Thread& thread, const arch::UserRegisters& registers) {
  TRY(arch::set_user_registers(thread.frame, registers));
  thread.tls = registers.fs_base;
  thread.second_base = registers.gs_base;
  if (before_its_call(thread)) return {};
  // A call that was interrupted is made again only if both its number and its result say so.
  thread.call_interruption = Errno{};
  if (static_cast<i64>(registers.orig_rax) < 0) return {};
  for (const Interruption& interruption : interruptions) {
    if (registers.rax == static_cast<u64>(interruption.shown)) thread.call_interruption = interruption.error;
  }
  return {};
}

// A word of what Linux calls the user area, of which only the general registers are here; the rest is zero.
Result<u64> place_in_user_area(u64 offset) {
  if (offset % sizeof(u64) != 0 || offset > user_area_size - sizeof(u64)) return Errno::eio;
  return offset / sizeof(u64);
}

u64* break_address(const Thread& thread, u64 offset) {
  if (offset < debug_registers_at || offset >= break_addresses_end) return nullptr;
  return &thread.tracee.load(Order::acquire)->break_address[(offset - debug_registers_at) / sizeof(u64)];
}

// A thread's floating-point registers, in a debugger's form.
Result<void> take_image(const Thread& thread, memory::HeapArray<u8>& image) {
  TRY(image.allocate(arch::FpState::image_size()));
  thread.fp.tell(image.data());
  return {};
}

struct Vector {  // struct iovec
  u64 base, length;
};

enum Set : u64 { general = 1, floating_point = 2, extended = 0x202 };  // NT_PRSTATUS, NT_PRFPREG, NT_X86_XSTATE

// enodev: the processor has no such registers.
Result<u64> size_of_set(u64 set) {
  switch (set) {
    case general: return sizeof(arch::UserRegisters);
    case floating_point: return arch::FpState::plain_image_size;
    case extended:
      if (!arch::FpState::frames_are_marked()) return Errno::enodev;
      return arch::FpState::image_size();
    default: return Errno::einval;
  }
}

// The place in the tracer's memory, cut down to the set's size.
Result<Vector> vector_for(Call& call) {
  Vector vector = TRY(call.read<Vector>(call.address(3)));
  const u64 size = TRY(size_of_set(call.argument[2]));
  if (vector.length % sizeof(u64) != 0) return Errno::einval;
  if (vector.length > size) vector.length = size;
  return vector;
}

}  // namespace

arch::UserRegisters registers_of(const Thread& thread) {
  arch::UserRegisters registers = arch::user_registers_of(thread.frame);
  registers.fs_base = thread.tls;
  registers.gs_base = thread.second_base;
  for (const Interruption& interruption : interruptions) {
    if (thread.call_interruption == interruption.error) registers.rax = static_cast<u64>(interruption.shown);
  }
  return registers;
}

Result<i64> peek_user(Call& call, const Thread& thread) {
  const u64 place = TRY(place_in_user_area(call.argument[2]));
  u64 words[register_count];
  const arch::UserRegisters registers = registers_of(thread);
  memcpy(words, &registers, sizeof words);
  u64 word = place < register_count ? words[place] : 0;
  if (const u64* address = break_address(thread, call.argument[2]); address != nullptr) word = *address;
  TRY(call.write(call.address(3), word));
  return 0;
}

Result<i64> poke_user(Call& call, Thread& thread) {
  const u64 place = TRY(place_in_user_area(call.argument[2]));
  if (call.argument[2] >= debug_registers_at && call.argument[2] < debug_registers_end) {
    if (u64* address = break_address(thread, call.argument[2]); address != nullptr) {
      if (call.argument[3] >= arch::user_space_end) return Errno::einval;
      *address = call.argument[3];
      return 0;
    }
    return call.argument[3] == 0 ? Result<i64>{i64{0}} : Errno::enospc;  // no breakpoint can be had
  }
  if (place >= register_count) return Errno::eio;
  u64 words[register_count];
  arch::UserRegisters registers = registers_of(thread);
  memcpy(words, &registers, sizeof words);
  words[place] = call.argument[3];
  memcpy(&registers, words, sizeof words);
  TRY(assign(thread, registers));
  return 0;
}

Result<i64> get_registers(Call& call, const Thread& thread) {
  TRY(call.write(call.address(3), registers_of(thread)));
  return 0;
}

Result<i64> set_registers(Call& call, Thread& thread) {
  TRY(assign(thread, TRY(call.read<arch::UserRegisters>(call.address(3)))));
  return 0;
}

Result<i64> get_floating_point(Call& call, const Thread& thread) {
  memory::HeapArray<u8> image;
  TRY(take_image(thread, image));
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(3), image.data(), arch::FpState::plain_image_size));
  return 0;
}

Result<i64> set_floating_point(Call& call, Thread& thread) {
  memory::HeapArray<u8> image;
  TRY(take_image(thread, image));
  TRY(vm::copy_in(call.space, call.thread.caller, image.data(), call.address(3), arch::FpState::plain_image_size));
  TRY(thread.fp.assign(image.data(), arch::FpState::plain_image_size));
  return 0;
}

Result<i64> get_set(Call& call, const Thread& thread) {
  const Vector vector = TRY(vector_for(call));
  if (call.argument[2] == general) {
    const arch::UserRegisters registers = registers_of(thread);
    TRY(vm::copy_out(call.space, call.thread.caller, {vector.base}, &registers, vector.length));
  } else {
    memory::HeapArray<u8> image;
    TRY(take_image(thread, image));
    TRY(vm::copy_out(call.space, call.thread.caller, {vector.base}, image.data(), vector.length));
  }
  TRY(call.write(call.address(3) + sizeof(u64), vector.length));
  return 0;
}

Result<i64> set_set(Call& call, Thread& thread) {
  const Vector vector = TRY(vector_for(call));
  if (call.argument[2] == general) {
    arch::UserRegisters registers = registers_of(thread);
    TRY(vm::copy_in(call.space, call.thread.caller, &registers, {vector.base}, vector.length));
    TRY(assign(thread, registers));
  } else {
    const u64 size = TRY(size_of_set(call.argument[2]));
    if (call.argument[2] == extended && vector.length != size) return Errno::efault;  // as Linux says it
    memory::HeapArray<u8> image;
    TRY(take_image(thread, image));
    TRY(vm::copy_in(call.space, call.thread.caller, image.data(), {vector.base}, vector.length));
    TRY(thread.fp.assign(image.data(), size));
  }
  TRY(call.write(call.address(3) + sizeof(u64), vector.length));
  return 0;
}

Result<i64> segment_base(Call& call, Thread& thread) {
  enum : u64 { set_gs = 0x1001, set_fs = 0x1002, get_fs = 0x1003, get_gs = 0x1004 };
  const u64 value = call.argument[2];
  switch (call.argument[3]) {
    case get_fs: TRY(call.write(call.address(2), thread.tls)); return 0;
    case get_gs: TRY(call.write(call.address(2), thread.second_base)); return 0;
    case set_fs:
    case set_gs:
      if (value >= arch::user_space_end) return Errno::eperm;
      (call.argument[3] == set_fs ? thread.tls : thread.second_base) = value;
      return 0;
    default: return Errno::einval;
  }
}

}  // namespace corral::abi::trace
