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

// The device's form of a request; lives until the answer.
class DiskRequest final : public Request {
 public:
  explicit DiskRequest(BlockRequest& owner) : owner_{owner} {}
  Result<void> send(RequestQueue& queue);

 private:
  void finished(Result<u32> written) override;

  struct Header {  // struct virtio_blk_req
    u32 type;
    u32 reserved;
    u64 sector;
  };
  BlockRequest& owner_;
  Header header_{};
  u8 status_ = status_unanswered;
};

Result<void> DiskRequest::send(RequestQueue& queue) {
  const bool reads = owner_.kind == BlockRequest::Kind::read;
  header_.type = owner_.kind == BlockRequest::Kind::flush ? type_flush : reads ? type_in : type_out;
  header_.sector = owner_.kind == BlockRequest::Kind::flush ? 0 : owner_.sector;
  bool room = add_piece(&header_, sizeof header_, false);
  for (u32 i = 0; i < owner_.count; ++i) room = room && add_piece(owner_.pieces[i].memory, owner_.pieces[i].bytes, reads);
  room = room && add_piece(&status_, 1, true);
  if (!room) return Errno::einval;
  return queue.submit(*this);
}

void DiskRequest::finished(Result<u32> written) {
  BlockRequest& owner = owner_;
  const bool good = written.ok() && status_ == status_ok;
  delete this;
  owner.finished(good ? Result<void>{} : Errno::eio);
}

}  // namespace

Result<void> VirtioDisk::start(u32 core) {
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
  auto* made = new (std::nothrow) DiskRequest(request);
  if (made == nullptr) return Errno::enomem;
  const Result<void> sent = made->send(queue_);
  if (!sent.ok()) delete made;
  return sent;
}

size_t VirtioDisk::describe(char* to, size_t size) const {
  return format_to({to, size}, "virtio disk, {} sectors of {} bytes{}", sectors_, sector_size, read_only_ ? ", read-only" : "")
      .size();
}

}  // namespace corral::virtio
