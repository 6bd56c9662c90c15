// read, write, their vector and positioned forms, getdents64. Source: Linux man-pages read(2), readv(2), pread(2), getdents(2).
// Progress over waits is kept in step.word[progress].
#include "abi/linux/held_file.h"
#include "fs/inode.h"
#include "fs/watch/notices.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::Transfer;

constexpr unsigned progress = 0;  // the word of the thread's StepState
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

Result<i64> move(Call& call, OpenFile& file, Transfer& transfer, Direction direction) {
  return told(file, direction,
              direction == Direction::in ? file.read(call.thread, transfer) : file.write(call.thread, transfer));
}

Result<i64> move_at(Call& call, OpenFile& file, Transfer& transfer, Direction direction, i64 offset) {
  if (offset < 0) return Errno::einval;
  const u64 place = static_cast<u64>(offset);
  if (transfer.size() > static_cast<u64>(INT64_MAX) - place) return Errno::einval;
  return told(
      file, direction,
      direction == Direction::in ? file.read_at(call.thread, place, transfer) : file.write_at(call.thread, place, transfer));
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
Result<i64> sys_vector(Call& call) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  Result<Transfer> transfer = vector(call);
  if (!transfer.ok()) return file.answer(call, transfer.error());
  if (!allows(*file, D)) return Errno::ebadf;
  return file.answer(call, move(call, *file, transfer.value(), D));
}

template <Direction D>
Result<i64> sys_vector_at(Call& call) {
  const i64 offset = static_cast<i64>(call.argument[3]);
  if (offset < 0) return Errno::einval;
  bool has_position = false;
  HeldFile file = TRY(open_for_place(call, has_position));
  if (!has_position) return Errno::espipe;
  Result<Transfer> transfer = vector(call);
  if (!transfer.ok()) return file.answer(call, transfer.error());
  if (!allows(*file, D)) return Errno::ebadf;
  return file.answer(call, move_at(call, *file, transfer.value(), D, offset));
}

// preadv2, pwritev2: offset -1 means the file's position; flags that only hint are accepted. Nothing is read or written
// without waiting on request (RWF_NOWAIT): the answer is Linux's for a file that cannot.
template <Direction D>
Result<i64> sys_vector_2(Call& call) {
  constexpr u32 hints = 0x1 | 0x2 | 0x4, at_the_end = 0x10;  // RWF_HIPRI, RWF_DSYNC, RWF_SYNC; RWF_APPEND
  const u32 flags = static_cast<u32>(call.argument[5]);
  const i64 offset = static_cast<i64>(call.argument[3]);
  if (offset < -1) return Errno::einval;
  if ((flags & ~(hints | at_the_end)) != 0) return Errno::eopnotsupp;
  if ((flags & at_the_end) == 0 || D == Direction::in) return offset == -1 ? sys_vector<D>(call) : sys_vector_at<D>(call);
  HeldFile file = TRY(open_for(call, D));
  if (offset != -1 && !file->seek(0, fs::Whence::current).ok()) return file.answer(call, Errno::espipe);
  Result<Transfer> transfer = vector(call);
  if (!transfer.ok()) return file.answer(call, transfer.error());
  return file.answer(call, told(*file, D, file->append(call.thread, transfer.value(), offset == -1)));
}

// ---- directories -------------------------------------------------------------------------------------------------------

// Names in the form of struct linux_dirent64: inode, next position, length of the record, type, name.
class DirectoryRecords final : public fs::Listing {
 public:
  explicit DirectoryRecords(std::span<u8> to) : to_{to} {}
  bool add(std::string_view name, u64 inode, fs::FileType type, u64 next) override {
    constexpr u64 header = 19;
    const u64 size = round_up(header + name.size() + 1, 8);
    if (size > to_.size() - used_) {
      refused_ = true;
      return false;
    }
    u8* record = to_.data() + used_;
    memset(record, 0, size);
    const u16 record_size = static_cast<u16>(size);
    memcpy(record, &inode, 8);
    memcpy(record + 8, &next, 8);
    memcpy(record + 16, &record_size, 2);
    record[18] = static_cast<u8>(type);
    memcpy(record + header, name.data(), name.size());
    used_ += size;
    next_ = next;
    return true;
  }
  [[nodiscard]] u64 used() const { return used_; }
  [[nodiscard]] u64 next() const { return next_; }
  [[nodiscard]] bool refused() const { return refused_; }

 private:
  std::span<u8> to_;
  u64 used_ = 0;
  u64 next_ = 0;
  bool refused_ = false;
};

Result<i64> list_into(Call& call, OpenFile& file, std::span<u8> buffer) {
  DirectoryRecords records{buffer};
  TRY(file.list(records));
  if (records.used() == 0) return records.refused() ? Result<i64>{Errno::einval} : i64{0};
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(1), buffer.data(), records.used()));
  file.set_directory_position(records.next());
  return static_cast<i64>(records.used());
}

Result<i64> sys_getdents64(Call& call) {
  constexpr u64 most = 16 << 10;
  HeldFile file = TRY(HeldFile::take(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  if (!file->inode().is_directory()) return Errno::enotdir;
  const i32 wanted = call.number(2);
  const u64 size = wanted < 0 ? 0 : fs::smaller(static_cast<u64>(wanted), most);
  auto* buffer = static_cast<u8*>(memory::allocate(size + 1));
  if (buffer == nullptr) return Errno::enomem;
  Result<i64> outcome = list_into(call, *file, {buffer, size});
  if (outcome.ok()) fs::notices::tell(file->inode(), fs::notices::accessed);
  memory::release(buffer);
  return file.answer(call, static_cast<Result<i64>&&>(outcome));
}

constexpr Entry entries[] = {
    {0, "read", sys_plain<Direction::in>},
    {1, "write", sys_plain<Direction::out>},
    {17, "pread64", sys_plain_at<Direction::in>},
    {18, "pwrite64", sys_plain_at<Direction::out>},
    {19, "readv", sys_vector<Direction::in>},
    {20, "writev", sys_vector<Direction::out>},
    {217, "getdents64", sys_getdents64},
    {295, "preadv", sys_vector_at<Direction::in>},
    {296, "pwritev", sys_vector_at<Direction::out>},
    {327, "preadv2", sys_vector_2<Direction::in>},
    {328, "pwritev2", sys_vector_2<Direction::out>},
};

}  // namespace

std::span<const Entry> transfer_calls() {
  return entries;
}

}  // namespace corral::abi
