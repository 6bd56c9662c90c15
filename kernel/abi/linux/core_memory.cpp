// See core_memory.h.
#include "abi/linux/core_memory.h"

#include <new>
#include <string_view>

#include "device/clock.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/process.h"

namespace corral::abi::core {

namespace {

constexpr u64 most_segments = 0xfff0;  // program headers are counted in 16 bits
constexpr u64 looks_without_pause = 4096;

// The page that is mapped there, with a reference; null: none is.
Frame* mapped_page(const Thread& thread, VirtualAddress page) {
  const Result<Frame*> found = thread.space->hold_page(page, vm::AddressSpace::Closed::wanted);
  return found.ok() ? found.value() : nullptr;
}

void note_area(MemorySegment& to, const vm::Area& area) {
  to.start = area.start;
  to.end = area.end;
  to.protection = area.protection;
  to.shared = area.shared;
  to.of_file = area.kind == vm::AreaKind::file;
  to.left_out = area.not_dumped;
  to.first_page = area.first_page;
  to.backing = area.backing.reference();
}

}  // namespace

Result<void> MemoryPicture::take(vm::AddressSpace& space) {
  space.for_each_area([](void* count, const vm::Area&) { ++*static_cast<u64*>(count); }, &room_);
  if (room_ > most_segments) return Errno::e2big;
  segments_ = static_cast<MemorySegment*>(memory::allocate((room_ == 0 ? 1 : room_) * sizeof(MemorySegment)));
  if (segments_ == nullptr) return Errno::enomem;
  space.for_each_area(
      [](void* context, const vm::Area& area) {
        auto& picture = *static_cast<MemoryPicture*>(context);
        if (picture.count_ == picture.room_) return;  // another process that shares the memory has made more
        note_area(*::new (&picture.segments_[picture.count_++]) MemorySegment, area);
      },
      this);
  return {};
}

void MemoryPicture::clear() {
  for (MemorySegment& segment : segments()) segment.~MemorySegment();
  memory::release(segments_);
  segments_ = nullptr;
  count_ = room_ = decided_ = 0;
}

Result<void> MemoryPicture::decide(Thread& thread) {
  for (; decided_ < count_; ++decided_) {
    MemorySegment& segment = segments_[decided_];
    if (compared_.value < segment.start.value) compared_ = segment.start;
    segment.dumped = TRY(dumped_size(thread, segment));
  }
  return {};
}

Result<u64> MemoryPicture::dumped_size(Thread& thread, const MemorySegment& segment) {
  using Manners = ProcessManners;
  const u32 filter = thread.process().manners.dump_filter.load(Order::relaxed);
  const u64 whole = segment.end - segment.start;
  if (segment.backing && std::string_view{segment.backing->name()} == "[vdso]") return whole;
  if (segment.left_out || segment.is_kernels()) return 0;
  if (segment.shared) {
    return (filter & (segment.has_file() ? Manners::dump_shared_files : Manners::dump_shared)) != 0 ? whole : 0;
  }
  if ((filter & Manners::dump_private) != 0 && TRY(has_own_pages(thread, segment))) return whole;
  if (segment.has_file() && (filter & Manners::dump_private_files) != 0) return whole;
  if (!segment.has_file() || segment.first_page != 0 || (filter & Manners::dump_headers) == 0) return 0;
  u8 begin[4] = {};
  const Result<void> read = thread.space->read_by_force(thread.caller, segment.start, begin);
  if (!read.ok() && read.error() == Errno::blocked) return Errno::blocked;
  return read.ok() && memcmp(begin,
                             "\x7f"
                             "ELF",
                             sizeof begin) == 0
             ? page_size
             : 0;
}

// Pages that are not the file's: anonymous memory that was touched, and changed pages of a private mapping.
Result<bool> MemoryPicture::has_own_pages(Thread& thread, const MemorySegment& segment) {
  for (u64 looks = 0; compared_.value < segment.end.value;) {
    if (++looks == looks_without_pause) return thread.pause_until(clock::now());
    if (!thread.space->find_page(compared_, segment.end)) continue;
    if (!segment.backing) return true;
    if (!thread.space->shows_backing(compared_)) return true;
    compared_ = compared_ + page_size;
  }
  return false;
}

VirtualAddress MemoryPicture::pass_holes(Thread& thread, const MemorySegment& segment, VirtualAddress page) {
  if (!segment.backing) {
    (void)thread.space->find_page(page, segment.end);
    return page;
  }
  if (!segment.shared) return page;
  const u64 index = segment.first_page + (page - segment.start) / page_size;
  const u64 left = (segment.end - page) / page_size;
  const u64 holes = segment.backing->next_filled(index) - index;
  return page + (holes < left ? holes : left) * page_size;
}

Result<bool> MemoryPicture::read_page(Thread& thread, const MemorySegment& segment, VirtualAddress page, std::span<u8> to) {
  if (Frame* frame = mapped_page(thread, page); frame != nullptr) {
    memcpy(to.data(), memory::contents(*frame), to.size());
    memory::release_page(*frame);
    return true;
  }
  if (!segment.backing) return false;
  const Result<void> read = thread.space->read_by_force(thread.caller, page, to);
  if (!read.ok() && (read.error() == Errno::blocked || read.error() == Errno::enomem)) return read.error();
  return read.ok();
}

}  // namespace corral::abi::core
