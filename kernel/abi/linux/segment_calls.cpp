// shmget, shmat, shmdt, shmctl. The order of the checks is Linux's. Source: Linux man-pages shmget(2), shmop(2), shmctl(2).
#include "abi/linux/ipc_structures.h"
#include "ipc/sysv/segment.h"

namespace corral::abi {

namespace {

using ipc::Segment;
using ipc::SegmentLimits;

Result<i64> sys_shmget(Call& call) {
  constexpr u32 huge_pages = 04000, no_reserve = 010000;
  const u64 size = call.argument[1];
  const u32 flags = static_cast<u32>(call.argument[2]);
  const auto fits = [&](Segment& there) -> Result<void> {
    return there.size() < size ? Result<void>{Errno::einval} : Result<void>{};
  };
  const auto make = [&]() -> Result<Ref<Segment>> {
    if (size == 0 || size > SegmentLimits::largest.value()) return Errno::einval;
    if ((flags & huge_pages) != 0) return Errno::enomem;  // there are none
    return Segment::create(size, (flags & no_reserve) == 0, call.process.id().value);
  };
  const i32 number = TRY(ipc::get(ipc::segments::table(), call.thread.credentials(), call.number(0), flags, fits, make));
  LockGuard guard{ipc::segments::table().lock()};
  if (Segment* segment = ipc::segments::table().find(number)) segment->become_known();
  return i64{number};
}

// ---- attaching -------------------------------------------------------------------------------------------------------------

enum AttachFlag : u32 { read_only = 010000, round_down_address = 020000, remap = 040000, executable = 0100000 };

Result<i64> attached(Result<VirtualAddress> address, bool fixed) {
  if (!address.ok()) return fixed && address.error() == Errno::eexist ? Errno::einval : address.error();
  return static_cast<i64>(address.value().value);
}

Result<i64> sys_shmat(Call& call) {
  vm::Caller& caller = call.thread.caller;
  const u32 flags = static_cast<u32>(call.argument[2]);
  u64 address = call.argument[1];
  const bool fixed = address != 0;
  if (caller.under_way()) return attached(call.space.map(caller, {}), fixed);
  if (call.number(0) < 0) return Errno::einval;
  if (fixed) {
    if (address % page_size != 0) {
      if ((flags & round_down_address) == 0) return Errno::einval;
      address = round_down(address, page_size);
      if (address == 0 && (flags & remap) != 0) return Errno::einval;
    }
  } else if ((flags & remap) != 0) {
    return Errno::einval;
  }
  vm::MapRequest request;
  {
    Ref<Segment> segment = TRY(ipc::segments::find(call.number(0)));
    const u32 wanted = ipc::access_read | ((flags & read_only) == 0 ? ipc::access_write : 0) |
                       ((flags & executable) != 0 ? ipc::access_execute : 0);
    {
      LockGuard guard{ipc::segments::table().lock()};
      TRY(ipc::check_access(segment->ownership, call.thread.credentials(), wanted));
    }
    request.length = segment->size();
    segment->attached_s.store(present_s(), Order::relaxed);
    segment->last_process.store(call.process.id().value, Order::relaxed);
    request.backing = segment;
  }
  request.hint = {address};
  request.fixed = fixed && address != 0 && (flags & remap) != 0;
  request.fixed_noreplace = fixed && address != 0 && (flags & remap) == 0;
  request.shared = true;
  request.protection = {.read = true, .write = (flags & read_only) == 0, .execute = (flags & executable) != 0};
  request.may_write = (flags & read_only) == 0;
  request.kind = vm::AreaKind::file;
  return attached(call.space.map(caller, request), fixed);
}

// Looking for what shmdt is to take away, area by area.
struct Search {
  u64 address = 0;  // where the segment was attached
  u64 from = 0;     // areas below are done
  u64 serial = 0;   // of the segment; 0: not found yet
  u64 end = 0;      // of the attachment, when found
  u64 start = 0, length = 0;  // the next area; length 0: none
  Segment* segment = nullptr;  // while the address space is locked

  void look_at(const vm::Area& area) {
    if (length != 0 || area.start.value < from || !area.backing) return;
    const u64 found = area.backing->segment();
    if (found == 0 || (serial != 0 && (found != serial || area.start.value >= end))) return;
    if (area.start.value - area.first_page * page_size != address) return;
    segment = static_cast<Segment*>(area.backing.get());
    serial = found;
    end = address + round_up(segment->size(), page_size);
    start = area.start.value;
    length = area.length();
    segment->detached_s.store(present_s(), Order::relaxed);
  }
};

void look_for(Call& call, Search& search) {
  call.space.for_each_area([](void* context, const vm::Area& area) { static_cast<Search*>(context)->look_at(area); }, &search);
}

// Words of the step: the area being taken away, and which segment it is of.
constexpr unsigned word_start = 0, word_length = 1, word_serial = 2, word_end = 3;

Result<i64> sys_shmdt(Call& call) {
  vm::Caller& caller = call.thread.caller;
  u64* words = call.thread.step.word;
  if (call.argument[0] % page_size != 0) return Errno::einval;
  for (;;) {
    if (!caller.under_way()) {
      Search search;
      search.address = call.argument[0];
      search.from = words[word_serial] == 0 ? search.address : words[word_start] + words[word_length];
      search.serial = words[word_serial];
      search.end = words[word_end];
      look_for(call, search);
      if (search.length == 0) return words[word_serial] == 0 ? Result<i64>{Errno::einval} : Result<i64>{i64{0}};
      words[word_start] = search.start;
      words[word_length] = search.length;
      words[word_serial] = search.serial;
      words[word_end] = search.end;
    }
    TRY(call.space.unmap(caller, {words[word_start]}, words[word_length]));
  }
}

// ---- shmctl ----------------------------------------------------------------------------------------------------------------

struct SegmentStatus {  // struct shmid64_ds
  IpcPermissions permissions;
  u64 size;
  i64 attached, detached, changed;
  i32 creator, last_process;
  u64 attachments;
  u64 unused[2];
};
static_assert(sizeof(SegmentStatus) == 112);

Result<i64> tell_limits(Call& call) {
  struct Limits {  // struct shminfo64
    u64 largest, smallest, segments, for_process, pages, unused[4];
  };
  const u64 segments = SegmentLimits::segments.value();
  const Limits limits{SegmentLimits::largest.value(), 1, segments, segments, SegmentLimits::no_limit, {}};
  TRY(call.write(call.address(2), limits));
  LockGuard guard{ipc::segments::table().lock()};
  return i64{ipc::segments::table().highest()};
}

Result<i64> tell_use(Call& call) {
  struct Use {  // struct shm_info
    i32 segments, padding;
    u64 pages, resident, swapped, swap_attempts, swap_successes;
  };
  Use use{};
  i32 place = 0;
  {
    auto& table = ipc::segments::table();
    LockGuard guard{table.lock()};
    use.segments = static_cast<i32>(table.used());
    place = table.highest();
    for (u32 i = 0; i < table.places(); ++i) {
      if (Segment* segment = table.at(i)) use.resident += segment->resident();
    }
  }
  use.pages = ipc::segments::pages_in_all();
  TRY(call.write(call.address(2), use));
  return place;
}

Result<i64> tell_status(Call& call, bool by_place, bool anybody) {
  constexpr u32 destroyed = 01000, locked = 02000;
  SegmentStatus status{};
  i32 number = 0;
  {
    auto& table = ipc::segments::table();
    LockGuard guard{table.lock()};
    Segment* segment = by_place ? table.at(static_cast<u32>(call.number(0))) : table.find(call.number(0));
    if (segment == nullptr || segment->references() == 0) return Errno::einval;
    if (!anybody) TRY(ipc::check_access(segment->ownership, call.thread.credentials(), ipc::access_read));
    number = segment->number;
    status.permissions = permissions_of(segment->ownership, number);
    status.permissions.mode |=
        (segment->removed.load(Order::relaxed) ? destroyed : 0) | (segment->locked.load(Order::relaxed) ? locked : 0);
    status.size = segment->size();
    status.attached = segment->attached_s.load(Order::relaxed);
    status.detached = segment->detached_s.load(Order::relaxed);
    status.changed = segment->changed_s.load(Order::relaxed);
    status.creator = segment->creator.load(Order::relaxed);
    status.last_process = segment->last_process.load(Order::relaxed);
    status.attachments = segment->areas();
  }
  TRY(call.write(call.address(2), status));
  return by_place ? number : 0;
}

Result<i64> change_segment(Call& call) {
  const SegmentStatus wanted = TRY(call.read<SegmentStatus>(call.address(2)));
  Ref<Segment> segment = TRY(ipc::segments::find(call.number(0)));
  LockGuard guard{ipc::segments::table().lock()};
  TRY(ipc::check_owner(segment->ownership, call.thread.credentials()));
  change_owner(segment->ownership, wanted.permissions);
  segment->changed_s.store(present_s(), Order::relaxed);
  return 0;
}

// From now on nobody finds it by its key; it goes with its last attachment.
Result<i64> remove_segment(Call& call) {
  Ref<Segment> segment = TRY(ipc::segments::find(call.number(0)));
  Ref<Segment> of_table;
  LockGuard guard{ipc::segments::table().lock()};
  TRY(ipc::check_owner(segment->ownership, call.thread.credentials()));
  if (segment->removed.exchange(true, Order::relaxed)) return 0;
  segment->ownership.key = ipc::key_private;
  of_table = Ref<Segment>::adopt(segment.get());  // let go of before the other one: that is the last, without the lock
  return 0;
}

// SHM_LOCK, SHM_UNLOCK: told by IPC_STAT; memory is never taken away.
Result<i64> lock_segment(Call& call, bool locked) {
  Ref<Segment> segment = TRY(ipc::segments::find(call.number(0)));
  if (!call.thread.may(Capability::ipc_lock)) {
    LockGuard guard{ipc::segments::table().lock()};
    const u32 user = call.thread.credentials().user.effective;
    if (user != segment->ownership.user && user != segment->ownership.creator_user) return Errno::eperm;
    if (locked && call.process.limits.locked_memory == 0) return Errno::eperm;
  }
  segment->locked.store(locked, Order::relaxed);
  return 0;
}

Result<i64> sys_shmctl(Call& call) {
  enum : u32 { lock = 11, unlock = 12, stat_place = 13, use = 14, stat_any = 15 };
  const u32 command = static_cast<u32>(call.argument[1]);
  if (call.number(1) < 0 || call.number(0) < 0) return Errno::einval;
  switch (command) {
    case ipc::command_limits: return tell_limits(call);
    case use: return tell_use(call);
    case ipc::command_stat: return tell_status(call, false, false);
    case stat_place:
    case stat_any: return tell_status(call, true, command == stat_any);
    case ipc::command_set: return change_segment(call);
    case ipc::command_remove: return remove_segment(call);
    case lock:
    case unlock: return lock_segment(call, command == lock);
    default: return Errno::einval;
  }
}

constexpr Entry entries[] = {
    {29, "shmget", sys_shmget}, {30, "shmat", sys_shmat}, {31, "shmctl", sys_shmctl}, {67, "shmdt", sys_shmdt}};

}  // namespace

std::span<const Entry> segment_calls() {
  return entries;
}

}  // namespace corral::abi
