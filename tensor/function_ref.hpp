// A reference to a callable, for a call through one pointer: a loop that takes one is compiled
// once, not once for every lambda that it is given. It does not own: use it as a parameter only.
#pragma once

#include <type_traits>

namespace glim {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(const F& f)
      : object_(&f), call_([](const void* object, Args... args) -> R {
          return (*static_cast<const F*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  const void* object_;
  R (*call_)(const void*, Args...);
};

}  // namespace glim
