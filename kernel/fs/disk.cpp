// See disk.h.
#include "fs/disk.h"

#include "core/core.h"
#include "device/clock.h"
#include "device/virtio/block.h"
#include "fs/anonymous.h"
#include "fs/device_flush.h"
#include "fs/partitions.h"
#include "fs/positioned_file.h"
#include "fs/step_memory.h"
#include "fs/transfer.h"
#include "lib/format.h"
#include "memory/heap.h"
#include "task/thread.h"
#include "trace/log.h"

namespace corral::fs {

namespace {

constexpr u32 most_disks = 16;
constexpr u32 most_minors = most_disks * Disk::minors_of_disk;
constinit Disk* disks[most_minors] = {};  // boot; by minor number

// Pages on their way to or from a disk. Used by DiskRun, which is also what the cache knows.
class DiskRun final : public PageRun, public BlockRequest {
 public:
  void send(BlockDevice& device) {
    kind = is_write() ? Kind::write : Kind::read;
    sector = offset() / BlockDevice::sector_size;
    const u64 end = device.sectors() * BlockDevice::sector_size;
    u64 left = end - smaller(offset(), end);
    left = smaller(left, PageRun::count() * page_size);
    moved_ = left;
    for (u32 i = 0; left > 0; ++i) {
      const u32 now = static_cast<u32>(smaller(left, page_size));
      pieces[BlockRequest::count++] = {memory(i), now};
      left -= now;
    }
    const Result<void> sent = moved_ == 0 ? Result<void>{Errno::eio} : device.submit(*this);
    if (!sent.ok()) PageRun::finished(sent.error());
  }

 private:
  void finished(Result<void> moved) override { PageRun::finished(moved.ok() ? Result<u64>{moved_} : moved.error()); }
  u64 moved_ = 0;
};

}  // namespace

// The wait for a disk's cache to be written.
class Disk::Flush final : public Operation, public BlockRequest {
 public:
  explicit Flush(Disk& disk) : disk_{disk} { kind = Kind::flush; }
  Result<void> run(Waiter& waiter) override {
    if (!sent_) {
      sent_ = true;
      retain();  // for the device
      const Result<void> sent = disk_.device().submit(*this);
      if (!sent.ok()) {
        drop();
        LockGuard guard{lock_};
        done_ = true;
        error_ = sent.error() == Errno::eopnotsupp ? Errno{} : sent.error();
      }
    }
    LockGuard guard{lock_};
    if (!done_) return waiters_.wait_uninterruptible(waiter);
    return error_;
  }

 private:
  void finished(Result<void> moved) override {
    {
      LockGuard guard{lock_};
      done_ = true;
      error_ = moved.error();
      (void)waiters_.wake_all();
    }
    drop();
  }
  Disk& disk_;
  bool sent_ = false;  // its thread
  SpinLock lock_{Rank::file_server, "disk flush"};
  WaitQueue waiters_{lock_};
  bool done_ GUARDED_BY(lock_) = false;
  Errno error_ GUARDED_BY(lock_){};
};

Disk::Disk(BlockDevice& device, u32 minor, Disk* whole)
    : Inode{anonymous_files(), FileType::block}, device_{device}, minor_{minor}, whole_{whole}, pages_{*this, *this} {
  const char letter[] = {static_cast<char>('a' + minor / minors_of_disk)};
  const std::string_view disk{letter, sizeof letter};
  const std::span<char> name{name_, sizeof name_ - 1};
  (void)(whole == nullptr ? format_to(name, "vd{}", disk) : format_to(name, "vd{}{}", disk, partition()));
  pages_.set_size(size());
}

bool Disk::read_only() const {
  const bool with_whole = whole_ != nullptr && whole_->read_only_.load(Order::relaxed);
  return read_only_.load(Order::relaxed) || with_whole || device_.read_only();
}

bool Disk::take() {
  u32 nobody = 0;
  if (!taken_.compare_exchange(nobody, by_itself, Order::acq_rel, Order::relaxed)) return false;
  if (whole_ == nullptr) return true;
  u32 others = whole_->taken_.load(Order::relaxed);
  while (others != by_itself) {
    if (whole_->taken_.compare_exchange(others, others + 1, Order::acq_rel, Order::relaxed)) return true;
  }
  taken_.store(0, Order::release);
  return false;
}

void Disk::give_back() {
  taken_.store(0, Order::release);
  if (whole_ != nullptr) whole_->taken_.fetch_sub(1, Order::acq_rel);
}

Result<void> Disk::start_all() {
  TRY(virtio::VirtioDisk::start_all(cores::get(CoreId{0}).hardware_id()));
  for (u32 i = 0; i < most_disks; ++i) {
    auto* device = devices().find<BlockDevice>(i);
    if (device == nullptr) break;
    const u32 first = i * minors_of_disk;
    Disk* whole = TRY(memory::make<Disk>(*device, first, nullptr));
    disks[first] = whole;
    const PartitionTable table = find_partitions(*device, whole->pages_);
    for (u32 n = 0; n < table.count; ++n) {
      const Partition& place = table.partitions[n];
      auto* part = TRY(memory::make<PartitionDevice>(*device, place));
      Disk*& at = disks[first + place.number];
      if (at == nullptr) at = TRY(memory::make<Disk>(*part, first + place.number, whole));
    }
  }
  return {};
}

Disk* Disk::find(DeviceNumber number) {
  return number.major == major && number.minor < most_minors ? disks[number.minor] : nullptr;
}

Disk* Disk::find_from(u32 minor) {
  while (minor < most_minors && disks[minor] == nullptr) ++minor;
  return minor < most_minors ? disks[minor] : nullptr;
}

void Disk::poll_all() {
  for (u32 minor = 0; minor < most_minors; minor += minors_of_disk) {
    if (disks[minor] != nullptr) disks[minor]->device().poll();
  }
}

Result<void> Disk::flush_all() {
  Result<void> outcome;
  for (u32 minor = 0; minor < most_minors; minor += minors_of_disk) {
    Disk* disk = disks[minor];
    if (disk == nullptr || disk->taken_.load(Order::acquire) == 0) continue;
    const Result<void> flushed = disk->flush();
    if (!flushed.ok()) outcome = flushed;
    if (!flushed.ok() && flushed.error() == Errno::blocked) break;
  }
  return outcome;
}

bool Disk::flush_at_end(void (*poll)(), Duration limit) {
  static constinit DeviceFlush flushes[most_disks];
  const Instant end = clock::now() + limit;
  for (u64 i = 0; i < most_disks; ++i) {
    Disk* disk = disks[i * minors_of_disk];
    if (disk != nullptr && !disk->device_.read_only() && !flushes[i].busy()) flushes[i].start(disk->device_);
  }
  bool all_kept = true;
  for (u64 i = 0; i < most_disks; ++i) {
    while (flushes[i].busy() && clock::now() < end) poll();
    if (!flushes[i].busy() && !flushes[i].failed()) continue;
    log::error("{}: it may not keep what was written last", disks[i * minors_of_disk]->device_name());
    all_kept = false;
  }
  return all_kept;
}

Attributes Disk::attributes() {
  Attributes a;
  a.device = file_system().device();
  a.inode = minor_ + 1;
  a.type = FileType::block;
  a.permissions = 0660;
  a.special = number();
  a.size = size();
  return a;
}

Result<FilePages::Store::Extent> Disk::find(u64 index, u64 count, Waiter*) {
  return Extent{{index + 1}, count};
}

Result<PagePlace> Disk::reserve(u64 index, u32, u32, Waiter*) {
  return PagePlace{index + 1};
}

PageRun* Disk::make_run() {
  return new (std::nothrow) DiskRun;
}

void Disk::start(PageRun& run) {
  static_cast<DiskRun&>(run).send(device_);
}

Result<u64> Disk::read(u64 offset, Transfer& transfer, u64 at, u64 bytes) {
  return pages_.read(offset, transfer, at, bytes, &stepping_thread());
}

Result<u64> Disk::write(u64 offset, Transfer& transfer, u64 at, u64 bytes) {
  if (offset >= size()) return Errno::enospc;
  return pages_.write(offset, transfer, at, smaller(bytes, size() - offset), &stepping_thread());
}

Result<u64> Disk::append(Transfer&, u64, u64, u64&) {
  return Errno::enospc;
}

Result<void> Disk::sync(u64& progress) {
  constexpr u64 flushed = 100;
  Thread& thread = stepping_thread();
  if (progress != flushed) {
    TRY(pages_.flush(progress, thread));
    progress = flushed;
  }
  return flush();
}

Result<void> Disk::flush() {
  (void)TRY(StepMemory::perform(stepping_thread(), [&]() -> Result<Ref<Operation>> {
    return Ref<Operation>{Ref<Flush>::adopt(TRY(memory::make<Flush>(*this)))};
  }));
  return {};
}

Result<Ref<vm::Backing>> Disk::backing() {
  return make_backing(*this, pages_);
}

// ---- open disks ------------------------------------------------------------------------------------------------------

namespace {

// The node in /dev has the name; the disk has the bytes.
class DiskFile final : public OpenFile {
 public:
  DiskFile(Inode& node, u32 flags, Disk& disk, Ref<PositionedFile> bytes)
      : OpenFile{Ref<Inode>::share(node), flags}, disk_{disk}, bytes_{static_cast<Ref<PositionedFile>&&>(bytes)} {}
  Result<u64> read(Thread& thread, Transfer& transfer) override { return bytes_->read(thread, transfer); }
  Result<u64> write(Thread& thread, Transfer& transfer) override {
    return disk_.read_only() ? Errno::eperm : bytes_->write(thread, transfer);
  }
  Result<u64> read_at(Thread& thread, u64 offset, Transfer& to) override { return bytes_->read_at(thread, offset, to); }
  Result<u64> write_at(Thread& thread, u64 offset, Transfer& from) override {
    return disk_.read_only() ? Errno::eperm : bytes_->write_at(thread, offset, from);
  }
  Result<u64> seek(i64 offset, Whence whence) override { return bytes_->seek(offset, whence); }
  Result<Ref<vm::Backing>> backing() override { return disk_.backing(); }
  Result<void> sync(u64& progress) override { return bytes_->sync(progress); }
  Result<i64> control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) override;

 private:
  Disk& disk_;
  Ref<PositionedFile> bytes_;
};

constexpr u64 sectors_of_page = page_size / BlockDevice::sector_size;

// Source: uapi linux/fs.h. The order of the checks is Linux's.
Result<i64> DiskFile::control(Thread& thread, vm::AddressSpace& space, u32 request, u64 argument) {
  enum : u32 {
    set_read_only = 0x125d,
    get_read_only = 0x125e,
    get_sectors = 0x1260,
    set_read_ahead = 0x1262,
    get_read_ahead = 0x1263,
    set_file_read_ahead = 0x1264,
    get_file_read_ahead = 0x1265,
    get_sector_size = 0x1268,
    get_smallest = 0x1278,
    get_best = 0x1279,
    get_alignment = 0x127a,
    get_physical_size = 0x127b,
    get_cached_size = 0x8008'1270,
    get_size = 0x8008'1272,
  };
  const auto answer = [&](auto value) -> Result<i64> {
    TRY(vm::write_user(space, thread.caller, {argument}, value));
    return i64{0};
  };
  switch (request) {
    case set_read_only: {
      if (!thread.may(Capability::sys_admin)) return Errno::eacces;
      disk_.set_read_only(TRY(vm::read_user<i32>(space, thread.caller, {argument})) != 0);
      return 0;
    }
    case get_read_only: return answer(i32{disk_.read_only() ? 1 : 0});
    case get_sectors: return answer(disk_.device().sectors());
    case set_read_ahead:
    case set_file_read_ahead:
      if (!thread.may(Capability::sys_admin)) return Errno::eacces;
      disk_.read_ahead.store(argument / sectors_of_page * sectors_of_page, Order::relaxed);
      return 0;
    case get_read_ahead:
    case get_file_read_ahead:
      if (argument == 0) return Errno::einval;
      return answer(disk_.read_ahead.load(Order::relaxed));
    case get_sector_size:
    case get_smallest:
    case get_physical_size: return answer(static_cast<i32>(BlockDevice::sector_size));
    case get_best:
    case get_alignment: return answer(i32{0});
    case get_cached_size: return answer(static_cast<i32>(page_size));
    case get_size: return answer(disk_.size());
    default: return Errno::enotty;
  }
}

}  // namespace

Result<Ref<OpenFile>> open_disk(Inode& node, DeviceNumber number, const OpenRequest& request) {
  Disk* disk = Disk::find(number);
  if (disk == nullptr) return Errno::enxio;
  if ((request.flags & o_accmode) != o_rdonly && disk->device().read_only()) return Errno::erofs;
  Ref<PositionedFile> bytes =
      Ref<PositionedFile>::adopt(TRY(memory::make<PositionedFile>(Ref<Inode>::share(*disk), request.flags & ~o_append)));
  return Ref<OpenFile>{Ref<DiskFile>::adopt(TRY(memory::make<DiskFile>(node, request.flags, *disk, bytes)))};
}

}  // namespace corral::fs
