// A doubly linked list whose links are members of the elements: no allocation, removal in O(1).
// The list owns nothing; an element may be in one list per link; putting it in twice, or taking out what is in no list,
// traps. Not synchronised: its owner says by what.
#pragma once

#include <cstddef>

namespace corral {

class ListLink {
 public:
  constexpr ListLink() = default;
  ListLink(const ListLink&) = delete;
  ListLink& operator=(const ListLink&) = delete;
  [[nodiscard]] bool linked() const { return next_ != nullptr; }
  // The same for those who do not own it, while its owner may change it: as it is at this moment.
  [[nodiscard]] bool seen_linked() const { return __atomic_load_n(&next_, __ATOMIC_RELAXED) != nullptr; }
  // The neighbours know it. To be asked of what is said to be linked; null and wild neighbours fault.
  [[nodiscard]] bool in_place() const { return next_->previous_ == this && previous_->next_ == this; }
  // Whatever it was in is not used any more.
  void forget() { next_ = previous_ = nullptr; }

 private:
  template <class T, ListLink T::* Link>
  friend class IntrusiveList;
  ListLink* next_ = nullptr;
  ListLink* previous_ = nullptr;
};

template <class T, ListLink T::* Link>
class IntrusiveList {
 public:
  constexpr IntrusiveList() = default;
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  [[nodiscard]] bool empty() const { return head_.next_ == nullptr || head_.next_ == &head_; }
  [[nodiscard]] T* front() { return empty() ? nullptr : element(head_.next_); }
  [[nodiscard]] T* back() { return empty() ? nullptr : element(head_.previous_); }
  // The element after `item`, or null at the end.
  [[nodiscard]] T* next(T& item) {
    ListLink* n = (item.*Link).next_;
    return n == &head_ ? nullptr : element(n);
  }

  // The element before `item`, or null at the beginning.
  [[nodiscard]] T* previous(T& item) {
    ListLink* p = (item.*Link).previous_;
    return p == &head_ ? nullptr : element(p);
  }

  void push_back(T& item) { insert_between(item, tail(), head()); }
  void push_front(T& item) { insert_between(item, head(), head()->next_); }
  // `position` must be in this list.
  void insert_before(T& position, T& item) { insert_between(item, (position.*Link).previous_, &(position.*Link)); }

  T* pop_front() {
    T* item = front();
    if (item != nullptr) remove(*item);
    return item;
  }
  T* pop_back() {
    T* item = back();
    if (item != nullptr) remove(*item);
    return item;
  }
  // `item` must be in this list.
  static void remove(T& item) {
    ListLink& link = item.*Link;
    if (!link.linked()) __builtin_trap();
    link.previous_->next_ = link.next_;
    link.next_->previous_ = link.previous_;
    link.next_ = nullptr;
    link.previous_ = nullptr;
  }

  // The visitor may remove the element that it is given.
  template <class Visitor>
  void for_each(Visitor&& visit) {
    for (T* item = front(); item != nullptr;) {
      T* following = next(*item);
      visit(*item);
      item = following;
    }
  }

 private:
  ListLink* head() {
    if (head_.next_ == nullptr) head_.next_ = head_.previous_ = &head_;
    return &head_;
  }
  ListLink* tail() { return head()->previous_; }
  void insert_between(T& item, ListLink* before, ListLink* after) {
    ListLink& link = item.*Link;
    if (link.linked()) __builtin_trap();
    link.previous_ = before;
    link.next_ = after;
    before->next_ = &link;
    after->previous_ = &link;
  }
  static T* element(ListLink* link) {
    const T* base = reinterpret_cast<const T*>(std::size_t{4096} * alignof(T));  // an address to measure from; never read
    auto offset = reinterpret_cast<const char*>(&(base->*Link)) - reinterpret_cast<const char*>(base);
    return reinterpret_cast<T*>(reinterpret_cast<char*>(link) - offset);
  }

  ListLink head_;
};

}  // namespace corral
