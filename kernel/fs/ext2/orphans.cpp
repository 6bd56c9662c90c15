// Giving back the blocks of files that have no names and are used by nobody, and leaving a file system in good order when it is
// unmounted or the machine is switched off. See file_system.h.
#include "device/clock.h"
#include "fs/cache/write_back.h"
#include "fs/ext2/file_system.h"
#include "fs/step_memory.h"
#include "fs/watch/notices.h"
#include "task/thread.h"

namespace corral::fs::ext2 {

namespace {
constexpr Duration soon = milliseconds(2);
constexpr u32 pieces_at_once = 32;  // in one look of the timer

Result<void> unused(Users users) {
  if (users == Users::none) return {};
  return users == Users::kernel ? Errno::eagain : Errno::ebusy;
}
}  // namespace

bool Ext2FileSystem::begin_work() {
  if ((orphans_.empty() && !is_unused()) || std::exchange(working_, true)) return false;
  retain();
  return true;
}

void Ext2FileSystem::start_worker() {
  this_core().timers().add(worker_, clock::now() + soon);
  this_core().rearm_timer();
}

Result<bool> Ext2FileSystem::work_on_orphan(Waiter* waiter) {
  const i64 now = wall_time_ns();
  Orphan* done = nullptr;
  {
    LockGuard guard{lock_};
    Orphan* orphan = orphans_.front();
    if (orphan == nullptr) return false;
    const Result<bool> released = volume(waiter).release(orphan->number, now);
    if (released.ok() && !released.value()) return true;
    if (!released.ok()) {
      const Errno error = released.error();
      if (error == Errno::blocked || error == Errno::eagain || error == Errno::enomem) return error;
      (void)volume_.damaged("a removed file's blocks cannot be given back", orphan->number);
    }
    IntrusiveList<Orphan, &Orphan::link>::remove(*orphan);
    done = orphan;
  }
  delete done;
  return true;
}

void Ext2FileSystem::work(TimerEvent& event) {
  Ext2FileSystem& file_system = static_cast<Worker&>(event).file_system;
  for (u32 i = 0; i < pieces_at_once; ++i) {
    const Result<bool> worked = file_system.work_on_orphan(nullptr);
    if (!worked.ok() || !worked.value()) break;
  }
  file_system.work_on_end();
  {
    LockGuard guard{file_system.lock_};
    const bool flushes = file_system.flush_.busy();
    file_system.working_ = !file_system.orphans_.empty() || file_system.is_unused() || flushes;
    if (file_system.working_) {
      this_core().timers().add(event, clock::now() + soon);
      return;
    }
  }
  file_system.drop();
}

Result<bool> Ext2FileSystem::give_back(Waiter* waiter) {
  write_back::drop_abandoned();
  bool any = false;
  while (TRY(work_on_orphan(waiter))) any = true;
  if (any) return true;
  // Removed files may be on their way to the disk still.
  Ref<Node> node = next_node(0);
  for (; node; node = next_node(node->number)) {
    if (!node->is_removed()) continue;
    if (waiter == nullptr) return Errno::eagain;
    TRY(node->settle(*waiter));
  }
  return false;
}

Result<void> Ext2FileSystem::finish_shortenings(Waiter& waiter) {
  for (u32 after = 0;;) {
    const Ref<Node> node = next_node(after);
    if (!node) return {};
    for (;;) {
      LockGuard guard{lock_};
      if (TRY(node->finish_shortening(&waiter))) break;
    }
    after = node->number;
  }
}

Users Ext2FileSystem::users_of_files() {
  const u64 ended = passing.ended();
  u64 references = 0;
  u64 known = 2 + watches.count;  // root_, and the root that the caller has
  bool some_end = false, some_are_removed = false;
  for (const Node* node = nodes_.first(); node != nullptr; node = nodes_.next(*node)) {
    const u64 of_this = node->references();
    some_end |= of_this == 0;
    some_are_removed |= of_this != 0 && node->is_removed();  // its blocks are given back when it ends
    references += of_this;
    known += node->place.directory() ? 1 : 0;
  }
  const u64 kernels = passing.begun() - ended;
  if (references > known + kernels || (some_are_removed && kernels == 0)) return Users::programs;
  return some_end || some_are_removed || references != known ? Users::kernel : Users::none;
}

Result<void> Ext2FileSystem::prepare_unmount(UnmountProgress& progress, bool lazy) {
  if (read_only_) return {};
  Thread& thread = stepping_thread();
  // The mark that all is in order follows when everything else is on the disk.
  enum : u64 { files, own_blocks, mark, marked_blocks, device };
  if (progress.phase == files) {
    TRY(finish_shortenings(thread));
    forget_recent();
    TRY(write_back::flush_all(progress.files, thread, this));
    write_back::drop_clean(*this);
    (void)TRY(give_back(&thread));
    LockGuard watching{notices::lock()};
    LockGuard guard{lock_};
    if (!lazy) TRY(unused(users_of_files()));
    progress.phase = own_blocks;
  }
  if (progress.phase == own_blocks) {
    TRY(metadata_->pages().flush(progress.own_blocks, thread));
    progress.own_blocks = 0;
    progress.phase = mark;
  }
  TRY(disk_.flush());  // once: its outcome is remembered for further runs of the step
  if (progress.phase == mark) {
    LockGuard watching{notices::lock()};
    LockGuard guard{lock_};
    const Users users = users_of_files();
    if (lazy && users != Users::none) return {};
    TRY(unused(users));
    TRY(mark_clean(&thread));
    marked_clean_ = true;
    progress.phase = marked_blocks;
  }
  if (progress.phase == marked_blocks) {
    TRY(metadata_->pages().flush(progress.own_blocks, thread));
    progress.phase = device;
  }
  return disk_.flush();
}

Users Ext2FileSystem::users() {
  constexpr u32 own = 2;  // the table of mounts', the caller's; each node has one more
  forget_recent();
  if (!read_only_) write_back::drop_clean(*this);
  LockGuard watching{notices::lock()};
  LockGuard guard{lock_};
  const u64 expected = own + node_count_ + (working_ ? 1 : 0);
  const bool dirty = !read_only_ && (metadata_->pages().has_dirty() || !orphans_.empty());
  Users users = root_ ? users_of_files() : Users::programs;
  // A node that is no more among them, or who is about to let go of the file system; or somebody has changed a file meanwhile.
  if (users == Users::none && (references() != expected || dirty)) users = Users::kernel;
  if (users == Users::none) return users;
  if (!read_only_ && std::exchange(marked_clean_, false)) (void)volume(nullptr).mark(false, wall_time_ns());
  return users;
}

void Ext2FileSystem::shut_down(void (*poll)()) {
  constexpr Duration patience = seconds(10);
  if (read_only_) return;
  const Instant end = clock::now() + patience;
  // Files that were open when the machine stopped are given back as well, and who was making one shorter does not go on.
  for (u32 after = 0;;) {
    const Ref<Node> node = next_node(after);
    if (!node) break;
    after = node->number;
    for (bool done = false; !done && clock::now() < end; poll()) {
      LockGuard guard{lock_};
      const Result<bool> finished =
          node->is_removed() ? volume(nullptr).release(node->number, wall_time_ns()) : node->finish_shortening(nullptr);
      done = finished.ok() ? finished.value() : finished.error() != Errno::eagain;
    }
  }
  bool worked = true;
  while (worked && clock::now() < end) {
    const Result<bool> outcome = work_on_orphan(nullptr);
    worked = outcome.ok() ? outcome.value() : outcome.error() == Errno::eagain;
    poll();
  }
}

Result<void> Ext2FileSystem::mark_clean(Waiter* waiter) {
  Volume& v = volume(waiter);
  if (metadata_->pages().errors().any()) (void)v.damaged("some of its own blocks could not be written", 0);
  return v.mark(true, wall_time_ns());
}

bool Ext2FileSystem::mark_in_order() {
  LockGuard guard{lock_};
  if (read_only_ || !orphans_.empty()) return false;
  for (const Node* node = nodes_.first(); node != nullptr; node = nodes_.next(*node)) {
    if (!node->is_whole()) return false;
  }
  if (std::exchange(marked_clean_, true)) return false;
  (void)mark_clean(nullptr);
  return true;
}

}  // namespace corral::fs::ext2
