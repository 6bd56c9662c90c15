// Regular files of a 9P server: their pages, and moving them. See node.h.
#include "fs/nine/file_system.h"
#include "fs/positioned_file.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::nine {

namespace {

// Pages on their way: a read or write message whose data are the pages themselves.
class NineRun final : public PageRun, public virtio::Request {
 public:
  explicit NineRun(Server& server) : server_{server}, tag_{server.take_tag()} {}
  ~NineRun() override {
    if (tag_ != no_tag) server_.give_tag(tag_);
  }
  // Without one it cannot be sent.
  [[nodiscard]] bool has_tag() const { return tag_ != no_tag; }
  void send(u32 fid);

 private:
  void finished(Result<u32> written) override;

  static constexpr u32 request_size = header_size + 4 + 8 + 4;
  static constexpr u32 answer_size = header_size + 4;
  Server& server_;
  const u16 tag_;
  u8 request_[request_size] = {};
  u8 answer_[answer_size] = {};
};

void NineRun::send(u32 fid) {
  Encoder to{request_};
  to.begin(is_write() ? Type::write : Type::read, tag_);
  to.word32(fid);
  to.word64(offset());
  to.word32(static_cast<u32>(bytes()));
  (void)to.finish(is_write() ? bytes() : 0);
  bool room = add_piece(request_, request_size, false);
  const auto add_pages = [&] {
    for (u32 i = 0; i < count(); ++i) {
      const u64 start = i * page_size;
      if (bytes() > start) room = room && add_piece(memory(i), smaller(bytes() - start, page_size), !is_write());
    }
  };
  if (is_write()) add_pages();
  room = room && add_piece(answer_, answer_size, true);
  if (!is_write()) add_pages();
  if (!room || !server_.queue().submit(*this).ok()) PageRun::finished(Errno::eio);
}

void NineRun::finished(Result<u32> written) {
  Decoder answer{answer_};
  u32 error = 0;
  const u64 came = written.ok() ? written.value() : 0;
  if (!check_answer(answer, came, is_write() ? Type::write : Type::read, tag_, error)) { return PageRun::finished(Errno::eio); }
  if (error != 0) return PageRun::finished(error < 134 ? static_cast<Errno>(error) : Errno::eio);
  const u64 moved = answer.word32();
  const u64 really = is_write() ? bytes() : came - smaller(came, answer_size);
  PageRun::finished(smaller(moved, really));
}

}  // namespace

FileNode::FileNode(NineFileSystem& file_system, const FileAttributes& attributes, u32 its_fid)
    : Node{file_system, attributes, its_fid}, pages_{*this, *this} {
  pages_.set_size(attributes.size);
}

FileNode::~FileNode() {
  server().clunk(read_fid_.load(Order::relaxed));
  server().clunk(write_fid_.load(Order::relaxed));
}

bool FileNode::update(const FileAttributes& fresh, Instant asked) {
  const u64 size = pages_.size();
  if (!pages_.take_size(fresh.size, asked)) return false;
  const bool own = std::exchange(written_, false);
  const bool changed = (!own && known.modified_ns != fresh.modified_ns) || size != fresh.size;
  (void)Node::update(fresh, asked);
  return changed;
}

void FileNode::note_attributes(Attributes& attributes) {
  attributes.size = pages_.size();
  attributes.blocks = larger(attributes.blocks, pages_.has_dirty() ? round_up(attributes.size, page_size) / 512 : 0);
}

u32 FileNode::open_fid(bool write) const {
  const u32 both = write_fid_.load(Order::acquire);
  if (write || both != no_fid) return both;
  return read_fid_.load(Order::acquire);
}

Result<void> FileNode::ensure_open(bool write, Waiter* waiter) {
  if (open_fid(write) != no_fid) return {};
  if (waiter == nullptr) return Errno::eagain;
  Ref<OpenTalk> done;
  LockGuard guard{nine().names()};
  if (open_fid(write) != no_fid) return {};
  Ref<OpenTalk>& opening = opening_[write ? 1 : 0];
  if (!opening) opening = Ref<OpenTalk>::adopt(TRY(memory::make<OpenTalk>(server(), fid, write ? o_rdwr : o_rdonly)));
  const Result<void> opened = opening->run(*waiter);
  if (!opened.ok() && opened.error() == Errno::blocked) return Errno::blocked;
  if (opened.ok()) (write ? write_fid_ : read_fid_).store(opening->fid, Order::release);
  std::swap(done, opening);
  return opened;
}

// ---- FilePages::Store ------------------------------------------------------------------------------------------------

Result<FilePages::Store::Extent> FileNode::find(u64 index, u64 count, Waiter* waiter) {
  TRY(ensure_open(false, waiter));
  return Extent{{index + 1}, count};
}

Result<PagePlace> FileNode::reserve(u64 index, u32, u32, Waiter* waiter) {
  TRY(ensure_open(true, waiter));
  return PagePlace{index + 1};
}

PageRun* FileNode::make_run() {
  auto* run = new (std::nothrow) NineRun(server());
  if (run != nullptr && run->has_tag()) return run;
  delete run;
  return nullptr;
}

void FileNode::start(PageRun& run) {
  static_cast<NineRun&>(run).send(open_fid(run.is_write()));
}

// ---- Inode -----------------------------------------------------------------------------------------------------------

void FileNode::note_written() {
  const i64 now = wall_time_ns();
  LockGuard guard{nine().names()};
  known.modified_ns = known.changed_ns = now;
  written_ = true;
}

Result<u64> FileNode::read(u64 offset, Transfer& transfer, u64 at, u64 size) {
  return pages_.read(offset, transfer, at, size, &stepping_thread());
}

Result<u64> FileNode::write(u64 offset, Transfer& transfer, u64 at, u64 size) {
  const u64 done = TRY(pages_.write(offset, transfer, at, size, &stepping_thread()));
  note_written();
  return done;
}

Result<u64> FileNode::append(Transfer& transfer, u64 at, u64 size, u64& end) {
  const u64 done = TRY(pages_.append(transfer, at, size, end, &stepping_thread()));
  note_written();
  return done;
}

Result<Ref<vm::Backing>> FileNode::backing() {
  return make_backing(*this, pages_);
}

Result<Ref<OpenFile>> FileNode::open(const OpenRequest& request) {
  TRY(ensure_open((request.flags & o_accmode) != o_rdonly, &request.thread));
  return Ref<OpenFile>{Ref<PositionedFile>::adopt(TRY(memory::make<PositionedFile>(Ref<Inode>::share(*this), request.flags)))};
}

}  // namespace corral::fs::nine
