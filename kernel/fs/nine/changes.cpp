// What changes files and names of a 9P server. Each change is an Operation that the step which asked for it keeps
// (fs/step_memory.h), so the server is asked once, and the step that asked gets the answer.
#include <optional>

#include "device/clock.h"
#include "fs/nine/file_system.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::nine {

namespace {

constexpr u32 rename_noreplace = 1;
constexpr u32 longest_request = path_max + 1024;

// A name that stays.
class KeptName {
 public:
  explicit KeptName(std::string_view text) : size_{text.size()} { memcpy(text_, text.data(), text.size()); }
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }

 private:
  u64 size_;
  char text_[name_max];
};

// ---- attributes ------------------------------------------------------------------------------------------------------

class AttributesChange final : public Conversation {
 public:
  AttributesChange(Node& node, const AttributeChange& change, bool resizes, u64 size)
      : Conversation{node.server()}, node_{Ref<Node>::share(node)}, change_{change}, resizes_{resizes}, size_{size} {
    hold_.emplace(node);
    LockGuard guard{node.nine().names()};
    ++node.changing;
  }
  ~AttributesChange() override { finish(); }
  // From now on until the server has answered. Of a file that is resized.
  void hold_writes() {
    holds_ = true;
    file().pages().hold_writes();
  }
  // It becomes longer here when the server has agreed to that, unless it has been cut meanwhile: the server is told of that cut later.
  void grow_later() {
    grows_ = true;
    cuts_ = file().pages().cuts();
  }

 private:
  Result<void> talk(Waiter& waiter) override;
  Result<void> ask_server(Waiter& waiter);
  // The server has answered, or is not waited for any more. The step that asked may go on for long, and wait for the file's pages.
  void finish() {
    if (!std::exchange(under_way_, false)) return;
    if (holds_) file().pages().resume_writes();
    hold_.reset();
    LockGuard guard{node_->nine().names()};
    --node_->changing;
  }
  FileNode& file() { return static_cast<FileNode&>(*node_); }
  Ref<Node> node_;
  const AttributeChange change_;
  const bool resizes_;
  const u64 size_;
  std::optional<FidHold> hold_;
  bool under_way_ = true, holds_ = false, grows_ = false;
  u64 cuts_ = 0;
};

Result<void> AttributesChange::talk(Waiter& waiter) {
  Result<void> answered = ask_server(waiter);
  if (answered.ok() || answered.error() != Errno::blocked) finish();
  return answered;
}

Result<void> AttributesChange::ask_server(Waiter& waiter) {
  constexpr u32 mode = 1, user = 2, group = 4, size = 8, accessed = 0x10, modified = 0x20, set_accessed = 0x80,
                set_modified = 0x100;
  constexpr i64 second = 1'000'000'000;
  (void)TRY(ask(waiter, Type::setattr, [&](Encoder& to) {
    to.word32(hold_->fid());
    to.word32((change_.set_permissions ? mode : 0) | (change_.set_user ? user : 0) | (change_.set_group ? group : 0) |
              (resizes_ ? size : 0) | (change_.set_accessed ? accessed | set_accessed : 0) |
              (change_.set_modified ? modified | set_modified : 0));
    to.word32(change_.permissions);
    to.word32(change_.user);
    to.word32(change_.group);
    to.word64(size_);
    to.word64(static_cast<u64>(change_.accessed_ns / second));
    to.word64(static_cast<u64>(change_.accessed_ns % second));
    to.word64(static_cast<u64>(change_.modified_ns / second));
    to.word64(static_cast<u64>(change_.modified_ns % second));
  }));
  if (grows_) file().pages().grow(size_, cuts_);
  LockGuard guard{node_->nine().names()};
  node_->changed = clock::now();
  Attributes& known = node_->known;
  if (change_.set_permissions) known.permissions = change_.permissions;
  if (change_.set_user) known.user = change_.user;
  if (change_.set_group) known.group = change_.group;
  if (change_.set_accessed) known.accessed_ns = change_.accessed_ns;
  known.changed_ns = wall_time_ns();
  if (resizes_) known.modified_ns = known.changed_ns;
  if (change_.set_modified) known.modified_ns = change_.modified_ns;
  return {};
}

// ---- names -----------------------------------------------------------------------------------------------------------

class CreateChange final : public Conversation {
 public:
  CreateChange(DirectoryNode& directory, std::string_view name, const Creation& creation)
      : Conversation{directory.server()},
        directory_{Ref<DirectoryNode>::share(directory)},
        directory_fid_{directory},
        name_{name},
        creation_{creation},
        opened_{server_.new_fid()},
        fid_{server_.new_fid()} {}

 private:
  Result<void> talk(Waiter& waiter) override;
  Result<void> create(Waiter& waiter);
  Ref<DirectoryNode> directory_;
  const FidHold directory_fid_;
  const KeptName name_;
  const Creation creation_;  // its target is used in the first run only
  const u32 opened_, fid_;
  const Instant asked_ = clock::now();
};

Result<void> CreateChange::create(Waiter& waiter) {
  const u32 mode = mode_of(creation_.type) | creation_.permissions;
  switch (creation_.type) {
    case FileType::regular: {
      (void)TRY(ask(waiter, Type::walk, [&](Encoder& to) {
        to.word32(directory_fid_.fid());
        to.word32(opened_);
        to.word16(0);
      }));
      const Result<Decoder> created = ask(waiter, Type::lcreate, [&](Encoder& to) {
        to.word32(opened_);
        to.text(name_.text());
        to.word32(o_rdwr | o_creat | o_excl);
        to.word32(mode);
        to.word32(0);
      });
      if (created.ok()) return {};
      if (created.error() != Errno::blocked) server_.clunk(opened_);
      return created.error();
    }
    case FileType::directory:
      (void)TRY(ask(waiter, Type::mkdir, [&](Encoder& to) {
        to.word32(directory_fid_.fid());
        to.text(name_.text());
        to.word32(mode);
        to.word32(0);
      }));
      return {};
    case FileType::symlink:
      (void)TRY(ask(
          waiter, Type::symlink,
          [&](Encoder& to) {
            to.word32(directory_fid_.fid());
            to.text(name_.text());
            to.text(creation_.target);
            to.word32(0);
          },
          512, longest_request));
      return {};
    default:
      (void)TRY(ask(waiter, Type::mknod, [&](Encoder& to) {
        to.word32(directory_fid_.fid());
        to.text(name_.text());
        to.word32(mode);
        to.word32(creation_.special.major);
        to.word32(creation_.special.minor);
        to.word32(0);
      }));
      return {};
  }
}

Result<void> CreateChange::talk(Waiter& waiter) {
  TRY(create(waiter));
  (void)TRY(ask(waiter, Type::walk, [&](Encoder& to) {
    to.word32(directory_fid_.fid());
    to.word32(fid_);
    to.word16(1);
    to.text(name_.text());
  }));
  Decoder answer = TRY(ask(waiter, Type::getattr, [&](Encoder& to) {
    to.word32(fid_);
    to.word64(attribute_mask);
  }));
  const FileAttributes attributes = read_attributes(answer);
  if (answer.bad()) return Errno::eio;
  NineFileSystem& nine = directory_->nine();
  Leftovers leftovers{server_};
  LockGuard guard{nine.names()};
  Ref<Node> node = TRY(nine.adopt(attributes, asked_, fid_, directory_.get(), name_.text(), leftovers));
  if (node->type() == FileType::regular && creation_.type == FileType::regular) {
    static_cast<FileNode&>(*node).set_write_fid(opened_);
  }
  directory_->set_name(name_.text(), node.get(), leftovers);
  directory_->known.modified_ns = directory_->known.changed_ns = wall_time_ns();
  if (creation_.type == FileType::directory) ++directory_->known.links;
  made = node;
  return {};
}

class LinkChange final : public Conversation {
 public:
  LinkChange(DirectoryNode& directory, std::string_view name, Node& file)
      : Conversation{directory.server()},
        directory_{Ref<DirectoryNode>::share(directory)},
        directory_fid_{directory},
        name_{name},
        file_{Ref<Node>::share(file)},
        file_fid_{file} {}

 private:
  Result<void> talk(Waiter& waiter) override {
    (void)TRY(ask(waiter, Type::link, [&](Encoder& to) {
      to.word32(directory_fid_.fid());
      to.word32(file_fid_.fid());
      to.text(name_.text());
    }));
    Leftovers leftovers{server_};
    LockGuard guard{directory_->nine().names()};
    directory_->forget_name(name_.text(), leftovers);
    directory_->known.modified_ns = file_->known.changed_ns = wall_time_ns();
    ++file_->known.links;
    return {};
  }
  Ref<DirectoryNode> directory_;
  const FidHold directory_fid_;
  const KeptName name_;
  Ref<Node> file_;
  const FidHold file_fid_;
};

// With names() held: a name of it is gone.
void lose_name(Node& file) {
  if (file.known.links > 0) --file.known.links;
  file.changed = clock::now();
  file.name_lost = true;
}

class UnlinkChange final : public Conversation {
 public:
  UnlinkChange(DirectoryNode& directory, std::string_view name, bool is_directory)
      : Conversation{directory.server()},
        directory_{Ref<DirectoryNode>::share(directory)},
        directory_fid_{directory},
        name_{name},
        is_directory_{is_directory} {}

 private:
  Result<void> talk(Waiter& waiter) override {
    (void)TRY(ask(waiter, Type::unlinkat, [&](Encoder& to) {
      to.word32(directory_fid_.fid());
      to.text(name_.text());
      to.word32(is_directory_ ? at_removedir : 0);
    }));
    Ref<Node> file;
    Leftovers leftovers{server_};
    LockGuard guard{directory_->nine().names()};
    file = directory_->known_file(name_.text());
    if (file) {
      if (file->place.is(*directory_, name_.text())) leftovers.add(file->place.leave());
      if (is_directory_) file->known.links = 0;
      lose_name(*file);
      file->known.changed_ns = wall_time_ns();
    }
    directory_->set_name(name_.text(), nullptr, leftovers);
    directory_->known.modified_ns = directory_->known.changed_ns = wall_time_ns();
    if (is_directory_ && directory_->known.links > 2) --directory_->known.links;
    return {};
  }
  Ref<DirectoryNode> directory_;
  const FidHold directory_fid_;
  const KeptName name_;
  const bool is_directory_;
};

class RenameChange final : public Conversation {
 public:
  RenameChange(DirectoryNode& from, std::string_view name, DirectoryNode& to, std::string_view new_name, u32 flags)
      : Conversation{from.server()},
        from_{Ref<DirectoryNode>::share(from)},
        to_{Ref<DirectoryNode>::share(to)},
        from_fid_{from},
        to_fid_{to},
        name_{name},
        new_name_{new_name},
        flags_{flags},
        probe_{server_.new_fid()} {}

 private:
  Result<void> talk(Waiter& waiter) override;
  Ref<DirectoryNode> from_, to_;
  const FidHold from_fid_, to_fid_;
  const KeptName name_, new_name_;
  const u32 flags_;
  const u32 probe_;
};

Result<void> RenameChange::talk(Waiter& waiter) {
  if ((flags_ & rename_noreplace) != 0) {  // the server always replaces
    const Result<Decoder> found = ask(waiter, Type::walk, [&](Encoder& to) {
      to.word32(to_fid_.fid());
      to.word32(probe_);
      to.word16(1);
      to.text(new_name_.text());
    });
    if (found.ok()) {
      server_.clunk(probe_);
      return Errno::eexist;
    }
    if (found.error() != Errno::enoent) return found.error();
  }
  (void)TRY(ask(waiter, Type::renameat, [&](Encoder& to) {
    to.word32(from_fid_.fid());
    to.text(name_.text());
    to.word32(to_fid_.fid());
    to.text(new_name_.text());
  }));
  Ref<Node> file, replaced;
  Leftovers leftovers{server_};
  LockGuard guard{from_->nine().names()};
  file = from_->known_file(name_.text());
  replaced = to_->known_file(new_name_.text());
  const i64 now = wall_time_ns();
  from_->known.modified_ns = to_->known.modified_ns = now;
  if (replaced && replaced.get() == file.get()) return {};  // two names of one file: both stay
  if (replaced) {
    leftovers.add(replaced->place.leave());
    lose_name(*replaced);
  }
  from_->set_name(name_.text(), nullptr, leftovers);
  to_->forget_name(new_name_.text(), leftovers);
  if (!file) return {};
  const std::string_view name = new_name_.text();
  NameCopy copy;
  const Result<void> copied = copy.make(name);
  leftovers.add(copied.ok() ? file->place.set(*to_, copy) : file->place.leave());
  if (!copied) return {};  // its path is not known; the next look-up finds it
  file->known.changed_ns = now;
  to_->set_name(name, file.get(), leftovers);
  return {};
}

class SyncChange final : public Conversation {
 public:
  SyncChange(FileNode& file, u32 fid) : Conversation{file.server()}, file_{Ref<FileNode>::share(file)}, fid_{fid} {}

 private:
  Result<void> talk(Waiter& waiter) override {
    (void)TRY(ask(waiter, Type::fsync, [&](Encoder& to) {
      to.word32(fid_);
      to.word32(0);
    }));
    return {};
  }
  Ref<FileNode> file_;
  const u32 fid_;
};

template <class T, class... Arguments>
Result<Ref<Operation>> operation(Arguments&&... arguments) {
  return Ref<Operation>{Ref<T>::adopt(TRY(memory::make<T>(std::forward<Arguments>(arguments)...)))};
}

bool fits(std::string_view name) {
  return name.size() <= name_max;
}

}  // namespace

Result<void> Node::change(const AttributeChange& wanted) {
  Thread& thread = stepping_thread();
  StepMemory& memory = *TRY(StepMemory::of(thread));
  if (type() == FileType::regular && (wanted.set_modified || wanted.set_accessed)) {
    // What is written later would change the time again.
    TRY(static_cast<FileNode&>(*this).pages().flush(memory.progress, thread));
  }
  (void)TRY(StepMemory::perform(thread, [&] { return operation<AttributesChange>(*this, wanted, false, u64{0}); }));
  return {};
}

Result<void> FileNode::resize(u64 size) {
  if (size >> 62 != 0) return Errno::efbig;
  Thread& thread = stepping_thread();
  (void)TRY(StepMemory::perform(thread, [&]() -> Result<Ref<Operation>> {
    // First: from now on nobody believes the server's old size.
    auto change = Ref<AttributesChange>::adopt(TRY(memory::make<AttributesChange>(*this, AttributeChange{}, true, size)));
    LockGuard ending{pages_.end_lock()};
    if (size < pages_.size()) {
      TRY(pages_.truncate(size, thread));
    } else {
      change->grow_later();
    }
    change->hold_writes();  // nobody can have put anything behind the new end yet
    return Ref<Operation>{change};
  }));
  return {};
}

Result<void> FileNode::sync(u64& progress) {
  constexpr u64 flushed = 100;
  Thread& thread = stepping_thread();
  if (progress != flushed) {
    TRY(pages_.flush(progress, thread));
    progress = flushed;
  }
  const u32 open = open_fid(false);
  if (open == no_fid) return {};
  (void)TRY(StepMemory::perform(thread, [&] { return operation<SyncChange>(*this, open); }));
  return {};
}

Result<Ref<Inode>> DirectoryNode::create(std::string_view name, const Creation& creation) {
  if (!fits(name)) return Errno::enametoolong;
  return StepMemory::perform(stepping_thread(), [&] { return operation<CreateChange>(*this, name, creation); });
}

Result<void> DirectoryNode::link(std::string_view name, Inode& file) {
  if (&file.file_system() != &file_system()) return Errno::exdev;
  if (file.is_directory()) return Errno::eperm;
  if (!fits(name)) return Errno::enametoolong;
  (void)TRY(
      StepMemory::perform(stepping_thread(), [&] { return operation<LinkChange>(*this, name, static_cast<Node&>(file)); }));
  return {};
}

Result<void> DirectoryNode::remove_name(std::string_view name, bool directory) {
  if (!fits(name)) return Errno::enametoolong;
  (void)TRY(StepMemory::perform(stepping_thread(), [&] { return operation<UnlinkChange>(*this, name, directory); }));
  return {};
}

Result<void> DirectoryNode::unlink(std::string_view name) {
  return remove_name(name, false);
}

Result<void> DirectoryNode::remove_directory(std::string_view name) {
  return remove_name(name, true);
}

Result<void> DirectoryNode::rename(std::string_view name, Inode& target, std::string_view new_name, u32 flags) {
  if (&target.file_system() != &file_system()) return Errno::exdev;
  if (!target.is_directory()) return Errno::enotdir;
  if (!fits(name) || !fits(new_name)) return Errno::enametoolong;
  if ((flags & ~rename_noreplace) != 0) return Errno::einval;  // the protocol has no exchange
  auto& to = static_cast<DirectoryNode&>(target);
  (void)TRY(StepMemory::perform(stepping_thread(), [&] { return operation<RenameChange>(*this, name, to, new_name, flags); }));
  return {};
}

}  // namespace corral::fs::nine
