// Every device is an object, found by type and by name (paper 000, section 3.2: cores are devices too).
//
// Devices are registered once and live for ever, so what find() returned stays valid without a lock. Application cores
// register their own devices (timer, local interrupt controller) while others look: the list has a lock.
#pragma once

#include <string_view>

#include "lib/intrusive_list.h"
#include "lib/types.h"
#include "sync/spin_lock.h"

namespace corral {

// One object for each class of device; compared by address, so no run-time type information is needed.
struct DeviceClass {
  const char* name;  // at most 16 characters: "core", "local-apic", "core-timer", "io-apic", "console" …
};

class Device {
 public:
  constexpr explicit Device(const DeviceClass& device_class) : class_{device_class} {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const DeviceClass& device_class() const { return class_; }
  // "core0", "core-timer2", …: class name and number, given by the manager when the device is registered.
  [[nodiscard]] std::string_view name() const { return {name_, name_length_}; }
  // One line for the device list (/proc/devices-tree, `lsdev`): what it is and where. Writes at most to.size() bytes, returns how many.
  virtual size_t describe(char* to, size_t size) const = 0;

 protected:
  ~Device() = default;  // devices live for ever

 private:
  friend class DeviceManager;
  const DeviceClass& class_;
  // Written once, by the manager under its lock, before the device can be found.
  char name_[24] = {};
  u8 name_length_ = 0;
  u32 number_ = 0;
  ListLink link_;  // guarded by the manager's lock
};

class DeviceManager {
 public:
  constexpr DeviceManager() = default;
  // Any core; not in interrupt context. The number in the name counts devices of the same class from 0. A device is
  // added once and never taken out.
  void add(Device& device) EXCLUDES(lock_);
  [[nodiscard]] Device* find(std::string_view name) EXCLUDES(lock_);
  // The n-th device of a class, null when there are fewer.
  [[nodiscard]] Device* find(const DeviceClass& device_class, u32 number = 0) EXCLUDES(lock_);
  template <class T>
  [[nodiscard]] T* find(u32 number = 0) EXCLUDES(lock_) {
    return static_cast<T*>(find(T::device_class_object, number));
  }
  // In order of registration. The lock is not held while `visit` runs (devices are never taken out).
  using Visitor = void (*)(void* context, Device& device);
  void for_each(Visitor visit, void* context) EXCLUDES(lock_);

 private:
  SpinLock lock_{Rank::device_manager, "devices"};
  IntrusiveList<Device, &Device::link_> devices_ GUARDED_BY(lock_);
};

[[nodiscard]] DeviceManager& devices();

}  // namespace corral
