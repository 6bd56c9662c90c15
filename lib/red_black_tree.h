// A red-black tree whose links are members of the elements: no allocation. Equal elements keep the order of insertion.
// Both ends are known, so first(), last() and what goes to the end need no way down. Not synchronised.
// Source: Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, chapter 13.
#pragma once

#include <cstddef>

namespace corral {

class TreeLink {
 public:
  constexpr TreeLink() = default;
  TreeLink(const TreeLink&) = delete;
  TreeLink& operator=(const TreeLink&) = delete;
  [[nodiscard]] bool linked() const { return linked_; }
  // The tree that it was in is not used any more.
  void forget() { linked_ = false; }

 private:
  friend class RedBlackTreeBase;
  template <class T, TreeLink T::* Link, class Less>
  friend class RedBlackTree;
  TreeLink* parent_ = nullptr;
  TreeLink* left_ = nullptr;
  TreeLink* right_ = nullptr;
  bool red_ = false;
  bool linked_ = false;
};

// The balancing, the same for all element types.
class RedBlackTreeBase {
 public:
  constexpr RedBlackTreeBase() = default;
  RedBlackTreeBase(const RedBlackTreeBase&) = delete;
  RedBlackTreeBase& operator=(const RedBlackTreeBase&) = delete;
  [[nodiscard]] bool empty() const { return root_ == nullptr; }
  // Checks every rule of the structure (colours, black heights, parent links, both ends); for tests.
  [[nodiscard]] bool valid() const;

 protected:
  void insert_at(TreeLink& node, TreeLink* parent, bool as_left);
  void remove_node(TreeLink& node);
  TreeLink* remove_first();  // the tree is not empty
  static TreeLink* next_of(const TreeLink* node);
  static TreeLink* previous_of(const TreeLink* node);

  TreeLink* root_ = nullptr;
  TreeLink* first_ = nullptr;
  TreeLink* last_ = nullptr;

 private:
  void rotate_left(TreeLink& node);
  void rotate_right(TreeLink& node);
  void replace(TreeLink& old_node, TreeLink* new_node);
  void mend_insert(TreeLink* node);
  void mend_remove(TreeLink* node, TreeLink* parent);
};

template <class T, TreeLink T::* Link, class Less>
class RedBlackTree : public RedBlackTreeBase {
 public:
  constexpr RedBlackTree() = default;
  void insert(T& item) {
    if (last_ == nullptr || !Less{}(item, *element(last_))) return insert_at(item.*Link, last_, false);
    TreeLink* parent = nullptr;
    TreeLink* place = root_;
    bool left = false;
    while (place != nullptr) {
      parent = place;
      left = Less{}(item, *element(place));
      place = left ? place->left_ : place->right_;
    }
    insert_at(item.*Link, parent, left);
  }
  void remove(T& item) { remove_node(item.*Link); }
  // Takes the first one out; null: the tree is empty.
  T* pop_first() { return empty() ? nullptr : element(remove_first()); }
  [[nodiscard]] T* first() const { return element_or_null(first_); }
  [[nodiscard]] T* last() const { return element_or_null(last_); }
  [[nodiscard]] T* next(const T& item) const { return element_or_null(next_of(&(item.*Link))); }
  [[nodiscard]] T* previous(const T& item) const { return element_or_null(previous_of(&(item.*Link))); }

  // The first element for which `reaches(element)` is true, where the elements for which it is false come before all
  // for which it is true; null when there is none. O(log n).
  template <class Predicate>
  [[nodiscard]] T* first_where(Predicate&& reaches) const {
    TreeLink* found = nullptr;
    for (TreeLink* place = root_; place != nullptr;) {
      if (reaches(*element(place))) {
        found = place;
        place = place->left_;
      } else {
        place = place->right_;
      }
    }
    return element_or_null(found);
  }

 private:
  static T* element(TreeLink* link) {
    const T* base = reinterpret_cast<const T*>(std::size_t{4096} * alignof(T));  // an address to measure from; never read
    auto offset = reinterpret_cast<const char*>(&(base->*Link)) - reinterpret_cast<const char*>(base);
    return reinterpret_cast<T*>(reinterpret_cast<char*>(link) - offset);
  }
  static T* element_or_null(TreeLink* link) { return link == nullptr ? nullptr : element(link); }
};

}  // namespace corral
