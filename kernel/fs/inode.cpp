// What a file answers that cannot do something, and the numbers of file systems. See inode.h.
#include "fs/inode.h"

#include "fs/file_locks.h"

#include "device/clock.h"
#include "fs/transfer.h"

namespace corral::fs {

Inode::~Inode() {
  file_locks::forget(*this);
}

Result<u64> FileSystem::handle_of(Inode&) {
  return Errno::eopnotsupp;
}
Result<Ref<Inode>> FileSystem::find_by_handle(u64) {
  return Errno::estale;
}

bool Inode::begin_writing() {
  i32 count = writers_.load(Order::relaxed);
  while (count >= 0) {
    if (!writers_.compare_exchange(count, count + 1, Order::acquire, Order::relaxed)) continue;
    file_system_->writers.fetch_add(1, Order::relaxed);
    return true;
  }
  return false;
}

void Inode::end_writing() {
  file_system_->writers.fetch_sub(1, Order::relaxed);
  writers_.fetch_sub(1, Order::release);
}

bool Inode::begin_executing() {
  i32 count = writers_.load(Order::relaxed);
  while (count <= 0) {
    if (writers_.compare_exchange(count, count - 1, Order::acquire, Order::relaxed)) return true;
  }
  return false;
}

namespace {
constinit Atomic<u64> next_device{20};
}  // namespace

i64 wall_time_ns() {
  return clock::wall_time_ns();
}

FileSystem::FileSystem() : device_{next_device.fetch_add(1, Order::relaxed)} {}

Result<void> Inode::change(const AttributeChange&) {
  return Errno::eperm;
}
Result<Ref<Inode>> Inode::parent() {
  return Errno::enoent;
}
Result<std::string_view> Inode::name(std::span<char>) {
  return Errno::enoent;
}
std::string_view Inode::label(std::span<char>) {
  return {};
}

Result<Ref<Inode>> Inode::lookup(std::string_view) {
  return Errno::enotdir;
}
Result<Ref<Inode>> Inode::create(std::string_view, const Creation&) {
  return is_directory() ? Errno::eperm : Errno::enotdir;
}
Result<Ref<Inode>> Inode::create_unnamed(u32, bool) {
  return is_directory() ? Errno::eopnotsupp : Errno::enotdir;
}
Result<void> Inode::link(std::string_view, Inode&) {
  return is_directory() ? Errno::eperm : Errno::enotdir;
}
Result<void> Inode::unlink(std::string_view) {
  return is_directory() ? Errno::eperm : Errno::enotdir;
}
Result<void> Inode::remove_directory(std::string_view) {
  return is_directory() ? Errno::eperm : Errno::enotdir;
}
Result<void> Inode::rename(std::string_view, Inode&, std::string_view, u32) {
  return is_directory() ? Errno::eperm : Errno::enotdir;
}
Result<void> Inode::list(u64, Listing&) {
  return Errno::enotdir;
}

Result<u64> Inode::attribute(std::string_view, std::span<u8>) {
  return Errno::eopnotsupp;
}
Result<void> Inode::set_attribute(std::string_view, std::span<const u8>, AttributeSetting) {
  return Errno::eopnotsupp;
}
Result<void> Inode::remove_attribute(std::string_view) {
  return Errno::eopnotsupp;
}
Result<u64> Inode::list_attributes(std::span<char>, bool) {
  return u64{0};
}

Result<void> Inode::set_flags(u32, bool) {
  return Errno::enotty;
}

Result<std::string_view> Inode::read_link(std::span<char>) {
  return Errno::einval;
}
Result<Ref<Inode>> Inode::follow(Thread&) {
  return Ref<Inode>{};
}

Result<u64> Inode::read(u64, Transfer&, u64, u64) {
  return is_directory() ? Errno::eisdir : Errno::einval;
}
Result<u64> Inode::write(u64, Transfer&, u64, u64) {
  return is_directory() ? Errno::eisdir : Errno::einval;
}
Result<u64> Inode::append(Transfer&, u64, u64, u64&) {
  return is_directory() ? Errno::eisdir : Errno::einval;
}
Result<void> Inode::resize(u64) {
  return is_directory() ? Errno::eisdir : Errno::einval;
}
Result<void> Inode::allocate(u32, u64, u64, u64&) {
  return Errno::eopnotsupp;
}
Result<u64> Inode::seek_data(u64 offset, bool hole) {
  const u64 size = attributes().size;
  if (offset >= size) return Errno::enxio;
  return hole ? size : offset;
}
Result<u32> Inode::seals() {
  return Errno::einval;
}
Result<void> Inode::add_seals(u32) {
  return Errno::einval;
}
Result<void> Inode::sync(u64&) {
  return {};
}
Result<Ref<vm::Backing>> Inode::backing() {
  return Errno::enodev;
}

Result<u64> Inode::read_kernel(u64 offset, std::span<u8> to) {
  u64 done = 0;
  Transfer transfer{to};
  while (done < to.size()) {
    const u64 now = TRY(read(offset + done, transfer, done, to.size() - done));
    if (now == 0) break;
    done += now;
  }
  return done;
}

Result<Ref<OpenFile>> Inode::open(const OpenRequest&) {
  return Errno::enxio;
}

}  // namespace corral::fs
