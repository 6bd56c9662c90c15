// File systems that were unmounted while files of them were in use (MNT_DETACH): mounting the disk again finds the same one, as long as it
// is there, and when the last file is let go of the disk is left in good order. See file_system.h.
//
// The worker (orphans.cpp) ends such a file system, in phases, none of which waits: first everything but the mark that all is in order
// reaches the disk, then the mark. Whoever mounts it in between ends that.
#include "device/clock.h"
#include "fs/ext2/file_system.h"

namespace corral::fs::ext2 {

namespace {

constinit SpinLock list_lock{Rank::file_names, "ext2 file systems"};
constinit IntrusiveList<Ext2FileSystem, &Ext2FileSystem::link> all GUARDED_BY(list_lock);

constexpr u32 runs_at_once = 32;

// The first behind `after`, or the first of all, that has a reference to give; only of this disk, unless that is null. Null: there is none.
Ref<Ext2FileSystem> next_file_system(Ext2FileSystem* after, const Disk* disk) {
  LockGuard guard{list_lock};
  Ext2FileSystem* at = after == nullptr ? all.front() : all.next(*after);
  const auto is_one = [&] { return (disk == nullptr || &at->disk() == disk) && at->retain_if_alive(); };
  while (at != nullptr && !is_one()) at = all.next(*at);
  return at == nullptr ? Ref<Ext2FileSystem>{} : Ref<Ext2FileSystem>::adopt(at);
}

}  // namespace

void Ext2FileSystem::enlist() {
  LockGuard guard{list_lock};
  all.push_back(*this);
}

void Ext2FileSystem::delist() {
  LockGuard guard{list_lock};
  all.remove(*this);
}

Result<Ref<Ext2FileSystem>> Ext2FileSystem::detached_from(Disk& disk, bool read_only) {
  for (Ref<Ext2FileSystem> at = next_file_system(nullptr, &disk); at; at = next_file_system(at.get(), &disk)) {
    LockGuard guard{at->lock_};
    if (!at->detached_ || at->phase_ == Ending::ended) continue;
    if (at->read_only() != (read_only || !at->geometry_.writable)) return Errno::ebusy;
    at->detached_ = false;
    at->phase_ = Ending::files;
    return at;
  }
  return Errno::ebusy;
}

bool Ext2FileSystem::is_unused() const {
  return detached_ && node_count_ == 0 && orphans_.empty() && phase_ != Ending::ended;
}

void Ext2FileSystem::end_if_clean() {
  if (is_unused() && phase_ == Ending::files && marked_clean_ && !metadata_->pages().has_dirty()) give_back_disk();
}

// Takes the next phase when the one before is over.
void Ext2FileSystem::work_on_end() {
  LockGuard guard{lock_};
  if (flush_.busy()) return;
  if (!is_unused()) {
    if (phase_ != Ending::ended) phase_ = Ending::files;
    return;
  }
  FilePages& blocks = metadata_->pages();
  const bool dirty = !read_only_ && blocks.has_dirty();
  switch (phase_) {
    case Ending::files:
    case Ending::mark:
      if (dirty) {
        (void)blocks.start_writes(0, runs_at_once);
        return;
      }
      phase_ = phase_ == Ending::files ? Ending::flushed_files : Ending::flushed_mark;
      flush_.start(disk_.device());
      return;
    case Ending::flushed_files:
      if (!read_only_ && !std::exchange(marked_clean_, true)) (void)mark_clean(nullptr);
      phase_ = Ending::mark;
      return;
    case Ending::flushed_mark: give_back_disk(); return;
    case Ending::ended: return;
  }
}

void Ext2FileSystem::give_back_disk() {
  phase_ = Ending::ended;
  disk_.pages().forget_clean();
  metadata_->give_back_disk();
}

void shut_down_detached(void (*poll)()) {
  for (Ref<Ext2FileSystem> at = next_file_system(nullptr, nullptr); at; at = next_file_system(at.get(), nullptr)) {
    if (at->is_detached()) at->shut_down(poll);
  }
}

bool mark_all_in_order() {
  bool any = false;
  for (Ref<Ext2FileSystem> at = next_file_system(nullptr, nullptr); at; at = next_file_system(at.get(), nullptr)) {
    any |= at->mark_in_order();
  }
  return any;
}

}  // namespace corral::fs::ext2
