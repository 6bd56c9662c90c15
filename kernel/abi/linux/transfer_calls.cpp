// read, write, their vector and positioned forms. Source: Linux man-pages read(2), readv(2), pread(2).
// Progress over waits is kept in step.word[progress]; once all that is to be written to a file has been written, and waits for the file
// to be kept (O_DSYNC), its size and that wait's progress in two others.
#include "abi/linux/held_file.h"
#include "fs/inode.h"
#include "fs/watch/notices.h"
#include "memory/heap.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::Transfer;

constexpr unsigned progress = 0, written_before = 1, sync_progress = 2;  // words of the thread's StepState
constexpr u64 max_transfer = 0x7fff'f000;

enum class Direction : u8 { in, out };

Result<HeldFile> open_for(Call& call, Direction direction) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  if (direction == Direction::in ? !file->readable() : !file->writable()) return Errno::ebadf;
  return Result<HeldFile>{std::move(file)};
}

// pread and its relatives: a file without a position says so before anything else.
Result<HeldFile> open_for_place(Call& call, bool& has_position) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  const fs::FileType type = file->inode().type();
  const bool may_have = type == fs::FileType::regular || type == fs::FileType::directory || type == fs::FileType::block ||
                        type == fs::FileType::character;
  const Result<u64> position = file->seek(0, fs::Whence::current);
  has_position = may_have && (position.ok() || position.error() != Errno::espipe);
  return Result<HeldFile>{std::move(file)};
}

bool allows(OpenFile& file, Direction direction) {
  return direction == Direction::in ? file.readable() : file.writable();
}

// What Linux checks about a buffer before anything is moved, however long the part is that will be used.
Result<void> check_buffer(VirtualAddress base, u64 size) {
  if (base.value > vm::user_end || size > vm::user_end - base.value) return Errno::efault;
  return {};
}

Transfer plain(Call& call) {
  return Transfer{call.space, call.thread.caller, call.address(1), fs::smaller(call.argument[2], max_transfer),
                  call.thread.step.word[progress]};
}

Result<Transfer> vector(Call& call) {
  return Transfer::vector(call.space, call.thread.caller, call.address(1), static_cast<u32>(call.argument[2]),
                          call.thread.step.word[progress]);
}

// How many bytes were moved; those who watch the file are told.
Result<i64> told(OpenFile& file, Direction direction, Result<u64> outcome) {
  if (outcome.ok() && outcome.value() > 0) {
    fs::notices::tell(file.inode(), direction == Direction::in ? fs::notices::accessed : fs::notices::modified);
  }
  return count_of(static_cast<Result<u64>&&>(outcome));
}

// The outcome of `write()`. What was written with O_DSYNC, or is wanted so (`keeps`), is where the file is kept before the call answers.
template <class Write>
Result<i64> write_and_keep(Call& call, OpenFile& file, bool keeps, Write&& write) {
  StepState& step = call.thread.step;
  if (step.word[written_before] == 0) {
    Result<i64> written = told(file, Direction::out, write());
    const fs::FileType type = file.inode().type();
    keeps = (keeps || (file.flags() & fs::o_dsync) != 0) && (type == fs::FileType::regular || type == fs::FileType::block);
    if (!keeps || !written.ok() || written.value() == 0) return written;
    step.word[written_before] = static_cast<u64>(written.value());
  }
  TRY(file.sync(step.word[sync_progress]));
  return static_cast<i64>(step.word[written_before]);
}

Result<i64> move(Call& call, OpenFile& file, Transfer& transfer, Direction direction, bool keeps = false) {
  if (direction == Direction::in) return told(file, direction, file.read(call.thread, transfer));
  return write_and_keep(call, file, keeps, [&] { return file.write(call.thread, transfer); });
}

Result<i64> move_at(Call& call, OpenFile& file, Transfer& transfer, Direction direction, i64 offset, bool keeps = false) {
  if (offset < 0) return Errno::einval;
  const u64 place = static_cast<u64>(offset);
  if (transfer.size() > static_cast<u64>(INT64_MAX) - place) return Errno::einval;
  if (direction == Direction::in) return told(file, direction, file.read_at(call.thread, place, transfer));
  return write_and_keep(call, file, keeps, [&] { return file.write_at(call.thread, place, transfer); });
}

template <Direction D>
Result<i64> sys_plain(Call& call) {
  HeldFile file = TRY(open_for(call, D));
  TRY(check_buffer(call.address(1), call.argument[2]));
  Transfer transfer = plain(call);
  return file.answer(call, move(call, *file, transfer, D));
}

template <Direction D>
Result<i64> sys_plain_at(Call& call) {
  const i64 offset = static_cast<i64>(call.argument[3]);
  if (offset < 0) return Errno::einval;
  bool has_position = false;
  HeldFile file = TRY(open_for_place(call, has_position));
  if (!has_position) return Errno::espipe;
  if (!allows(*file, D)) return Errno::ebadf;
  TRY(check_buffer(call.address(1), call.argument[2]));
  Transfer transfer = plain(call);
  return file.answer(call, move_at(call, *file, transfer, D, offset));
}

template <Direction D>
Result<i64> vector_here(Call& call, bool keeps) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  Result<Transfer> transfer = vector(call);
  if (!transfer.ok()) return file.answer(call, transfer.error());
  if (!allows(*file, D)) return Errno::ebadf;
  return file.answer(call, move(call, *file, transfer.value(), D, keeps));
}

template <Direction D>
Result<i64> vector_at(Call& call, bool keeps) {
  const i64 offset = static_cast<i64>(call.argument[3]);
  if (offset < 0) return Errno::einval;
  bool has_position = false;
  HeldFile file = TRY(open_for_place(call, has_position));
  if (!has_position) return Errno::espipe;
  Result<Transfer> transfer = vector(call);
  if (!transfer.ok()) return file.answer(call, transfer.error());
  if (!allows(*file, D)) return Errno::ebadf;
  return file.answer(call, move_at(call, *file, transfer.value(), D, offset, keeps));
}

template <Direction D>
Result<i64> sys_vector(Call& call) {
  return vector_here<D>(call, false);
}

template <Direction D>
Result<i64> sys_vector_at(Call& call) {
  return vector_at<D>(call, false);
}

// preadv2, pwritev2: offset -1 means the file's position; RWF_HIPRI only hints and is accepted. Nothing is read or written
// without waiting on request (RWF_NOWAIT): the answer is Linux's for a file that cannot.
template <Direction D>
Result<i64> sys_vector_2(Call& call) {
  constexpr u32 hint = 0x1, keep = 0x2 | 0x4, at_the_end = 0x10;  // RWF_HIPRI; RWF_DSYNC, RWF_SYNC; RWF_APPEND
  const u32 flags = static_cast<u32>(call.argument[5]);
  const i64 offset = static_cast<i64>(call.argument[3]);
  if (offset < -1) return Errno::einval;
  if ((flags & ~(hint | keep | at_the_end)) != 0) return Errno::eopnotsupp;
  const bool keeps = (flags & keep) != 0;
  if ((flags & at_the_end) == 0 || D == Direction::in)
    return offset == -1 ? vector_here<D>(call, keeps) : vector_at<D>(call, keeps);
  HeldFile file = TRY(open_for(call, D));
  if (offset != -1 && !file->seek(0, fs::Whence::current).ok()) return file.answer(call, Errno::espipe);
  Result<Transfer> transfer = vector(call);
  if (!transfer.ok()) return file.answer(call, transfer.error());
  const auto append = [&] { return file->append(call.thread, transfer.value(), offset == -1); };
  return file.answer(call, write_and_keep(call, *file, keeps, append));
}

constexpr Entry entries[] = {
    {0, "read", sys_plain<Direction::in>},         {1, "write", sys_plain<Direction::out>},
    {17, "pread64", sys_plain_at<Direction::in>},  {18, "pwrite64", sys_plain_at<Direction::out>},
    {19, "readv", sys_vector<Direction::in>},      {20, "writev", sys_vector<Direction::out>},
    {295, "preadv", sys_vector_at<Direction::in>}, {296, "pwritev", sys_vector_at<Direction::out>},
    {327, "preadv2", sys_vector_2<Direction::in>}, {328, "pwritev2", sys_vector_2<Direction::out>},
};

}  // namespace

std::span<const Entry> transfer_calls() {
  return entries;
}

}  // namespace corral::abi
