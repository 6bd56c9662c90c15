// See segment.h.
#include "ipc/sysv/segment.h"

#include "fs/types.h"
#include "lib/format.h"
#include "memory/page_allocator.h"

namespace corral::ipc {

namespace {
constinit IdTable<Segment> all_segments{SegmentLimits::segments, "shared memory"};
constinit Atomic<u64> next_serial{1};
constinit Atomic<u64> all_pages{0};
}  // namespace

Segment::Segment(u64 size, i32 process)
    : creator{process},
      size_{size},
      pages_{round_up(size, page_size) / page_size},
      serial_{next_serial.fetch_add(1, Order::relaxed)} {
  name_[0] = 0;
  changed_s.store(fs::wall_time_ns() / 1'000'000'000, Order::relaxed);
  all_pages.fetch_add(pages_, Order::relaxed);
}

Result<Ref<Segment>> Segment::create(u64 size, bool reserve, i32 process) {
  const u64 pages = size / page_size + (size % page_size != 0 ? 1 : 0);
  if (pages > fs::PageIndex::max_pages) return pages << 12 < size ? Errno::enospc : Errno::enomem;
  if (reserve && pages > memory::page_statistics().total) return Errno::enomem;
  auto* made = new (std::nothrow) Segment(size, process);
  if (made == nullptr) return Errno::enomem;
  return Ref<Segment>::adopt(made);
}

Segment::~Segment() {
  all_pages.fetch_sub(pages_, Order::relaxed);
  LockGuard guard{all_segments.lock()};
  if (all_segments.find(number) == this) all_segments.remove(*this);
}

void Segment::become_known() {
  const std::string_view text =
      format_to(std::span{name_, sizeof name_ - 1}, "/SYSV{X8} (deleted)", static_cast<u32>(ownership.key));
  name_[text.size()] = 0;
}

Result<Frame*> Segment::page(u64 index) {
  if (index >= pages_) return Errno::efault;
  LockGuard guard{pages_lock_};
  Frame* frame = index_.find(index);
  if (frame == nullptr) {
    frame = TRY(memory::allocate_page(memory::Zero::yes));
    if (const Result<void> put = index_.insert(index, *frame); !put.ok()) {
      memory::release_page(*frame);
      return put.error();
    }
    ++resident_;
  }
  memory::share_page(*frame);
  return frame;
}

void Segment::pages_at_hand(u64 first, std::span<Frame*> frames) {
  LockGuard guard{pages_lock_};
  for (u64 i = 0; i < frames.size(); ++i) {
    frames[i] = first + i < pages_ ? index_.find(first + i) : nullptr;
    if (frames[i] != nullptr) memory::share_page(*frames[i]);
  }
}

u64 Segment::next_filled(u64 index) {
  LockGuard guard{pages_lock_};
  const u64 next = index_.next_used(index);
  return next < pages_ ? next : pages_;
}

u64 Segment::resident() {
  LockGuard guard{pages_lock_};
  return resident_;
}

namespace segments {

IdTable<Segment>& table() {
  return all_segments;
}

Result<Ref<Segment>> find(i32 number) {
  LockGuard guard{all_segments.lock()};
  Segment* segment = all_segments.find(number);
  if (segment == nullptr || !segment->retain_if_alive()) return Errno::einval;
  return Ref<Segment>::adopt(segment);
}

u64 pages_in_all() {
  return all_pages.load(Order::relaxed);
}

}  // namespace segments

}  // namespace corral::ipc
