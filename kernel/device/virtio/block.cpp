// See block.h.
#include "device/virtio/block.h"

#include "lib/format.h"
#include "memory/heap.h"
#include "trace/log.h"

namespace corral::virtio {

namespace {

constexpr u64 feature_read_only = 1u << 5, feature_flush = 1u << 9;
constexpr u32 type_in = 0, type_out = 1, type_flush = 4;
constexpr u8 status_ok = 0, status_unanswered = 0xff;

}  // namespace

// The device's form of a request.
class DiskCarrier final : public Request {
 public:
  explicit DiskCarrier(VirtioDisk& disk) : disk_{disk} {}
  Result<void> send(BlockRequest& owner);

 private:
  void finished(Result<u32> written) override;

  struct Header {  // struct virtio_blk_req
    u32 type;
    u32 reserved;
    u64 sector;
  };
  VirtioDisk& disk_;
  BlockRequest* owner_ = nullptr;
  Header header_{};
  u8 status_ = status_unanswered;
};

Result<void> DiskCarrier::send(BlockRequest& owner) {
  owner_ = &owner;
  status_ = status_unanswered;
  const bool reads = owner.kind == BlockRequest::Kind::read;
  header_.type = owner.kind == BlockRequest::Kind::flush ? type_flush : reads ? type_in : type_out;
  header_.sector = owner.kind == BlockRequest::Kind::flush ? 0 : owner.sector;
  clear_pieces();
  bool room = add_piece(&header_, sizeof header_, false);
  for (u32 i = 0; i < owner.count; ++i) room = room && add_piece(owner.pieces[i].memory, owner.pieces[i].bytes, reads);
  room = room && add_piece(&status_, 1, true);
  if (!room) return Errno::einval;
  return disk_.queue_.submit(*this);
}

void DiskCarrier::finished(Result<u32> written) {
  BlockRequest& owner = *owner_;
  const bool good = written.ok() && status_ == status_ok;
  disk_.take_back(*this);
  owner.finished(good ? Result<void>{} : Errno::eio);
}

Result<void> VirtioDisk::start(u32 core) {
  DiskCarrier* spare = TRY(memory::make<DiskCarrier>(*this));
  {
    LockGuard guard{lock_};
    spare_ = spare;
  }
  TRY(queue_.start("virtio-blk", feature_read_only | feature_flush, core));
  PciTransport& transport = queue_.transport();
  sectors_ = transport.config(0, 8);
  read_only_ = transport.has(feature_read_only);
  flushes_ = transport.has(feature_flush);
  return {};
}

Result<void> VirtioDisk::start_all(u32 core) {
  for (u32 i = 0;; ++i) {
    auto* device = devices().find<pci::PciDevice>(i);
    if (device == nullptr) return {};
    if (kind_of(device->function()) != static_cast<u16>(DeviceKind::block) || !device->claim()) continue;
    VirtioDisk* disk = TRY(memory::make<VirtioDisk>(*device));
    const Result<void> started = disk->start(core);
    if (!started.ok()) {
      log::warning("{}: this disk does not start (error {})", device->name(), started.error());
      continue;
    }
    devices().add(*disk);
    log::info("{}: {} KiB{}", disk->name(), disk->sectors() / 2, disk->read_only() ? ", read-only" : "");
  }
}

Result<void> VirtioDisk::submit(BlockRequest& request) {
  if (request.count > BlockRequest::most_pieces) return Errno::einval;
  u64 bytes = 0;
  for (u32 i = 0; i < request.count; ++i) bytes += request.pieces[i].bytes;
  const bool flush = request.kind == BlockRequest::Kind::flush;
  if (flush != (bytes == 0) || bytes % sector_size != 0) return Errno::einval;
  if (!flush && (request.sector > sectors_ || bytes / sector_size > sectors_ - request.sector)) return Errno::eio;
  if (request.kind == BlockRequest::Kind::write && read_only_) return Errno::erofs;
  if (flush && !flushes_) return Errno::eopnotsupp;  // it has no cache
  if (auto* carrier = new (std::nothrow) DiskCarrier(*this)) {
    const Result<void> sent = carrier->send(request);
    if (!sent.ok()) delete carrier;
    return sent;
  }
  LockGuard guard{lock_};  // held while it is sent: a spare carrier that cannot leave stays the spare one
  if (spare_ == nullptr) {
    waiting_.push_back(request);
    return {};
  }
  TRY(spare_->send(request));
  spare_ = nullptr;
  return {};
}

void VirtioDisk::take_back(DiskCarrier& carrier) {
  for (;;) {
    BlockRequest* next = nullptr;
    bool spare = false;
    {
      LockGuard guard{lock_};
      next = waiting_.pop_front();
      spare = next == nullptr && spare_ == nullptr;
      if (spare) spare_ = &carrier;
    }
    if (spare) return;
    if (next == nullptr) {
      delete &carrier;
      return;
    }
    const Result<void> sent = carrier.send(*next);
    if (sent.ok()) return;
    next->finished(sent.error());
  }
}

size_t VirtioDisk::describe(char* to, size_t size) const {
  return format_to({to, size}, "virtio disk, {} sectors of {} bytes{}", sectors_, sector_size, read_only_ ? ", read-only" : "")
      .size();
}

}  // namespace corral::virtio
