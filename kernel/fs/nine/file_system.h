// A folder of the host as a file system: a 9P2000.L client (QEMU's -fsdev local with virtio-9p is the server).
//
// Files that were seen lately are kept, with their attributes and their names in their directories. What was asked of the server
// counts as right for a second (validity): so changes that the host makes are seen soon, and a step that is run again finds what it has
// asked for. Data is in the page cache (fs/cache/file_pages.h).
//
// names() (rank file_names) protects names, places, attributes and fids of all files. Nothing that may end a file is done with
// it: what is to be let go of is collected in a Leftovers, which is declared before the guard.
#pragma once

#include "fs/nine/node.h"

namespace corral::fs::nine {

// References and fids to be let go of when no lock is held.
class Leftovers {
 public:
  explicit Leftovers(Server& server) : server_{server} {}
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers();
  void add(Ref<Inode> file) {
    if (file) files_[count_++] = static_cast<Ref<Inode>&&>(file);
  }
  void add(Ref<Operation> talk) {
    if (talk) talk_ = static_cast<Ref<Operation>&&>(talk);
  }
  void add_fid(u32 fid) { fid_ = fid; }
  // A file that the server has changed: its clean pages are forgotten.
  void add_outdated(Node& node) { outdated_ = Ref<Node>::share(node); }

 private:
  Server& server_;
  Ref<Inode> files_[6];
  Ref<Node> outdated_;
  Ref<Operation> talk_;
  u32 count_ = 0;
  u32 fid_ = no_fid;
};

class NineFileSystem final : public FileSystem {
 public:
  static constexpr Duration validity = seconds(1);

  NineFileSystem(Server& server, u32 root_fid) : server_{server}, root_fid_{root_fid} {}
  ~NineFileSystem() override;
  [[nodiscard]] const char* type() const override { return "9p"; }
  [[nodiscard]] Ref<Inode> root() override;
  [[nodiscard]] FileSystemStatistics statistics() override EXCLUDES(names_);
  Result<void> refresh_statistics() override EXCLUDES(names_);
  Result<void> prepare_unmount(UnmountProgress& progress, bool lazy) override;
  void dismantle() override EXCLUDES(names_);
  [[nodiscard]] bool answers_later() const override { return true; }

  [[nodiscard]] Server& server() { return server_; }
  [[nodiscard]] SpinLock& names() RETURN_CAPABILITY(names_) { return names_; }

  // The file that has these attributes, known already or made now; it takes over `fid`. `asked`: when the server was asked for them, or
  // before. `parent` null: the root. enomem.
  Result<Ref<Node>> adopt(const FileAttributes& attributes, Instant asked, u32 fid, Node* parent, std::string_view name,
                          Leftovers& leftovers) REQUIRES(names_);
  void set_root(const Ref<Node>& root);  // before it is mounted
  // The file was used: it is among the last to be forgotten.
  void touch(Node& node, Leftovers& leftovers) REQUIRES(names_);
  void forget(Node& node) REQUIRES(names_);  // its last reference has gone
  // The file with this number, with a reference; null.
  [[nodiscard]] Ref<Node> file_with(u64 path) REQUIRES(names_);

 private:
  [[nodiscard]] Node* find(u64 path) const REQUIRES(names_);

  Server& server_;
  const u32 root_fid_;
  SpinLock names_{Rank::file_names, "9P names"};
  Ref<Inode> root_;  // set before it is mounted; taken away by dismantle()
  RedBlackTree<Node, &Node::by_path, Node::Before> nodes_ GUARDED_BY(names_);
  RecentFiles<Node, &Node::recent> recent_ GUARDED_BY(names_);
  FileSystemStatistics statistics_ GUARDED_BY(names_){};
  Instant statistics_at_ GUARDED_BY(names_){};
  Ref<StatisticsTalk> asking_ GUARDED_BY(names_);
};

// Attaches to the server with this mount tag. Answers blocked (a step), enodev, eio, enomem.
Result<Ref<FileSystem>> mount(Thread& thread, std::string_view tag);

}  // namespace corral::fs::nine
