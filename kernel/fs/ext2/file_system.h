// An ext2 file system on a disk, mounted.
//
// lock_ (rank file_names) protects the volume, names and places of files, and which nodes there are. It is held for one operation of
// the volume, never across a wait: an operation that misses a block answers blocked with nothing changed, and the step calls it
// again. Nothing that may end a node is done with it: what is to be let go of is collected in a Leftovers, declared before the guard.
//
// Owners: a node belongs to whoever has references; the latest used ones to recent_ too. Files without names, once nobody uses them, are
// orphans: their blocks are given back piece by piece, by a timer, and by whoever finds the disk full. One that is unmounted while it is in
// use is detached (detached.cpp).
// Context: steps, and the timer's interrupt.
#pragma once

#include "core/core.h"
#include "fs/device_flush.h"
#include "fs/disk.h"
#include "fs/ext2/metadata.h"
#include "fs/ext2/node.h"

namespace corral::fs::ext2 {

// References to be let go of when no lock is held.
class Leftovers {
 public:
  void add(Ref<Inode> file) {
    if (file) files_[count_++] = static_cast<Ref<Inode>&&>(file);
  }

 private:
  static constexpr u32 most = 8;
  Ref<Inode> files_[most];
  u32 count_ = 0;
};

class Ext2FileSystem final : public FileSystem {
 public:
  Ext2FileSystem(Disk& disk, const Geometry& geometry, Ref<Metadata> metadata, bool read_only);
  ~Ext2FileSystem() override;
  [[nodiscard]] const char* type() const override { return "ext2"; }
  // Null when it is not mounted any more.
  [[nodiscard]] Ref<Inode> root() override EXCLUDES(lock_);
  [[nodiscard]] FileSystemStatistics statistics() override EXCLUDES(lock_);
  Result<void> refresh_statistics() override EXCLUDES(lock_);
  [[nodiscard]] bool in_memory() const override { return false; }
  [[nodiscard]] bool read_only() const override { return read_only_ || FileSystem::read_only(); }
  Result<void> sync(u64& progress) override;
  [[nodiscard]] WriteErrors* own_errors() override { return &metadata_->pages().errors(); }
  Result<void> prepare_unmount(UnmountProgress& progress, bool lazy) override EXCLUDES(lock_);
  [[nodiscard]] Users users() override EXCLUDES(lock_);
  void dismantle() override EXCLUDES(lock_);
  void shut_down(void (*poll)()) override EXCLUDES(lock_);
  // Everything is on the disk, no thread runs any more: the mark that all is in order can follow. False: there is none.
  bool mark_in_order() EXCLUDES(lock_);

  // The one that was detached from the disk and is still in use; it is the caller's to start() and to mount. ebusy: there is none, or it
  // differs in whether it may be written.
  static Result<Ref<Ext2FileSystem>> detached_from(Disk& disk, bool read_only);
  [[nodiscard]] bool is_detached() EXCLUDES(lock_) {
    LockGuard guard{lock_};
    return detached_;
  }
  // Before it is mounted, until it does not answer blocked. euclean, einval, enomem.
  Result<void> start(Waiter& waiter) EXCLUDES(lock_);

  [[nodiscard]] SpinLock& lock() RETURN_CAPABILITY(lock_) { return lock_; }
  [[nodiscard]] Disk& disk() { return disk_; }
  [[nodiscard]] Metadata& metadata() { return *metadata_; }
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  // The volume, for one operation in which `waiter` (null: nobody) waits for blocks.
  [[nodiscard]] Volume& volume(Waiter* waiter) REQUIRES(lock_) {
    metadata_->set_waiter(waiter);
    return volume_;
  }
  // Repeats an operation (which takes the lock itself) while it finds the disk full and something can be given back.
  template <class Operation>
  auto with_room(Waiter* waiter, Operation&& operation) -> decltype(operation()) {
    for (;;) {
      auto outcome = operation();
      if (outcome.ok() || outcome.error() != Errno::enospc) return outcome;
      if (!TRY(give_back(waiter))) return Errno::enospc;
    }
  }

  // The node with this number, known already or made now. `parent` null: the root. blocked, euclean, enomem.
  Result<Ref<Node>> node(u32 number, Node* parent, std::string_view name, Waiter* waiter, Leftovers& leftovers) REQUIRES(lock_);
  // Its last name is gone: it is not kept for later.
  void note_removed(Node& node, Leftovers& leftovers) REQUIRES(lock_);
  void forget(Node& node) REQUIRES(lock_);  // its last reference has gone
  // A node has ended whose file has no names: in the section in which it is forgotten, for somebody has to know of it.
  void add_orphan(Orphan& orphan) REQUIRES(lock_) { orphans_.push_back(orphan); }
  // Detached, and no file of it is left, so that it is to be ended.
  [[nodiscard]] bool is_unused() const REQUIRES(lock_);
  // Gives the disk back at once when it is unused and all is on the disk already, so that it can be mounted otherwise without waiting.
  void end_if_clean() REQUIRES(lock_);
  // There is something for the worker to do, and it has not begun: then the caller starts it, when the lock is free. The caller holds a
  // reference to the file system.
  [[nodiscard]] bool begin_work() REQUIRES(lock_);
  void start_worker() EXCLUDES(lock_);

  ListLink link;  // of all; guarded by the lock of their list (detached.cpp)

 private:
  struct Worker : TimerEvent {
    explicit Worker(Ext2FileSystem& owner) : TimerEvent{work}, file_system{owner} {}
    Ext2FileSystem& file_system;
  };
  static void work(TimerEvent& event);
  // What a detached one whose files are not in use any more has come to.
  enum class Ending : u8 { files, flushed_files, mark, flushed_mark, ended };
  void enlist();
  void delist();
  void work_on_end() EXCLUDES(lock_);
  void give_back_disk() REQUIRES(lock_);
  // Volume::mark(true), unless something of the file system's own could not be written.
  Result<void> mark_clean(Waiter* waiter) REQUIRES(lock_);
  // Who besides the one who unmounts it, and has its root, keeps a file of it: watches do not count, nor files below a directory.
  // notices::lock() is held.
  [[nodiscard]] Users users_of_files() REQUIRES(lock_);
  void touch(Node& node, Leftovers& leftovers) REQUIRES(lock_);
  [[nodiscard]] Node* find(u32 number) const REQUIRES(lock_);
  void forget_recent() EXCLUDES(lock_);
  // Gives back the blocks of one orphan, or some of them. False: there is none. blocked, eagain.
  Result<bool> work_on_orphan(Waiter* waiter) EXCLUDES(lock_);
  // Gives back all orphans. False: there were none.
  Result<bool> give_back(Waiter* waiter) EXCLUDES(lock_);
  Result<void> finish_shortenings(Waiter& waiter) EXCLUDES(lock_);
  // The first node with a higher number that has a reference to give; null.
  Ref<Node> next_node(u32 after) EXCLUDES(lock_);

  Disk& disk_;
  const Geometry geometry_;
  const bool read_only_;
  const Ref<Metadata> metadata_;
  SpinLock lock_{Rank::file_names, "ext2"};
  Volume volume_ GUARDED_BY(lock_);
  Ref<Inode> root_ GUARDED_BY(lock_);  // set before it is mounted; taken away by dismantle()
  Block superblock_;  // kept in memory; set by start()
  RedBlackTree<Node, &Node::by_number, Node::Before> nodes_ GUARDED_BY(lock_);
  u64 node_count_ GUARDED_BY(lock_) = 0;
  RecentFiles<Node, &Node::recent> recent_ GUARDED_BY(lock_);
  IntrusiveList<Orphan, &Orphan::link> orphans_ GUARDED_BY(lock_);
  bool marked_clean_ GUARDED_BY(lock_) = true;  // the superblock says that nobody writes
  bool working_ GUARDED_BY(lock_) = false;  // the timer is set, and holds a reference
  bool detached_ GUARDED_BY(lock_) = false;  // not mounted any more
  Ending phase_ GUARDED_BY(lock_) = Ending::files;
  DeviceFlush flush_;  // started with lock_, by the worker, who comes again, and so keeps the file system, until it is not busy
  Worker worker_{*this};
};

// Those that are not mounted any more, as FileSystem::shut_down.
void shut_down_detached(void (*poll)());
// Ext2FileSystem::mark_in_order for all. False: for none.
bool mark_all_in_order();

// Mounts what is on the disk. blocked (a step); ebusy: it is mounted; einval: there is no ext2 that Corral can use; euclean, eio, enomem;
// eacces: it can only be read, and `read_only` is not set.
Result<Ref<FileSystem>> mount(Thread& thread, Disk& disk, bool read_only);

}  // namespace corral::fs::ext2
