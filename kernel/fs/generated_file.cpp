// Generated files and their directories. See generated_file.h.
#include "fs/generated_file.h"

#include <utility>

#include "core/core.h"
#include "fs/positioned_file.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/authority.h"
#include "task/executive.h"

namespace corral::fs {

namespace {

class GeneratedFileSystem final : public FileSystem {
 public:
  GeneratedFileSystem(const char* type, u64 magic) : type_{type}, magic_{magic} {}
  [[nodiscard]] const char* type() const override { return type_; }
  [[nodiscard]] Ref<Inode> root() override { return Ref<Inode>::share(*root_); }
  [[nodiscard]] FileSystemStatistics statistics() override { return {.magic = magic_}; }
  void set_root(Ref<Inode> root) { root_ = root.release(); }

 private:
  const char* type_;
  const u64 magic_;
  Inode* root_ = nullptr;  // a reference, for ever
};

// An open generated file: its text is made at the first read.
class GeneratedText final : public OpenFile {
 public:
  GeneratedText(Ref<Inode> inode, u32 flags, const Node& node, const Subject& subject)
      : OpenFile{static_cast<Ref<Inode>&&>(inode), flags}, node_{node}, subject_{subject} {
    if (node.version != nullptr) seen_.store(node.version(nullptr), Order::relaxed);
  }

  u32 poll(PollEntry* entry) override {
    if (!can_poll()) return OpenFile::poll(entry);
    const u64 version = node_.version(entry);
    const bool changed = seen_.exchange(version, Order::relaxed) != version;
    return poll_readable | (changed ? poll_err | poll_pri : 0);
  }
  void not_told(u32 bits) override {
    if ((bits & (poll_err | poll_pri)) != 0) seen_.store(no_version, Order::relaxed);
  }
  [[nodiscard]] bool can_poll() const override { return node_.version != nullptr; }

  Result<u64> read(Thread& thread, Transfer& transfer) override {
    u64 position = 0;
    {
      LockGuard guard{lock_};
      position = position_;
    }
    const u64 before = transfer.done();
    const u64 done = TRY(read_at(thread, position - before, transfer));
    LockGuard guard{lock_};
    position_ = position + (done - before);
    return done;
  }

  // `offset` is that of the whole transfer's beginning.
  Result<u64> read_at(Thread&, u64 offset, Transfer& transfer) override {
    TRY(make(offset + transfer.done() == 0));
    const u64 ready = TRY(transfer.prepare(transfer.left(), vm::Access::write));
    LockGuard guard{lock_};
    const std::string_view text = text_.text();
    const u64 place = offset + transfer.done();
    if (place >= text.size()) return transfer.done();
    const u64 size = smaller(ready, text.size() - place);
    TRY(transfer.put(0, text.data() + place, size));
    transfer.advance(size);
    return transfer.done();
  }

  Result<u64> write(Thread&, Transfer& transfer) override {
    constexpr u64 most = 256;
    char line[most];
    if (!node_.writable()) return Errno::eperm;
    if (transfer.size() > most) return Errno::einval;
    TRY(transfer.get(0, line, transfer.size()));
    TRY(store({line, transfer.size()}));
    transfer.advance(transfer.size());
    return transfer.done();
  }
  Result<u64> write_at(Thread& thread, u64, Transfer& transfer) override { return write(thread, transfer); }
  Result<void> resize(u64) override { return {}; }  // the shell truncates what it writes to

  Result<u64> seek(i64 offset, Whence whence) override {
    LockGuard guard{lock_};
    position_ = TRY(seek_target(offset, whence, position_, text_.text().size()));
    return position_;
  }

 private:
  Result<void> store(std::string_view text) {
    if (node_.store != nullptr) return node_.store(text, subject_);
    TextBuffer why;
    Result<void> outcome = node_.store_or_say(text, subject_, why);
    LockGuard guard{lock_};
    refused_ = !outcome.ok() && !why.text().empty();
    if (refused_) {
      text_ = static_cast<TextBuffer&&>(why);
      made_ = true;
      position_ = 0;
    }
    return outcome;
  }

  // Makes the text if there is none, or anew at the beginning of the file. Makers take locks of lower ranks than lock_.
  Result<void> make(bool anew) {
    {
      LockGuard guard{lock_};
      if (made_ && !anew) return {};
      if (std::exchange(refused_, false)) return {};  // the text is the reason
    }
    TextBuffer fresh;
    if (node_.text != nullptr) TRY(node_.text(fresh, subject_));
    if (!fresh.complete()) return Errno::enomem;
    LockGuard guard{lock_};
    text_ = static_cast<TextBuffer&&>(fresh);
    made_ = true;
    return {};
  }

  const Node& node_;
  const Subject subject_;
  SpinLock lock_{Rank::file, "generated text"};
  TextBuffer text_ GUARDED_BY(lock_);
  bool made_ GUARDED_BY(lock_) = false;
  bool refused_ GUARDED_BY(lock_) = false;  // text_ says why, and has not been read yet
  u64 position_ GUARDED_BY(lock_) = 0;
  static constexpr u64 no_version = ~u64{0};
  // The version that was there when it was opened or looked at last; no_version: what was seen is to be told.
  Atomic<u64> seen_{0};
};

std::string_view dynamic_name(const GeneratedDirectory& directory, i32 number, std::span<char> to) {
  if (directory.name_of != nullptr) return directory.name_of(number, to);
  return format_to(to, "{}{}", directory.prefix, number);
}

class GeneratedInode final : public Inode {
 public:
  GeneratedInode(FileSystem& file_system, const Node& node, const Subject& subject, Ref<Inode> parent, i32 dynamic)
      : Inode{file_system, node.type},
        node_{node},
        subject_{subject},
        parent_{static_cast<Ref<Inode>&&>(parent)},
        dynamic_{dynamic} {}

  [[nodiscard]] Attributes attributes() override {
    Attributes a;
    a.device = file_system().device();
    a.inode = number_of(node_, subject_);
    a.type = type();
    a.permissions = node_.permissions;
    a.links = is_directory() ? 2 : 1;
    if (subject_.process != 0) set_owner(a);
    a.accessed_ns = a.modified_ns = a.changed_ns = a.born_ns = wall_time_ns();
    return a;
  }

  Result<Ref<Inode>> parent() override {
    if (!parent_) return Ref<Inode>::share(*this);
    return parent_;
  }

  Result<std::string_view> name(std::span<char> to) override {
    if (!parent_) return Errno::enoent;
    if (dynamic_ < 0) return format_to(to, "{}", node_.name);
    return dynamic_name(*static_cast<GeneratedInode&>(*parent_).node_.directory, dynamic_, to);
  }

  [[nodiscard]] i32 process_number() const override {
    const bool in_root = parent_ && !static_cast<const GeneratedInode&>(*parent_).parent_;
    return in_root && is_directory() ? subject_.process : 0;
  }

  Result<Ref<Inode>> lookup(std::string_view name) override {
    if (!is_directory()) return Errno::enotdir;
    TRY(still_there());
    const GeneratedDirectory& directory = *node_.directory;
    for (const Node& node : directory.nodes) {
      if (name == node.name) return make(node, subject_, -1);
    }
    if (directory.lookup == nullptr) return Errno::enoent;
    const DynamicName found = TRY(directory.lookup(name, subject_));
    i32 dynamic = found.number;
    if (dynamic < 0) {
      dynamic = 0;
      for (char c : name) {
        if (c >= '0' && c <= '9') dynamic = dynamic * 10 + (c - '0');
      }
    }
    return make(*found.node, found.subject, dynamic);
  }

  Result<void> list(u64 position, Listing& listing) override {
    if (!is_directory()) return Errno::enotdir;
    TRY(still_there());
    const GeneratedDirectory& directory = *node_.directory;
    const u64 first_dynamic = 2 + directory.nodes.size();
    const u64 own = attributes().inode;
    if (position == 0) {
      if (!listing.add(".", own, FileType::directory, 1)) return {};
      position = 1;
    }
    if (position == 1) {
      if (!listing.add("..", parent_ ? parent_->attributes().inode : own, FileType::directory, 2)) return {};
      position = 2;
    }
    for (; position < first_dynamic; ++position) {
      const Node& node = directory.nodes[position - 2];
      if (!listing.add(node.name, number_of(node, subject_), node.type, position + 1)) return {};
    }
    if (directory.next == nullptr) return {};
    i32 number = static_cast<i32>(position - first_dynamic) - 1;
    while ((number = directory.next(number, subject_)) >= 0) {
      char name[32];
      const std::string_view text = dynamic_name(directory, number, name);
      if (!listing.add(text, own ^ (static_cast<u64>(number) + 1) << 24, directory.dynamic_type,
                       first_dynamic + static_cast<u64>(number) + 1)) {
        return {};
      }
    }
    return {};
  }

  Result<std::string_view> read_link(std::span<char> to) override {
    if (type() != FileType::symlink) return Errno::einval;
    if (node_.guarded) {
      if (Thread* reader = this_core().executive->current()) TRY(check_reader(*reader));
    }
    TextBuffer text;
    TRY(node_.text(text, subject_));
    if (!text.complete()) return Errno::enomem;
    const u64 size = smaller(text.text().size(), to.size());
    memcpy(to.data(), text.text().data(), size);
    return std::string_view{to.data(), size};
  }

  Result<Ref<Inode>> follow(Thread& thread) override {
    if (node_.follow == nullptr) return Ref<Inode>{};
    if (node_.guarded) TRY(check_reader(thread));
    return node_.follow(thread, subject_);
  }

  Result<Ref<OpenFile>> open(const OpenRequest& request) override {
    TRY(still_there());
    if (node_.guarded) TRY(check_reader(request.thread));
    if (is_directory()) {
      return Ref<OpenFile>{
          Ref<DirectoryFile>::adopt(TRY(memory::make<DirectoryFile>(Ref<Inode>::share(*this), request.flags)))};
    }
    if ((request.flags & o_accmode) != o_rdonly && !node_.writable()) return Errno::eacces;
    if (node_.open != nullptr) return node_.open(*this, request, subject_);
    return Ref<OpenFile>{
        Ref<GeneratedText>::adopt(TRY(memory::make<GeneratedText>(Ref<Inode>::share(*this), request.flags, node_, subject_)))};
  }

  Result<void> resize(u64) override {
    if (is_directory()) return Errno::eisdir;
    return {};
  }

 private:
  // A process's files belong to its user; to root when it is not to be looked into, but for what everybody may read.
  void set_owner(Attributes& a) {
    const Ref<Process> process = processes::find(ProcessId{subject_.process});
    if (!process) return;
    constexpr u32 open_to_all = 0555;
    const bool shown = is_directory() && node_.permissions == open_to_all;
    if (!shown && !process->manners.dumpable.load(Order::relaxed)) return;
    const Ref<Credentials> owner = process->credentials();
    a.user = owner->user.effective;
    a.group = owner->group.effective;
  }

  Result<void> check_reader(const Thread& reader) {
    const Ref<Process> process = processes::find(ProcessId{subject_.process});
    if (!process) return Errno::enoent;
    return authority::may_look_into(reader, *process, authority::As::files).ok() ? Result<void>{} : Errno::eacces;
  }

  Result<void> still_there() {
    if (node_.directory == nullptr || node_.directory->exists == nullptr) return {};
    return node_.directory->exists(subject_);
  }

  // The same for the same file at every look: from the address of its node and what it is about.
  static u64 number_of(const Node& node, const Subject& subject) {
    u64 mix = reinterpret_cast<u64>(&node) >> 3;
    for (i32 part : {subject.process, subject.thread, subject.number}) {
      mix = (mix ^ static_cast<u32>(part)) * 0x9e37'79b9'7f4a'7c15;
      mix ^= mix >> 29;
    }
    return (mix & 0xffff'ffff'ffff) | 1;
  }

  Result<Ref<Inode>> make(const Node& node, const Subject& subject, i32 dynamic) {
    return Ref<Inode>{Ref<GeneratedInode>::adopt(
        TRY(memory::make<GeneratedInode>(file_system(), node, subject, Ref<Inode>::share(*this), dynamic)))};
  }

  const Node& node_;
  const Subject subject_;
  Ref<Inode> parent_;   // null: the root
  const i32 dynamic_;   // its number in the parent's dynamic names; -1: a name of the table
};

}  // namespace

Result<Ref<FileSystem>> make_generated_file_system(const char* type, u64 magic, const GeneratedDirectory& root) {
  Ref<GeneratedFileSystem> made = Ref<GeneratedFileSystem>::adopt(TRY(memory::make<GeneratedFileSystem>(type, magic)));
  Node* node = TRY(memory::make<Node>(Node{.name = "", .type = FileType::directory, .permissions = 0555, .directory = &root}));
  made->set_root(Ref<GeneratedInode>::adopt(TRY(memory::make<GeneratedInode>(*made, *node, Subject{}, Ref<Inode>{}, -1))));
  return Ref<FileSystem>{made};
}

}  // namespace corral::fs
