// What every file of a RamFileSystem has: attributes, and the name by which it was last linked.
#pragma once

#include "fs/kept_attributes.h"
#include "fs/ram/ram_file_system.h"

namespace corral::fs {

class RamAttributes;
class RamDirectory;

class RamNode : public Inode {
 public:
  RamNode(RamFileSystem& file_system, FileType type, u32 permissions);  // root's
  void set_owner(u32 user, u32 group) { kept_.set_owner(user, group); }  // before others know it
  ~RamNode() override;

  [[nodiscard]] Attributes attributes() override;
  Result<void> change(const AttributeChange& change) override;
  Result<Ref<Inode>> parent() override;
  Result<std::string_view> name(std::span<char> to) override;

  [[nodiscard]] u32 told_flags() const override;
  Result<void> set_flags(u32 wanted, bool may_protect) override;
  void inherit_flags(const RamNode& directory);  // before others know it
  Result<u64> attribute(std::string_view name, std::span<u8> to) override;
  Result<void> set_attribute(std::string_view name, std::span<const u8> value, AttributeSetting setting) override;
  Result<void> remove_attribute(std::string_view name) override;
  Result<u64> list_attributes(std::span<char> to, bool trusted) override;

  [[nodiscard]] RamFileSystem& ram() const { return static_cast<RamFileSystem&>(file_system()); }
  [[nodiscard]] virtual u64 size_now() { return 0; }
  [[nodiscard]] virtual u64 pages_now() { return 0; }
  void touch_modified() { kept_.touch_modified(); }
  void touch_changed() { kept_.touch_changed(); }
  void set_times(i64 ns) { kept_.set_times(ns); }
  // It can be found by its number from now on. enomem.
  Result<u64> make_handle();

  // ---- guarded by ram().names() ----
  struct Place {
    RamDirectory* directory = nullptr;  // holds this node; null: removed, or never linked
    std::string_view name = {};         // in the directory's entry
  };
  Place place;
  Atomic<u32> links{0};

 protected:
  const u64 number_;

 private:
  KeptAttributes kept_;
  Atomic<bool> has_handle_{false};
  Atomic<RamAttributes*> extended_{nullptr};  // owned; null until one is set
};

// Symbolic links.
class RamLink final : public RamNode {
 public:
  // enomem.
  static Result<Ref<RamNode>> create(RamFileSystem& file_system, std::string_view target);
  RamLink(RamFileSystem& file_system, char* text, u64 size)
      : RamNode{file_system, FileType::symlink, 0777}, text_{text}, size_{size} {}
  ~RamLink() override;
  Result<std::string_view> read_link(std::span<char> to) override;
  [[nodiscard]] u64 size_now() override { return size_; }

 private:
  char* const text_;  // heap
  const u64 size_;
};

// Device nodes: opening leads to the device with this number (fs/device_files.h).
class RamDevice final : public RamNode {
 public:
  RamDevice(RamFileSystem& file_system, FileType type, u32 permissions, DeviceNumber number)
      : RamNode{file_system, type, permissions}, device_{number} {}
  [[nodiscard]] Attributes attributes() override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;

 private:
  const DeviceNumber device_;
};

// Sockets have a name only.
class RamSocket final : public RamNode {
 public:
  RamSocket(RamFileSystem& file_system, u32 permissions) : RamNode{file_system, FileType::socket, permissions} {}
};

}  // namespace corral::fs
