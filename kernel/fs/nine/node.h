// Files of a 9P server. Node is what all have; FileNode adds data, DirectoryNode names.
// What is guarded by the file system's names() says so; the rest is constant or has locks of its own.
#pragma once

#include "fs/cache/file_pages.h"
#include "fs/nine/talks.h"
#include "fs/pipe.h"
#include "fs/place.h"
#include "fs/recent_files.h"
#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"

namespace corral::fs::nine {

class NineFileSystem;
class DirectoryNode;
class Leftovers;

[[nodiscard]] Attributes attributes_of(const FileAttributes& from, u64 device);

class Node : public Inode {
 public:
  Node(NineFileSystem& file_system, const FileAttributes& attributes, u32 fid);
  ~Node() override;
  // The right class for the type of file. enomem.
  static Result<Ref<Node>> make(NineFileSystem& file_system, const FileAttributes& attributes, u32 fid);

  [[nodiscard]] Attributes attributes() override;
  Result<void> change(const AttributeChange& change) override;
  Result<Ref<Inode>> parent() override;
  Result<std::string_view> name(std::span<char> to) override;
  Result<std::string_view> read_link(std::span<char> to) override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;

  [[nodiscard]] NineFileSystem& nine() const;
  [[nodiscard]] Server& server() const;

  // The server's attributes, for which it was asked then; true: the contents are not those that were known.
  virtual bool update(const FileAttributes& fresh, Instant asked);
  // Forgets clean pages; no lock held.
  virtual void forget_pages() {}
  virtual void note_attributes(Attributes& attributes) { (void)attributes; }  // adds what only it knows

  const u64 path;  // the server's number of the file
  TreeLink by_path;
  ListLink recent;
  struct Before {
    bool operator()(const Node& a, const Node& b) const { return a.path < b.path; }
  };

  // ---- guarded by names() ----
  u32 fid;
  Attributes known;
  Place place;
  u32 fid_holds = 0;
  u32 changing = 0;  // changes of its attributes that are under way
  Instant changed{};  // when the server answered the last one: what it was asked before that is not believed
  bool name_lost = false;  // one that it had: the server may remember that one with the fid, which leads nowhere then
  bool detached = false;  // it is in no table any more: its last reference goes

 private:
  Fifo fifo_;  // of fifos
  Ref<ReadLinkTalk> link_;  // of symbolic links; names()
};

// While somebody has one the node's fid stays what it is: requests with it may be made at any time. Without names().
class FidHold {
 public:
  explicit FidHold(Node& node);
  FidHold(const FidHold&) = delete;
  FidHold& operator=(const FidHold&) = delete;
  ~FidHold();
  [[nodiscard]] u32 fid() const { return node_->fid; }

 private:
  const Ref<Node> node_;
};

class FileNode final : public Node, private FilePages::Store {
 public:
  FileNode(NineFileSystem& file_system, const FileAttributes& attributes, u32 fid);
  ~FileNode() override;
  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end) override;
  Result<void> resize(u64 size) override;
  Result<void> sync(u64& progress) override;
  [[nodiscard]] WriteErrors* write_errors() override { return &pages_.errors(); }
  Result<Ref<vm::Backing>> backing() override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;
  bool update(const FileAttributes& fresh, Instant asked) override;
  void forget_pages() override { pages_.forget_clean(); }
  void note_attributes(Attributes& attributes) override;

  [[nodiscard]] FilePages& pages() { return pages_; }
  // A fid that reads, or writes too; no_fid: not open that way.
  [[nodiscard]] u32 open_fid(bool write) const;
  // blocked, or eagain without a waiter; errors of opening.
  Result<void> ensure_open(bool write, Waiter* waiter);
  void set_write_fid(u32 fid) { write_fid_.store(fid, Order::release); }  // a fresh file

 private:
  Result<Extent> find(u64 index, u64 count, Waiter* waiter) override;
  Result<PagePlace> reserve(u64 index, u32 from, u32 to, Waiter* waiter) override;
  PageRun* make_run() override;
  void start(PageRun& run) override;
  void note_written();

  FilePages pages_;
  Atomic<u32> read_fid_{no_fid}, write_fid_{no_fid};  // set with names() held
  bool written_ = false;  // here, since the server was last asked: its time has moved by that; names()
  Ref<OpenTalk> opening_[2];  // for reading, for writing; names()
};

class DirectoryNode final : public Node {
 public:
  DirectoryNode(NineFileSystem& file_system, const FileAttributes& attributes, u32 fid) : Node{file_system, attributes, fid} {}
  ~DirectoryNode() override;
  Result<Ref<Inode>> lookup(std::string_view name) override;
  Result<Ref<Inode>> create(std::string_view name, const Creation& creation) override;
  Result<void> link(std::string_view name, Inode& file) override;
  Result<void> unlink(std::string_view name) override;
  Result<void> remove_directory(std::string_view name) override;
  Result<void> rename(std::string_view name, Inode& target, std::string_view new_name, u32 flags) override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;

  // ---- with names() held ----
  // The name leads to this file, or (null) is known not to exist. Without memory it is just not known.
  void set_name(std::string_view name, Node* file, Leftovers& leftovers);
  // The file that the name is known to lead to, with a reference; null.
  [[nodiscard]] Ref<Node> known_file(std::string_view name);
  void forget_name(std::string_view name, Leftovers& leftovers);

 private:
  struct Name {
    TreeLink link;
    bool exists = false;
    u64 file = 0;  // the number of the file that it leads to, which need not be known any more
    Ref<LookupTalk> asking;
    Instant checked{};
    u16 size = 0;
    char text[1];  // as long as `size` says
    [[nodiscard]] std::string_view name() const { return {text, size}; }
  };
  struct NameBefore {
    bool operator()(const Name& a, const Name& b) const { return a.name() < b.name(); }
  };
  static constexpr u64 most_names = 4096;  // then those that nobody asks for are forgotten

  [[nodiscard]] Name* find(std::string_view name) const;
  [[nodiscard]] Name* obtain(std::string_view name);  // null: no memory
  void remove(Name& name, Leftovers& leftovers);
  void forget_names(Leftovers& leftovers);
  Result<void> remove_name(std::string_view name, bool directory);

  RedBlackTree<Name, &Name::link, NameBefore> names_;
  u64 name_count_ = 0;
};

}  // namespace corral::fs::nine
