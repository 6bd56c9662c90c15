// sendfile and copy_file_range: bytes from file to file, through a piece of kernel memory. Source: Linux man-pages sendfile(2),
// copy_file_range(2). How much has been copied is kept in the step over its waits; input is read again from where it
// was left, so that nothing is lost when the output makes the step wait.
#include "abi/linux/held_file.h"
#include "fs/inode.h"
#include "fs/watch/notices.h"
#include "memory/heap_array.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::Transfer;

constexpr u64 max_transfer = 0x7fff'f000;
constexpr u64 piece = 16 << 10;
// Words of the step: how much was copied, where input and output began, and how much there is to copy.
constexpr unsigned word_copied = 0, word_start = 1, word_target = 2, word_size = 3;
constexpr unsigned word_input = 4;  // of HeldFile, which has another one for the output

// Copies up to `size` bytes of `in`, from word_start on; `put` writes a piece, given how much was copied before it.
template <class Put>
Result<u64> copy_pieces(Call& call, OpenFile& in, u64 size, Put&& put) {
  u64& copied = call.thread.step.word[word_copied];
  const u64 start = call.thread.step.word[word_start];
  memory::HeapArray<u8> bytes;
  if (!bytes.allocate(piece).ok()) return copied > 0 ? Result<u64>{copied} : Errno::enomem;
  Errno error{};
  for (const u64 before = copied; copied < size;) {
    if (copied - before >= fs::bytes_without_pause) {
      error = fs::pause_step(call.thread);
      break;
    }
    Transfer from{bytes.first(fs::smaller(size - copied, piece))};
    const Result<u64> got = in.read_at(call.thread, start + copied, from);
    if (!got.ok()) {
      error = got.error() == Errno::espipe ? Errno::einval : got.error();
      break;
    }
    if (got.value() == 0) break;
    Transfer to{std::span<const u8>{bytes.first(got.value())}};
    const Result<u64> written = put(to, copied);
    if (!written.ok()) {
      error = written.error();
      break;
    }
    copied += written.value();
  }
  if (error == Errno::blocked || (error != Errno{} && copied == 0)) return error;
  return copied;
}

void tell_watchers(OpenFile& in, OpenFile& out, u64 copied) {
  if (copied == 0) return;
  fs::notices::tell(in.inode(), fs::notices::accessed);
  fs::notices::tell(out.inode(), fs::notices::modified);
}

Result<i64> send_file(Call& call, OpenFile& in, OpenFile& out) {
  if (!out.writable() || !in.readable()) return Errno::ebadf;
  if ((out.flags() & fs::o_append) != 0) return Errno::einval;
  for (const OpenFile* end : {&in, &out}) {
    if (end->inode().type() == fs::FileType::unknown) return Errno::einval;  // counters, timers …
  }
  const VirtualAddress offset_at = call.address(2);
  StepState& step = call.thread.step;
  if (step.phase == 0) {
    if (offset_at.value != 0) {
      const i64 offset = TRY(call.read<i64>(offset_at));
      if (offset < 0) return Errno::einval;
      step.word[word_start] = static_cast<u64>(offset);
    } else {
      const Result<u64> position = in.seek(0, fs::Whence::current);
      if (!position.ok()) return Errno::einval;
      step.word[word_start] = position.value();
    }
    step.phase = 1;
  }
  if (static_cast<i64>(call.argument[3]) < 0) return Errno::einval;
  const u64 size = fs::smaller(call.argument[3], max_transfer);
  const u64 sent = TRY(copy_pieces(call, in, size, [&](Transfer& to, u64) { return out.write(call.thread, to); }));
  tell_watchers(in, out, sent);
  const u64 end = step.word[word_start] + sent;
  if (offset_at.value != 0) {
    TRY(call.write(offset_at, end));
  } else {
    (void)in.seek(static_cast<i64>(end), fs::Whence::start);
  }
  return static_cast<i64>(sent);
}

Result<i64> sys_sendfile(Call& call) {
  HeldFile out = TRY(HeldFile::take(call, 0));
  HeldFile in = TRY(HeldFile::take(call, 1, word_input));
  return in.answer(call, out.answer(call, send_file(call, *in, *out)));
}

// ---- copy_file_range -----------------------------------------------------------------------------------------------------

// Where one of the two files begins: what the program's pointer says, or the file's position. espipe, efault, blocked.
Result<u64> beginning(Call& call, OpenFile& file, VirtualAddress offset_at) {
  if (offset_at.value == 0) return file.seek(0, fs::Whence::current);
  return static_cast<u64>(TRY(call.read<i64>(offset_at)));
}

// In the order in which Linux checks.
Result<void> check_range(OpenFile& in, OpenFile& out, u64 flags) {
  if (flags != 0) return Errno::einval;
  if (in.inode().is_directory() || out.inode().is_directory()) return Errno::eisdir;
  if (in.inode().type() != fs::FileType::regular || out.inode().type() != fs::FileType::regular) return Errno::einval;
  if (!in.readable() || !out.writable() || (out.flags() & fs::o_append) != 0) return Errno::ebadf;
  return {};
}

// The number of bytes that there are to copy, at most `size`. eoverflow; einval: before the beginning, or onto itself.
Result<u64> extent(OpenFile& in, OpenFile& out, u64 start, u64 target, u64 size) {
  constexpr u64 end = u64{1} << 63;
  if (start + size < start || target + size < target) return Errno::eoverflow;
  const u64 length = in.inode().attributes().size;
  const u64 there = start >= end || start < length ? fs::smaller(size, length - start) : 0;
  if (start >= end || target >= end) return Errno::einval;
  if (&in.inode() == &out.inode() && target + there > start && start + there > target) return Errno::einval;
  return fs::smaller(there, max_transfer);
}

Result<void> set_position(Call& call, OpenFile& file, VirtualAddress offset_at, u64 position) {
  if (offset_at.value != 0) return call.write(offset_at, position);
  (void)file.seek(static_cast<i64>(position), fs::Whence::start);
  return {};
}

Result<i64> copy_range(Call& call, OpenFile& in, OpenFile& out) {
  const VirtualAddress in_at = call.address(1);
  const VirtualAddress out_at = call.address(3);
  StepState& step = call.thread.step;
  if (step.phase == 0) {
    TRY(check_range(in, out, call.argument[5]));
    step.word[word_start] = TRY(beginning(call, in, in_at));
    step.word[word_target] = TRY(beginning(call, out, out_at));
    // Once: what is copied behind the end of the same file makes that one longer.
    step.word[word_size] = TRY(extent(in, out, step.word[word_start], step.word[word_target], call.argument[4]));
    step.phase = 1;
  }
  const u64 start = step.word[word_start];
  const u64 target = step.word[word_target];
  const u64 size = step.word[word_size];
  if (size == 0) return 0;
  const u64 copied = TRY(
      copy_pieces(call, in, size, [&](Transfer& to, u64 before) { return out.write_at(call.thread, target + before, to); }));
  tell_watchers(in, out, copied);
  TRY(set_position(call, in, in_at, start + copied));
  TRY(set_position(call, out, out_at, target + copied));
  return static_cast<i64>(copied);
}

Result<i64> sys_copy_file_range(Call& call) {
  HeldFile in = TRY(HeldFile::take(call, 0, word_input));
  HeldFile out = TRY(HeldFile::take(call, 2));
  return in.answer(call, out.answer(call, copy_range(call, *in, *out)));
}

constexpr Entry entries[] = {{40, "sendfile", sys_sendfile}, {326, "copy_file_range", sys_copy_file_range}};

}  // namespace

std::span<const Entry> copy_calls() {
  return entries;
}

}  // namespace corral::abi
