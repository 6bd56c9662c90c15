// The rest: random numbers, processor state of a thread, the log, the end of the machine.
#include "abi/linux/call.h"
#include "arch/tls.h"
#include "core/core.h"
#include "device/clock.h"
#include "device/machine.h"
#include "fs/proc/load_average.h"
#include "lib/memory_functions.h"
#include "memory/heap_array.h"
#include "memory/page_allocator.h"
#include "sched/engine/random_source.h"
#include "task/executive.h"
#include "task/process_table.h"
#include "trace/log.h"

namespace corral::abi {

namespace {

Result<i64> sys_sysinfo(Call& call) {
  struct Info {
    i64 uptime;
    u64 loads[3], total_ram, free_ram, shared_ram, buffer_ram, total_swap, free_swap;
    u16 processes, padding;
    u32 padding_2;
    u64 total_high, free_high;
    u32 unit;
    char rest[4];
  } info{};
  const memory::PageStatistics pages = memory::page_statistics();
  const fs::LoadAverages load = fs::load_averages();
  constexpr u64 scale = (u64{1} << 16) / fs::LoadAverages::one;  // SI_LOAD_SHIFT
  info.loads[0] = load.minutes_1 * scale;
  info.loads[1] = load.minutes_5 * scale;
  info.loads[2] = load.minutes_15 * scale;
  info.uptime = clock::now().ns / 1'000'000'000;
  info.total_ram = pages.total * page_size;
  info.free_ram = (pages.free_global + pages.free_local) * page_size;
  info.processes = static_cast<u16>(processes::thread_count());
  info.unit = 1;
  TRY(call.write(call.address(0), info));
  return 0;
}

Result<i64> sys_getrandom(Call& call) {
  constexpr u32 known_flags = 7;
  constexpr u32 random = 2, insecure = 4;
  const u32 flags = static_cast<u32>(call.argument[2]);
  if ((flags & ~known_flags) != 0 || (flags & (random | insecure)) == (random | insecure)) return Errno::einval;
  u64 size = call.argument[1];
  constexpr u64 most = 65536;
  if (size > most) size = most;
  VirtualAddress to = call.address(0);
  u64 words[32];
  for (u64 done = 0; done < size;) {
    for (u64& word : words) word = random_source::next();
    const u64 in_page = page_size - (to + done).value % page_size;
    u64 piece = size - done < sizeof words ? size - done : sizeof words;
    if (piece > in_page) piece = in_page;
    const Result<void> out = vm::copy_out(call.space, call.thread.caller, to + done, words, piece);
    if (!out && out.error() == Errno::efault && done != 0) return static_cast<i64>(done);  // as far as it goes
    if (!out) return out.error();
    done += piece;
  }
  return static_cast<i64>(size);
}

Result<i64> sys_arch_prctl(Call& call) {
  enum : u64 { set_gs = 0x1001, set_fs = 0x1002, get_fs = 0x1003, get_gs = 0x1004, get_cpuid = 0x1011, set_cpuid = 0x1012 };
  Thread& thread = call.thread;
  const u64 value = call.argument[1];
  switch (call.argument[0]) {
    case set_fs:
      if (!arch::valid_user_base(value)) return Errno::eperm;
      thread.tls = value;
      this_core().executive->reload_bases();
      return 0;
    case set_gs:
      if (!arch::valid_user_base(value)) return Errno::eperm;
      thread.second_base = value;
      this_core().executive->reload_bases();
      return 0;
    case get_fs: TRY(call.write(call.address(1), thread.tls)); return 0;
    case get_gs: TRY(call.write(call.address(1), thread.second_base)); return 0;
    case get_cpuid: return 1;               // the instruction may be used
    case set_cpuid: return Errno::enodev;  // and cannot be made to fault
    default: return Errno::einval;
  }
}

Result<i64> sys_syslog(Call& call) {
  enum : i32 { read = 2, read_all = 3, read_and_clear = 4, console_level = 8, size_unread = 9, size_buffer = 10 };
  constexpr u64 ring = 65536;
  const bool for_everybody = call.number(0) == read_all || call.number(0) == size_buffer;
  if (!for_everybody && !call.thread.may(Capability::syslog) && !call.thread.may(Capability::sys_admin)) return Errno::eperm;
  switch (call.number(0)) {
    case size_unread: return 0;
    case size_buffer: return ring;
    case read_all:
    case read_and_clear: {
      if (call.number(2) < 0 || call.argument[1] == 0) return Errno::einval;
      const u64 room = call.argument[2] < ring ? call.argument[2] : ring;
      TRY(vm::prepare(call.space, call.thread.caller, call.address(1), room, vm::Access::write));
      memory::HeapArray<char> text;
      TRY(text.allocate(ring));
      const u64 length = log::copy_ring(text.data(), ring);
      const u64 shown = length < room ? length : room;
      TRY(vm::copy_out(call.space, call.thread.caller, call.address(1), text.data() + (length - shown), shown));
      return static_cast<i64>(shown);
    }
    // Nothing new comes: what there is has been told by the console.
    case read: return call.number(2) < 0 || call.argument[1] == 0 ? Result<i64>{Errno::einval} : Result<i64>{0};
    case console_level: return call.number(2) >= 1 && call.number(2) <= 8 ? Result<i64>{0} : Result<i64>{Errno::einval};
    default: return call.number(0) >= 0 && call.number(0) < console_level ? Result<i64>{0} : Result<i64>{Errno::einval};
  }
}

Result<i64> sys_reboot(Call& call) {
  constexpr u32 magic_1 = 0xfee1dead;
  if (!call.thread.may(Capability::sys_boot)) return Errno::eperm;
  enum : u32 { restart = 0x01234567, halt = 0xcdef0123, power_off = 0x4321fedc, cad_on = 0x89abcdef, cad_off = 0 };
  if (static_cast<u32>(call.argument[0]) != magic_1) return Errno::einval;
  switch (static_cast<u32>(call.argument[2])) {
    case restart: machine::reboot();
    case halt:
    case power_off: machine::power_off(0);
    case cad_on:
    case cad_off: return 0;
    default: return Errno::einval;
  }
}

// As a Linux kernel without it.
Result<i64> sys_rseq(Call&) {
  return Errno::enosys;
}

constexpr Entry entries[] = {
    {99, "sysinfo", sys_sysinfo}, {103, "syslog", sys_syslog},       {158, "arch_prctl", sys_arch_prctl},
    {169, "reboot", sys_reboot},  {318, "getrandom", sys_getrandom}, {334, "rseq", sys_rseq},
};

}  // namespace

std::span<const Entry> system_calls() {
  return entries;
}

}  // namespace corral::abi
