// Disks, as the rooms above see them: numbered sectors of 512 bytes, moved by requests that are answered later.
#pragma once

#include "device/device.h"
#include "lib/intrusive_list.h"
#include "lib/result.h"

namespace corral {

// One contiguous piece of a disk to be moved from or to pieces of memory. Belongs to its maker again when finished() is called.
class BlockRequest {
 public:
  enum class Kind : u8 { read, write, flush };
  static constexpr u32 most_pieces = 32;
  struct Piece {
    u8* memory;  // in the direct map, physically contiguous
    u32 bytes;  // a multiple of sector_size
  };
  Kind kind = Kind::read;
  u64 sector = 0;  // the first; flush: not used
  Piece pieces[most_pieces] = {};
  u32 count = 0;  // flush: 0
  ListLink link;  // the device's, from submit() to finished()

  // Once for each submit() that succeeded, in interrupt context, with no lock held; `moved`: all of it. eio, enospc …
  virtual void finished(Result<void> moved) = 0;

 protected:
  ~BlockRequest() = default;
};

class BlockDevice : public Device {
 public:
  static constexpr DeviceClass device_class_object{"disk"};
  static constexpr u64 sector_size = 512;

  [[nodiscard]] virtual u64 sectors() const = 0;
  [[nodiscard]] virtual bool read_only() const = 0;
  // Any context, lower-ranked locks may be held; finished() is never called from within. What is written has reached the disk for good
  // when a flush that was submitted after it was answered is finished. eio: the device has failed, or the piece is not on it;
  // erofs; eopnotsupp: a flush, of a device where what is written is there for good at once. Not enomem: pages are written because memory
  // is short, and what they hold must not be lost.
  virtual Result<void> submit(BlockRequest& request) = 0;
  // Handles answers without an interrupt: when the machine is switched off.
  virtual void poll() = 0;

 protected:
  BlockDevice() : Device{device_class_object} {}
  ~BlockDevice() = default;
};

}  // namespace corral
