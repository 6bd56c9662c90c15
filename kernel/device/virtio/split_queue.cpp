// See split_queue.h.
#include "device/virtio/split_queue.h"

namespace corral::virtio {

namespace {

constexpr u16 used_no_notify = 1;  // in the flags of the used ring
constexpr u32 flags_word = 0, index_word = 1, ring_word = 2;

u16 load(const u16* place, Order order) {
  return __atomic_load_n(place, static_cast<int>(order));
}
void store(u16* place, u16 value, Order order) {
  __atomic_store_n(place, value, static_cast<int>(order));
}

}  // namespace

SplitQueue::Layout SplitQueue::layout(u32 entries) {
  const u64 available = u64{entries} * sizeof(Descriptor);
  const u64 used = round_up(available + 6 + 2 * u64{entries}, 64);
  return {available, used, used + 6 + sizeof(UsedElement) * u64{entries}};
}

Result<void> SplitQueue::initialise(u8* memory, u32 entries) {
  if (entries == 0 || entries > most_entries || (entries & (entries - 1)) != 0) return Errno::einval;
  const Layout parts = layout(entries);
  table_ = reinterpret_cast<Descriptor*>(memory);
  available_ = reinterpret_cast<u16*>(memory + parts.available);
  used_ = reinterpret_cast<u16*>(memory + parts.used);
  used_ring_ = reinterpret_cast<UsedElement*>(memory + parts.used + 4);
  entries_ = entries;
  free_count_ = entries;
  for (u32 i = 0; i < entries; ++i) known_[i].next = static_cast<u16>(i + 1);
  return {};
}

u16 SplitQueue::take_descriptor() {
  const u16 taken = free_;
  free_ = known_[taken].next;
  --free_count_;
  return taken;
}

void SplitQueue::give_back(u16 head) {
  Entry& first = known_[head];
  u16 last = head;
  for (u32 i = 1; i < first.count; ++i) last = known_[last].next;
  known_[last].next = free_;
  free_ = head;
  free_count_ += first.count;
  first.cookie = nullptr;
  --in_flight_;
}

Result<void> SplitQueue::add(std::span<Descriptor> pieces, u64 indirect, void* cookie) {
  if (broken_) return Errno::eio;
  const u64 needed = indirect != 0 ? 1 : pieces.size();
  if (pieces.empty() || pieces.size() > 0xffff || needed > entries_) return Errno::einval;
  if (needed > free_count_) return Errno::eagain;
  u32 room = 0;
  for (u64 i = 0; i < pieces.size(); ++i) {
    Descriptor& piece = pieces[i];
    const bool last = i + 1 == pieces.size();
    piece.flags = static_cast<u16>((piece.flags & Descriptor::flag_device_writes) | (last ? 0 : Descriptor::flag_next));
    piece.next = last ? u16{0} : static_cast<u16>(i + 1);
    if ((piece.flags & Descriptor::flag_device_writes) != 0) room += piece.length;
  }
  const u16 head = take_descriptor();
  if (indirect != 0) {
    table_[head] = {indirect, static_cast<u32>(pieces.size_bytes()), Descriptor::flag_indirect, 0};
  } else {
    u16 place = head;
    for (u64 i = 0; i < pieces.size(); ++i) {
      const u16 following = i + 1 == pieces.size() ? u16{0} : take_descriptor();
      if (i + 1 < pieces.size()) known_[place].next = following;
      table_[place] = {pieces[i].address, pieces[i].length, pieces[i].flags, following};
      place = following;
    }
  }
  known_[head].cookie = cookie;
  known_[head].room = room;
  known_[head].count = static_cast<u16>(needed);
  ++in_flight_;
  available_[ring_word + next_available_ % entries_] = head;
  ++next_available_;
  store(&available_[index_word], next_available_, Order::release);
  return {};
}

bool SplitQueue::must_notify() {
  fence(Order::seq_cst);  // the index before the flags (2.7.13.4.1)
  return (load(&used_[flags_word], Order::relaxed) & used_no_notify) == 0;
}

bool SplitQueue::take(Completion& to) {
  if (broken_) return false;
  const u16 behind = static_cast<u16>(load(&used_[index_word], Order::acquire) - next_used_);
  if (behind == 0) return false;
  const volatile UsedElement& element = used_ring_[next_used_ % entries_];
  const u32 id = element.id;
  const u32 written = element.length;
  if (behind > in_flight_ || id >= entries_ || known_[id].cookie == nullptr) {
    broken_ = true;
    return false;
  }
  const Entry& known = known_[id];
  to = {known.cookie, written < known.room ? written : known.room};
  give_back(static_cast<u16>(id));
  ++next_used_;
  return true;
}

void* SplitQueue::abandon() {
  broken_ = true;
  for (u32 i = 0; i < entries_; ++i) {
    if (void* cookie = known_[i].cookie) {
      give_back(static_cast<u16>(i));
      return cookie;
    }
  }
  return nullptr;
}

}  // namespace corral::virtio
