// mmap, munmap, mprotect, brk, mremap, remap_file_pages, madvise, mincore, msync: arguments as Linux has them, checked in its order.
// Sources: Linux man-pages mmap(2), mprotect(2), mremap(2), remap_file_pages(2), madvise(2), mincore(2),
// msync(2).
//
// A change of mappings that is under way (Caller::under_way) goes on first, before anything is checked again: it holds the
// change lock of the address space. Memory is never written to a disc and never taken away, so that most advice has nothing to change.
#include "abi/linux/call.h"
#include "abi/linux/page_lock_calls.h"
#include "fs/resources.h"
#include "fs/seals.h"
#include "fs/step_memory.h"

namespace corral::abi {

namespace {

enum Prot : u64 {
  prot_read = 1,
  prot_write = 2,
  prot_execute = 4,
  prot_sem = 8,
  prot_growsdown = 1u << 24,
  prot_growsup = 1u << 25
};
enum MapFlag : u64 {
  map_shared = 1,
  map_private = 2,
  map_shared_validate = 3,
  map_type = 0xf,
  map_fixed = 0x10,
  map_anonymous = 0x20,
  map_32bit = 0x40,
  map_growsdown = 0x100,
  map_denywrite = 0x800,
  map_executable = 0x1000,
  map_locked = 0x2000,
  map_noreserve = 0x4000,
  map_populate = 0x8000,
  map_nonblock = 0x10000,
  map_stack = 0x20000,
  map_hugetlb = 0x40000,
  map_fixed_noreplace = 0x100000,
  map_uninitialized = 0x4000000,
};
constexpr u64 known_map_flags = map_type | map_fixed | map_anonymous | map_32bit | map_growsdown | map_denywrite |
                                map_executable | map_locked | map_noreserve | map_populate | map_nonblock | map_stack |
                                map_hugetlb | map_uninitialized;
constexpr u64 largest_file_size = ~u64{0} >> 1;
constexpr u64 end_of_32bit_mappings = 0x8000'0000;

vm::Protection protection_of(u64 bits) {
  return {(bits & prot_read) != 0, (bits & prot_write) != 0, (bits & prot_execute) != 0};
}

Result<i64> as_result(Result<VirtualAddress> address) {
  if (!address.ok()) return address.error();
  return static_cast<i64>(address.value().value);
}
Result<i64> as_result(Result<void> outcome) {
  if (!outcome.ok()) return outcome.error();
  return i64{0};
}

// ---- mmap ------------------------------------------------------------------------------------------------------------

bool write_sealed(fs::OpenFile& file) {
  const Result<u32> seals = file.inode().seals();
  return seals.ok() && (seals.value() & fs::seals_against_writing) != 0;
}

Result<void> describe_file(vm::MapRequest& request, fs::OpenFile& file, u64 flags) {
  switch (flags & map_type) {
    case map_shared_validate:
      if ((flags & ~known_map_flags & ~u64{map_fixed_noreplace}) != 0) return Errno::eopnotsupp;
      [[fallthrough]];
    case map_shared:
      if (request.protection.write && !file.writable()) return Errno::eacces;
      if (file.writable() && file.inode().has_flag(fs::flag_append)) return Errno::eacces;
      request.shared = true;
      request.may_write = file.writable();
      [[fallthrough]];
    case map_private:
      if (!file.readable()) return Errno::eacces;
      break;
    default: return Errno::einval;
  }
  request.kind = vm::AreaKind::file;
  const bool sealed = request.may_write && request.shared && write_sealed(file);
  if (sealed && request.protection.write) return Errno::eperm;
  if (sealed) request.may_write = false;
  request.backing = TRY(request.shared && request.may_write ? file.writable_backing() : file.backing());
  return {};
}

Result<i64> sys_mmap(Call& call) {
  vm::Caller& caller = call.thread.caller;
  if (caller.under_way()) return as_result(call.space.map(caller, {}));
  const u64 flags = call.argument[3];
  const u64 offset = call.argument[5];
  if (offset % page_size != 0) return Errno::einval;
  const bool anonymous = (flags & map_anonymous) != 0;
  Ref<fs::OpenFile> file;
  if (!anonymous) {
    file = TRY(fs::Resources::of(call.process).files().get(call.number(4)));
    if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
    if ((flags & map_hugetlb) != 0) return Errno::einval;  // no file system of huge pages
  }
  vm::MapRequest request;
  request.hint = call.address(0);
  request.length = call.argument[1];
  request.protection = protection_of(call.argument[2]);
  request.fixed = (flags & map_fixed) != 0;
  request.fixed_noreplace = (flags & map_fixed_noreplace) != 0;
  request.populate =
      ((flags & map_locked) != 0 || call.space.locks_new() || (flags & (map_populate | map_nonblock)) == map_populate);
  request.small_pages = (flags & map_stack) != 0;  // thousands of stacks, each hardly used
  request.grows_down = (flags & map_growsdown) != 0;
  request.reserve = (flags & map_noreserve) == 0;
  if ((flags & map_32bit) != 0) request.limit = VirtualAddress{end_of_32bit_mappings};
  if (anonymous && (flags & map_hugetlb) != 0) {  // there are none, of 2 MiB and of 1 GiB
    const u64 size_bits = flags >> 26 & 63;  // MAP_HUGE_SHIFT; 0: whichever
    return size_bits == 0 || size_bits == 21 || size_bits == 30 ? Errno::enomem : Errno::einval;
  }
  TRY(vm::AddressSpace::check_place(request));
  if ((flags & map_locked) != 0 && !may_lock_pages(call)) return Errno::eperm;
  request.locked = (flags & map_locked) != 0 || call.space.locks_new();
  if (request.locked && exceeds_lock_limit(call, round_up(request.length, page_size))) return Errno::eagain;
  if (anonymous) {
    const u64 type = flags & map_type;
    if (type != map_shared && type != map_private) return Errno::einval;
    request.shared = type == map_shared;
    if (request.shared && request.grows_down) return Errno::einval;
  } else {
    if (offset > largest_file_size || round_up(request.length, page_size) > largest_file_size - offset) {
      return Errno::eoverflow;
    }
    TRY(describe_file(request, *file, flags));
    if (request.protection.execute && file->inode().file_system().forbids(fs::mount_no_execute)) return Errno::eperm;
    if (request.grows_down) return Errno::einval;
    request.first_page = offset / page_size;
  }
  return as_result(call.space.map(caller, request));
}

// Other pages of the same file, in their place.
Result<i64> sys_remap_file_pages(Call& call) {
  vm::Caller& caller = call.thread.caller;
  const VirtualAddress start = call.address(0).page();
  const u64 length = round_down(call.argument[1], page_size);
  const u64 first_page = call.argument[3];
  vm::MapRequest request;
  if (!caller.under_way()) {
    if (call.argument[2] != 0 || start + length <= start || first_page + length / page_size < first_page) return Errno::einval;
    request = TRY(call.space.shared_mapping(start, start + length));
    if (first_page + length / page_size > largest_file_size / page_size) return Errno::eoverflow;
    request.first_page = first_page;
    request.populate = (call.argument[4] & map_nonblock) == 0;
  }
  (void)TRY(call.space.map(caller, request));
  return 0;
}

Result<i64> sys_munmap(Call& call) {
  return as_result(call.space.unmap(call.thread.caller, call.address(0), call.argument[1]));
}

// ---- mprotect, brk, mremap ---------------------------------------------------------------------------------------------

Result<i64> sys_mprotect(Call& call) {
  const u64 bits = call.argument[2];
  const u64 grows = bits & (prot_growsdown | prot_growsup);
  if (grows == (prot_growsdown | prot_growsup)) return Errno::einval;
  if (call.argument[0] % page_size != 0) return Errno::einval;
  if (call.argument[1] == 0) return i64{0};
  const u64 end = call.argument[0] + round_up(call.argument[1], page_size);
  if (end <= call.argument[0]) return Errno::enomem;
  if ((bits & ~u64{prot_read | prot_write | prot_execute | prot_sem | prot_growsdown | prot_growsup}) != 0)
    return Errno::einval;
  const VirtualAddress start = call.address(0);
  if (grows == prot_growsup) return call.space.covers(start, start + page_size) ? Errno::einval : Errno::enomem;  // none does
  return as_result(
      call.space.protect(call.thread.caller, start, end - start.value, protection_of(bits), grows == prot_growsdown));
}

Result<i64> sys_pkey_mprotect(Call& call) {
  if (call.number(3) != -1) return Errno::einval;  // no protection keys
  return sys_mprotect(call);
}

Result<i64> sys_brk(Call& call) {
  return as_result(call.space.set_break(call.thread.caller, call.address(0)));
}

Result<i64> sys_mremap(Call& call) {
  constexpr u64 may_move = 1, fixed = 2, dont_unmap = 4;
  const u64 flags = call.argument[3];
  if ((flags & ~(may_move | fixed | dont_unmap)) != 0) return Errno::einval;
  if ((flags & fixed) != 0 && (flags & may_move) == 0) return Errno::einval;
  const bool keeps_old = (flags & dont_unmap) != 0;
  if (keeps_old && ((flags & may_move) == 0 || call.argument[1] != call.argument[2])) return Errno::einval;
  vm::RemapRequest request;
  request.old_start = call.address(0);
  request.old_length = call.argument[1];
  request.new_length = call.argument[2];
  request.may_move = (flags & may_move) != 0;
  request.fixed = (flags & fixed) != 0;
  request.keeps_old = keeps_old;
  request.new_start = call.address(4);
  return as_result(call.space.remap(call.thread.caller, request));
}

// ---- advice --------------------------------------------------------------------------------------------------------------

Result<i64> sys_madvise(Call& call) {
  enum Advice : int {
    normal = 0,
    random = 1,
    sequential = 2,
    will_need = 3,
    dont_need = 4,
    free = 8,
    do_fork = 11,
    huge_page = 14,
    no_huge_page = 15,
    dont_dump = 16,
    do_dump = 17,
    keep_on_fork = 19,
    cold = 20,
    page_out = 21,
    populate_read = 22,
    populate_write = 23,
    dont_need_locked = 24,
  };
  vm::Caller& caller = call.thread.caller;
  const VirtualAddress start = call.address(0);
  const u64 length = call.argument[1];
  const int advice = call.number(2);
  switch (advice) {
    case normal:
    case random:
    case sequential:
    case will_need:
    case dont_need:
    case free:
    case do_fork:
    case huge_page:
    case no_huge_page:
    case dont_dump:
    case do_dump:
    case keep_on_fork:
    case cold:
    case page_out:
    case populate_read:
    case populate_write:
    case dont_need_locked: break;
    default: return Errno::einval;
  }
  if (start.value % page_size != 0) return Errno::einval;
  const u64 rounded = round_up(length, page_size);
  if (rounded < length || start.value + rounded < start.value) return Errno::einval;
  if (rounded == 0) return i64{0};
  const bool takes_away = advice == dont_need || advice == free || advice == cold || advice == page_out;
  if (takes_away && !caller.under_way() && call.space.locked_bytes(start, start + rounded) != 0) return Errno::einval;
  switch (advice) {
    case dont_need:
    case dont_need_locked: return as_result(call.space.discard(caller, start, length));
    case free: return as_result(call.space.discard(caller, start, length, true));
    case huge_page:
    case no_huge_page: return as_result(call.space.advise_large(caller, start, length, advice == huge_page));
    case dont_dump:
    case do_dump: return as_result(call.space.advise_dump(caller, start, length, advice == do_dump));
    default: break;
  }
  if (!call.space.covers(start, start + rounded)) return Errno::enomem;
  if (advice == populate_read || advice == populate_write) {
    const auto access = advice == populate_write ? vm::Access::write : vm::Access::read;
    const Errno touched = touch_pages(call, start, start + rounded, access, false).error();
    return as_result(Result<void>{touched == Errno::eacces ? Errno::einval : touched});
  }
  return i64{0};
}

Result<i64> sys_mincore(Call& call) {
  const VirtualAddress start = call.address(0);
  if (start.value % page_size != 0) return Errno::einval;
  if (start.value > vm::user_end || call.argument[1] > vm::user_end - start.value) return Errno::enomem;
  const u64 pages = round_up(call.argument[1], page_size) / page_size;
  const u64 answers = call.argument[2];
  if (answers > vm::user_end || pages > vm::user_end - answers) return Errno::efault;
  u8 chunk[256];
  for (u64 done = 0; done < pages;) {
    const u64 now = pages - done < sizeof chunk ? pages - done : sizeof chunk;
    TRY(call.space.residency(start + done * page_size, {chunk, now}));
    TRY(vm::copy_out(call.space, call.thread.caller, {answers + done}, chunk, now));
    done += now;
  }
  return i64{0};
}

Result<i64> sys_msync(Call& call) {
  constexpr u64 async = 1, invalidate = 2, sync = 4;
  const VirtualAddress start = call.address(0);
  const u64 flags = call.argument[2];
  if ((flags & ~(async | invalidate | sync)) != 0) return Errno::einval;
  if (start.value % page_size != 0) return Errno::einval;
  if ((flags & async) != 0 && (flags & sync) != 0) return Errno::einval;
  const VirtualAddress end = start + round_up(call.argument[1], page_size);
  if (end < start) return Errno::enomem;
  if (end == start) return i64{0};
  if ((flags & invalidate) != 0 && call.space.locked_bytes(start, end) != 0) return Errno::ebusy;
  // How far it has come, and how far with the file that is there.
  u64& done = call.thread.step.word[0];
  u64& progress = call.thread.step.word[1];
  while ((flags & sync) != 0) {
    VirtualAddress next{};
    const Ref<vm::Backing> file = call.space.shared_backing(start + done, end, next);
    if (!file) break;
    TRY(file->sync(progress));
    if (fs::StepMemory* memory = fs::StepMemory::find(call.thread)) memory->forget_operations();
    progress = 0;
    done = next - start;
    if (next >= end) break;
  }
  if (!call.space.covers(start, end)) return Errno::enomem;
  return i64{0};
}

constexpr Entry entries[] = {
    {9, "mmap", sys_mmap},
    {10, "mprotect", sys_mprotect},
    {11, "munmap", sys_munmap},
    {12, "brk", sys_brk},
    {25, "mremap", sys_mremap},
    {26, "msync", sys_msync},
    {216, "remap_file_pages", sys_remap_file_pages},
    {27, "mincore", sys_mincore},
    {28, "madvise", sys_madvise},
    {329, "pkey_mprotect", sys_pkey_mprotect},
};

}  // namespace

std::span<const Entry> memory_calls() {
  return entries;
}

}  // namespace corral::abi
