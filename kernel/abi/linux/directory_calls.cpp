// getdents, getdents64: the names in a directory. Source: Linux man-page getdents(2).
#include "abi/linux/held_file.h"
#include "fs/inode.h"
#include "fs/watch/notices.h"
#include "lib/memory_functions.h"
#include "memory/heap_array.h"

namespace corral::abi {

namespace {

// struct linux_dirent64 has inode, next position, length of the record, type, name; struct linux_dirent has the type in the last byte.
enum class Form : u8 { old, with_type };

class Records final : public fs::Listing {
 public:
  Records(std::span<u8> to, Form form) : to_{to}, form_{form} {}
  bool add(std::string_view name, u64 inode, fs::FileType type, u64 next) override {
    const u64 header = form_ == Form::old ? 18 : 19;
    const u64 after_name = form_ == Form::old ? 2 : 1;
    const u64 size = round_up(header + name.size() + after_name, 8);
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
    record[form_ == Form::old ? size - 1 : 18] = static_cast<u8>(type);
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
  Form form_;
  u64 used_ = 0;
  u64 next_ = 0;
  bool refused_ = false;
};

Result<i64> list_into(Call& call, fs::OpenFile& file, std::span<u8> buffer, Form form) {
  Records records{buffer, form};
  TRY(file.list(records));
  if (records.used() == 0) return records.refused() ? Result<i64>{Errno::einval} : i64{0};
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(1), buffer.data(), records.used()));
  file.set_directory_position(records.next());
  return static_cast<i64>(records.used());
}

template <Form F>
Result<i64> sys_list(Call& call) {
  constexpr u64 most = 16 << 10;
  HeldFile file = TRY(HeldFile::take(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  if (!file->inode().is_directory()) return Errno::enotdir;
  if (file->inode().attributes().links == 0) return Errno::enoent;  // removed
  const i32 wanted = call.number(2);
  const u64 size = wanted < 0 ? 0 : fs::smaller(static_cast<u64>(wanted), most);
  memory::HeapArray<u8> buffer;
  TRY(buffer.allocate(size));
  Result<i64> outcome = list_into(call, *file, buffer.all(), F);
  if (outcome.ok()) fs::notices::tell(file->inode(), fs::notices::accessed);
  return file.answer(call, static_cast<Result<i64>&&>(outcome));
}

constexpr Entry entries[] = {{78, "getdents", sys_list<Form::old>}, {217, "getdents64", sys_list<Form::with_type>}};

}  // namespace

std::span<const Entry> directory_calls() {
  return entries;
}

}  // namespace corral::abi
