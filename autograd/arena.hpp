// The memory of a tape: pieces in a row, which are taken back from the end, all at once. Nodes, ops and what ops saved
// are in it side by side, in the order in which backward reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "tensor/storage.hpp"

namespace glim {

class TapeArena {
 public:
  struct Mark {
    std::size_t chunks = 0, used = 0;
  };
  Mark mark() const { return {chunks_.size(), used_}; }
  // Takes back what was given out since the mark. Whoever made objects there has ended their lives.
  void rewind(const Mark& mark) {
    chunks_.resize(mark.chunks);
    used_ = mark.used;
    open();
  }

  // Room for `count` objects of T, uninitialised.
  template <class T>
  T* room(std::size_t count = 1) {
    std::size_t offset = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    if (offset + count * sizeof(T) > size_) [[unlikely]] {
      grow(count * sizeof(T));
      offset = 0;
    }
    used_ = offset + count * sizeof(T);
    return reinterpret_cast<T*>(base_ + offset);
  }
  template <class T, class... A>
  T* make(A&&... arguments) {
    return new (room<T>()) T(std::forward<A>(arguments)...);
  }

 private:
  static constexpr std::size_t kFirst = std::size_t{16} << 10, kDoublings = 6;
  void grow(std::size_t least) {
    chunks_.emplace_back(std::max(least, kFirst << std::min(chunks_.size(), kDoublings)));
    open();
  }
  void open() {
    base_ = chunks_.empty() ? nullptr : chunks_.back().data();
    size_ = chunks_.empty() ? 0 : chunks_.back().bytes();
  }
  std::vector<Storage> chunks_;
  std::byte* base_ = nullptr;  // start of the last chunk
  std::size_t size_ = 0, used_ = 0;
};

// Objects in an arena by number. They do not move, and end from the back: no chain of owners recurses.
template <class T>
class ArenaList {
 public:
  struct Iterator {
    T* const* item;
    const T& operator*() const { return **item; }
    Iterator& operator++() {
      ++item;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const T& operator[](std::size_t i) const { return *items_[i]; }
  T& operator[](std::size_t i) { return *items_[i]; }
  const T& back() const { return *items_.back(); }
  T& back() { return *items_.back(); }
  Iterator begin() const { return {items_.data()}; }
  Iterator end() const { return {items_.data() + items_.size()}; }

  T& add(TapeArena& arena) {
    T* item = arena.make<T>();
    items_.push_back(item);
    return *item;
  }
  void remove_last() {
    T* last = items_.back();
    items_.pop_back();
    last->~T();
  }
  std::size_t capacity() const { return items_.capacity(); }

 private:
  std::vector<T*> items_;
};

}  // namespace glim
