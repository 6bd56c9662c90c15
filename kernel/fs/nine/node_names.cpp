// Directories of a 9P server: finding and listing names. See node.h.
#include "device/clock.h"
#include "fs/nine/file_system.h"
#include "fs/positioned_file.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::nine {

namespace {

// An open directory. Its lock is taken without any other; run() is called with it, as with names().
class NineDirectoryFile final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  ~NineDirectoryFile() override { node().server().clunk(fid_); }
  Result<u64> seek(i64 offset, Whence whence) override {
    const u64 target = TRY(seek_target(offset, whence, position_.load(Order::relaxed), 0));
    position_.store(target, Order::relaxed);
    if (target == 0) start_anew();
    return target;
  }
  void set_directory_position(u64 position) override { position_.store(position, Order::relaxed); }
  Result<void> list(Listing& listing) override;

 private:
  [[nodiscard]] DirectoryNode& node() const { return static_cast<DirectoryNode&>(inode()); }
  void start_anew();
  // Gives the names behind `position` that the last answer had. False: it says nothing about that position.
  bool give(u64 position, Listing& listing) REQUIRES(lock_);

  Atomic<u64> position_{0};
  SpinLock lock_{Rank::file_names, "9P listing"};
  u32 fid_ GUARDED_BY(lock_) = no_fid;
  Ref<ListTalk> asking_ GUARDED_BY(lock_);
  Ref<ListTalk> last_ GUARDED_BY(lock_);
};

void NineDirectoryFile::start_anew() {
  Ref<ListTalk> gone;
  LockGuard guard{lock_};
  std::swap(gone, last_);
}

bool NineDirectoryFile::give(u64 position, Listing& listing) {
  if (!last_) return false;
  Decoder names = last_->names();
  bool reached = last_->position == position;
  const bool at_start = reached;
  bool any = false;
  DirectoryName name;
  while (next_name(names, name)) {
    if (reached) {
      any = true;
      if (!listing.add(name.name, name.qid.path, static_cast<FileType>(name.type), name.next)) return true;
    }
    if (name.next == position) reached = true;
  }
  return any || at_start;  // an answer without names is the end
}

Result<void> NineDirectoryFile::list(Listing& listing) {
  Ref<ListTalk> done, before;
  const u64 position = position_.load(Order::relaxed);
  const FidHold directory{node()};
  LockGuard guard{lock_};
  if (give(position, listing)) return {};
  if (!asking_) {
    asking_ = Ref<ListTalk>::adopt(TRY(memory::make<ListTalk>(node().server(), directory.fid(), fid_, position)));
  }
  const Result<void> answered = asking_->run(stepping_thread());
  if (!answered.ok() && answered.error() == Errno::blocked) return Errno::blocked;
  std::swap(done, asking_);
  if (!answered.ok()) return answered.error();
  fid_ = done->fid;
  before = last_;
  last_ = done;
  (void)give(position, listing);  // another position: another thread has moved it, and the next call asks again
  return {};
}

}  // namespace

DirectoryNode::~DirectoryNode() {
  while (Name* name = names_.first()) {
    names_.remove(*name);
    name->~Name();
    memory::release(name);
  }
}

Result<Ref<OpenFile>> DirectoryNode::open(const OpenRequest& request) {
  return Ref<OpenFile>{
      Ref<NineDirectoryFile>::adopt(TRY(memory::make<NineDirectoryFile>(Ref<Inode>::share(*this), request.flags)))};
}

DirectoryNode::Name* DirectoryNode::find(std::string_view name) const {
  Name* found = names_.first_where([&](const Name& n) { return n.name() >= name; });
  return found != nullptr && found->name() == name ? found : nullptr;
}

DirectoryNode::Name* DirectoryNode::obtain(std::string_view name) {
  if (Name* found = find(name)) return found;
  void* storage = memory::allocate(sizeof(Name) + name.size());
  if (storage == nullptr) return nullptr;
  auto* made = ::new (storage) Name{};
  made->size = static_cast<u16>(name.size());
  memcpy(made->text, name.data(), name.size());
  names_.insert(*made);
  ++name_count_;
  return made;
}

void DirectoryNode::remove(Name& name, Leftovers& leftovers) {
  names_.remove(name);
  --name_count_;
  leftovers.add(Ref<Operation>{name.asking});
  name.~Name();
  memory::release(&name);
}

void DirectoryNode::forget_names(Leftovers& leftovers) {
  for (Name* name = names_.first(); name != nullptr;) {
    Name* next = names_.next(*name);
    if (!name->asking) remove(*name, leftovers);
    name = next;
  }
}

void DirectoryNode::forget_name(std::string_view name, Leftovers& leftovers) {
  Name* found = find(name);
  if (found == nullptr) return;
  if (found->asking) {
    found->checked = {};  // its answer may be older than what is known now: asked once more
    found->exists = false;
    return;
  }
  remove(*found, leftovers);
}

void DirectoryNode::set_name(std::string_view name, Node* file, Leftovers& leftovers) {
  if (name_count_ > most_names) forget_names(leftovers);
  Name* entry = obtain(name);
  if (entry == nullptr) return;
  entry->exists = file != nullptr;
  entry->file = file != nullptr ? file->path : 0;
  entry->checked = clock::now();
}

Ref<Node> DirectoryNode::known_file(std::string_view name) {
  nine().names().assert_held();
  const Name* entry = find(name);
  return entry != nullptr && entry->exists ? nine().file_with(entry->file) : Ref<Node>{};
}

Result<Ref<Inode>> DirectoryNode::lookup(std::string_view name) {
  Thread& thread = stepping_thread();
  const StepMemory* memory = StepMemory::find(thread);
  Leftovers leftovers{server()};
  Leftovers others{server()};
  LockGuard guard{nine().names()};
  Name* entry = find(name);
  if (entry != nullptr && !entry->asking) {
    const bool fresh =
        clock::now() < entry->checked + NineFileSystem::validity || (memory != nullptr && entry->checked >= memory->since);
    if (fresh && !entry->exists) return Errno::enoent;
    Ref<Node> file = fresh ? nine().file_with(entry->file) : Ref<Node>{};
    if (file && !file->name_lost) {
      nine().touch(*file, leftovers);
      return Ref<Inode>{file};
    }
  }
  if (entry == nullptr) {
    if (name_count_ > most_names) forget_names(others);
    entry = obtain(name);
  }
  if (entry == nullptr) return Errno::enomem;
  (void)TRY(StepMemory::of(thread));  // when it begins to wait
  if (!entry->asking) {
    Result<LookupTalk*> made = memory::make<LookupTalk>(server(), fid, entry->name());
    if (!made.ok()) return made.error();
    entry->asking = Ref<LookupTalk>::adopt(made.value());
  }
  const Result<void> answered = entry->asking->run(thread);
  if (!answered.ok() && answered.error() == Errno::blocked) return Errno::blocked;
  Ref<LookupTalk> talk;
  std::swap(talk, entry->asking);
  leftovers.add(Ref<Operation>{talk});
  entry->checked = clock::now();
  entry->exists = answered.ok();
  if (!answered.ok()) {
    const Errno error = answered.error();
    if (error != Errno::enoent) remove(*entry, others);
    return error;
  }
  entry->file = talk->attributes.qid.path;
  Result<Ref<Node>> file = nine().adopt(talk->attributes, talk->asked, talk->fid, this, name, leftovers);
  if (!file.ok()) return file.error();
  return Ref<Inode>{file.take()};
}

}  // namespace corral::fs::nine
