// Ends of pipes: those of pipe2, and fifos with a name. See pipe.h.
#include "fs/pipe.h"

#include "fs/anonymous.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// What an open that waits for the other side notes in the thread's step.
constexpr u32 fifo_phase = 0xf1f0;
constexpr unsigned word_end = 5, word_opened = 4;

// The file of a pipe without a name.
class PipeInode final : public UnnamedInode {
 public:
  explicit PipeInode(Ref<Pipe> pipe) : UnnamedInode{FileType::fifo, 0600}, pipe_{static_cast<Ref<Pipe>&&>(pipe)} {}
  std::string_view label(std::span<char> to) override { return format_to(to, "pipe:[{}]", number()); }
  // By way of /proc/[pid]/fd.
  Result<Ref<OpenFile>> open(const OpenRequest& request) override {
    return Ref<OpenFile>{Ref<PipeEnd>::adopt(TRY(memory::make<PipeEnd>(Ref<Inode>::share(*this), pipe_, request.flags)))};
  }

 private:
  Ref<Pipe> pipe_;
};

}  // namespace

PipeEnd::PipeEnd(Ref<Inode> inode, Ref<Pipe> pipe, u32 flags)
    : OpenFile{static_cast<Ref<Inode>&&>(inode), flags}, pipe_{static_cast<Ref<Pipe>&&>(pipe)} {
  pipe_->add_end(readable(), writable());
}

PipeEnd::~PipeEnd() {
  pipe_->remove_end(readable(), writable());
}

Result<PipePair> make_pipe(u32 flags, bool privileged) {
  Ref<Pipe> pipe = Ref<Pipe>::adopt(TRY(memory::make<Pipe>(privileged)));
  Ref<Inode> inode = Ref<PipeInode>::adopt(TRY(memory::make<PipeInode>(pipe)));
  PipePair pair;
  pair.reader = Ref<PipeEnd>::adopt(TRY(memory::make<PipeEnd>(inode, pipe, (flags & ~o_direct) | o_rdonly)));
  pair.writer = Ref<PipeEnd>::adopt(TRY(memory::make<PipeEnd>(inode, pipe, flags | o_wronly)));
  return Result<PipePair>{std::move(pair)};
}

Pipe* pipe_of(OpenFile& file) {
  // Every open file of this type is an end of a pipe, except a name only (O_PATH).
  if (file.inode().type() != FileType::fifo || (file.flags() & o_path) != 0) return nullptr;
  return &static_cast<PipeEnd&>(file).pipe();
}

void abandon_fifo_open(Thread& thread) {
  if (thread.step.phase != fifo_phase) return;
  auto* end = reinterpret_cast<PipeEnd*>(thread.step.word[word_end]);
  thread.step.phase = 0;
  end->drop();
}

Result<Ref<OpenFile>> Fifo::open(Inode& inode, const OpenRequest& request) {
  Thread& thread = request.thread;
  Ref<PipeEnd> end;
  if (thread.step.phase == fifo_phase) {  // it has waited
    end = Ref<PipeEnd>::share(*reinterpret_cast<PipeEnd*>(thread.step.word[word_end]));
    const Errno outcome = end->pipe().wait_for_other_side(thread, end->readable(), thread.step.word[word_opened]);
    if (outcome == Errno::blocked) return outcome;
    abandon_fifo_open(thread);
    if (outcome != Errno{}) return outcome;
    return Ref<OpenFile>{end};
  }
  if ((request.flags & o_accmode) == o_accmode) return Errno::einval;  // neither end
  Ref<Pipe> fresh = Ref<Pipe>::adopt(TRY(memory::make<Pipe>(thread.may(Capability::sys_resource))));
  Ref<Pipe> pipe;
  {
    LockGuard guard{lock_};
    if (!pipe_) pipe_ = fresh;
    pipe = pipe_;
  }
  const u32 mode = request.flags & o_accmode;
  const bool waits = (request.flags & o_nonblock) == 0;
  const Pipe::Side other = pipe->other_side(mode == o_rdonly);
  if (mode == o_wronly && !waits && !other.open) return Errno::enxio;
  end = Ref<PipeEnd>::adopt(TRY(memory::make<PipeEnd>(Ref<Inode>::share(inode), pipe, request.flags)));
  if (mode == o_rdwr || !waits || other.open) return Ref<OpenFile>{end};
  const Errno outcome = pipe->wait_for_other_side(thread, mode == o_rdonly, other.opened);
  if (outcome == Errno{}) return Ref<OpenFile>{end};
  if (outcome == Errno::blocked) {
    thread.step.phase = fifo_phase;
    thread.step.word[word_opened] = other.opened;
    thread.step.word[word_end] = reinterpret_cast<u64>(end.release());
  }
  return outcome;
}

}  // namespace corral::fs
