// See file_system.h.
#include "fs/nine/file_system.h"

#include "device/clock.h"
#include "fs/cache/write_back.h"
#include "fs/step_memory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/thread.h"

namespace corral::fs::nine {

namespace {

class MountOperation final : public Conversation {
 public:
  explicit MountOperation(Server& server) : Conversation{server}, root_fid_{server.new_fid()} {}
  Ref<FileSystem> mounted;

 private:
  Result<void> talk(Waiter& waiter) override;
  const u32 root_fid_;
  const Instant asked_ = clock::now();
};

Result<void> MountOperation::talk(Waiter& waiter) {
  TRY(server_.greet(waiter));
  (void)TRY(ask(waiter, Type::attach, [&](Encoder& to) {
    to.word32(root_fid_);
    to.word32(no_fid);
    to.text("root");
    to.text("");
    to.word32(0);
  }));
  Decoder answer = TRY(ask(waiter, Type::getattr, [&](Encoder& to) {
    to.word32(root_fid_);
    to.word64(attribute_mask);
  }));
  const FileAttributes attributes = read_attributes(answer);
  if (answer.bad() || type_of_mode(attributes.mode) != FileType::directory) return Errno::eio;
  Ref<NineFileSystem> made = Ref<NineFileSystem>::adopt(TRY(memory::make<NineFileSystem>(server_, root_fid_)));
  Leftovers leftovers{server_};
  Ref<Node> root;
  {
    LockGuard guard{made->names()};
    root = TRY(made->adopt(attributes, asked_, root_fid_, nullptr, {}, leftovers));
  }
  made->set_root(root);
  mounted = made;
  return {};
}

}  // namespace

Leftovers::~Leftovers() {
  if (outdated_) outdated_->forget_pages();
  server_.clunk(fid_);
}

NineFileSystem::~NineFileSystem() = default;

Ref<Inode> NineFileSystem::root() {
  return root_;
}

void NineFileSystem::set_root(const Ref<Node>& root) {
  root_ = root;
}

Result<void> NineFileSystem::prepare_unmount(UnmountProgress& progress, bool) {
  return write_back::flush_all(progress.files, stepping_thread(), this);
}

void NineFileSystem::dismantle() {
  for (;;) {
    Ref<Node> node;
    LockGuard guard{names_};
    node = recent_.forget_oldest();
    if (!node) break;
  }
  root_ = {};
}

Node* NineFileSystem::find(u64 path) const {
  Node* node = nodes_.first_where([&](const Node& n) { return n.path >= path; });
  return node != nullptr && node->path == path ? node : nullptr;
}

Ref<Node> NineFileSystem::file_with(u64 path) {
  Node* node = find(path);
  return node != nullptr && node->retain_if_alive() ? Ref<Node>::adopt(node) : Ref<Node>{};
}

void NineFileSystem::touch(Node& node, Leftovers& leftovers) {
  leftovers.add(Ref<Inode>{recent_.touch(node)});
}

void NineFileSystem::forget(Node& node) {
  if (node.detached) return;
  node.detached = true;
  nodes_.remove(node);
}

Result<Ref<Node>> NineFileSystem::adopt(const FileAttributes& attributes, Instant asked, u32 fid, Node* parent,
                                        std::string_view name, Leftovers& leftovers) {
  Ref<Node> node;
  Node* old = find(attributes.qid.path);
  if (old != nullptr && old->type() != type_of_mode(attributes.mode)) {  // another file with an old one's number
    forget(*old);
    old = nullptr;
  }
  if (old != nullptr && old->retain_if_alive()) {
    node = Ref<Node>::adopt(old);
    const bool news = node->changing == 0 && node->changed < asked;
    if (node->fid_holds != 0) {
      leftovers.add_fid(fid);
    } else {
      leftovers.add_fid(std::exchange(node->fid, fid));  // the path that the server remembers with it is the newest
      if (news) node->name_lost = false;
    }
    if (news && node->update(attributes, asked)) leftovers.add_outdated(*node);
  } else {
    if (old != nullptr) forget(*old);
    Result<Ref<Node>> made = Node::make(*this, attributes, fid);
    if (!made.ok()) {
      leftovers.add_fid(fid);
      return made.error();
    }
    node = made.take();
    nodes_.insert(*node);
  }
  if (parent != nullptr && !node->place.is(*parent, name)) {
    NameCopy copy;
    if (copy.make(name)) leftovers.add(node->place.set(*parent, copy));
  }
  touch(*node, leftovers);
  return node;
}

FileSystemStatistics NineFileSystem::statistics() {
  LockGuard guard{names_};
  return statistics_;
}

Result<void> NineFileSystem::refresh_statistics() {
  Thread& thread = stepping_thread();
  const StepMemory& memory = *TRY(StepMemory::of(thread));
  Ref<StatisticsTalk> done;
  LockGuard guard{names_};
  if (statistics_at_ >= memory.since) return {};
  if (!asking_) { asking_ = Ref<StatisticsTalk>::adopt(TRY(memory::make<StatisticsTalk>(server_, root_fid_))); }
  const Result<void> answered = asking_->run(thread);
  if (!answered.ok() && answered.error() == Errno::blocked) return Errno::blocked;
  statistics_ = asking_->found;
  statistics_at_ = clock::now();
  std::swap(done, asking_);
  return answered;
}

Result<Ref<FileSystem>> mount(Thread& thread, std::string_view tag) {
  (void)TRY(StepMemory::perform(thread, [&]() -> Result<Ref<Operation>> {
    Server* server = TRY(Server::find(tag));
    return Ref<Operation>{Ref<MountOperation>::adopt(TRY(memory::make<MountOperation>(*server)))};
  }));
  return static_cast<MountOperation&>(*StepMemory::find(thread)->last()).mounted;
}

}  // namespace corral::fs::nine
