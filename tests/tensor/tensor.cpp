#include "tensor/tensor.hpp"

#include <cmath>
#include <limits>

#include "tensor/io/safetensors.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/ops/windows.hpp"
#include "tensor/print.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_tensor {

using namespace glim;

TEST_CASE("tensor takes numbers in braces, and a shape", "[tensor]") {
  Tensor x = tensor({1, 2, 3, 4}, {2, 2});
  CHECK(x.shape() == Shape{2, 2});
  CHECK(x.dtype() == DType::Float32);
  CHECK(elements(x) == std::vector<double>{1, 2, 3, 4});
  CHECK(tensor({1, 2, 3, 4}).shape() == Shape{4});
  Shape row{1, 4};
  CHECK(tensor({1, 2.5, 3, 4}, row, DType::Float64).at<double>({0, 1}) == 2.5);
  CHECK(tensor({1, 2, 3, 4}, {4, 1}, DType::Int64).at<Index>({3, 0}) == 4);
  CHECK(tensor({3}, {}).shape() == Shape{});
  CHECK(tensor({}, {0, 2}).shape() == Shape{0, 2});
  CHECK(tensor({}).shape() == Shape{0});
  CHECK(contains(error_of<ShapeError>([] {
                   tensor({1, 2, 3}, {2, 2});
                 }),
                 "3 values for shape (2, 2)"));
  CHECK_THROWS_AS(tensor({1}, {-1, -1}), ShapeError);
}

TEST_CASE("factories fill what they promise", "[tensor]") {
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool}) {
    Tensor z = zeros({2, 3}, t), o = ones({2, 3}, t);
    CHECK(elements(z) == std::vector<double>(6, 0));
    CHECK(elements(o) == std::vector<double>(6, 1));
    CHECK(z.dtype() == t);
    CHECK(zeros({0, 3}, t).numel() == 0);
  }
  CHECK(elements(full({2}, -2.5)) == std::vector<double>{-2.5, -2.5});
  CHECK(scalar(4).shape() == Shape{});
  CHECK(elements(eye(2)) == std::vector<double>{1, 0, 0, 1});
  CHECK(elements(arange(2, 8, 3)) == std::vector<double>{2, 5});
  CHECK(elements(arange(3, 0, -1)) == std::vector<double>{3, 2, 1});
  CHECK(arange(3, 3).numel() == 0);
  CHECK_THROWS_AS(arange(1e19, 1e19 + 4096, 2048), ValueError);
  CHECK_THROWS_AS(arange(9.2e18, 1e19, 1e17), ValueError);
  CHECK(arange(3, 0).numel() == 0);
  CHECK(elements(arange(0, 1, 0.25, DType::Float64)) == std::vector<double>{0, 0.25, 0.5, 0.75});
  CHECK(elements(from_vector<Index>({1, 2, 3, 4}, {2, 2})) == std::vector<double>{1, 2, 3, 4});
  CHECK(from_vector<bool>({true, false}, {2}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(tensor({1, 2}).kind() == "(2,) float32");
  double inf = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(arange(0, 1, 0), ValueError);
  CHECK_THROWS_AS(arange(0, inf), ValueError);
  CHECK_THROWS_AS(arange(0, 1e300), ShapeError);
  CHECK_THROWS_AS(eye(-1), ShapeError);
  CHECK(error_of<ShapeError>([] {
          from_vector<float>({1, 2, 3}, {2, 2});
        }) == "from_vector: 3 values for shape (2, 2)");
}

TEST_CASE("elements are read by index", "[tensor]") {
  Tensor x = transpose(reshape(arange(0, 6), {2, 3}));
  CHECK(x.at<Index>({2, 1}) == 5);
  CHECK(x.at<Index>({-1, 0}) == 2);
  CHECK(error_of<IndexError>([&] {
          x.at<Index>({0, 2});
        }) == "at: index 2 on axis 1 of extent 2\n  x (3, 2) int64");
  CHECK(error_of<IndexError>([&] { x.at<Index>({0}); }) ==
        "at: 1 indices for rank 2\n  x (3, 2) int64");
  CHECK(error_of<DTypeError>([&] {
          x.at<float>({0, 0});
        }) == "data: elements are read as float32\n  x (3, 2) int64");
  CHECK(tensor({3}).item() == 3);
  CHECK(error_of<ShapeError>([&] { x.item(); }) ==
        "item: need exactly one element\n  x (3, 2) int64");
  CHECK(x.to_vector<Index>() == std::vector<Index>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("an undefined tensor is an error, not a crash", "[tensor]") {
  Tensor none;
  CHECK_FALSE(none.defined());
  CHECK(none.kind() == "undefined");
  CHECK_THROWS_AS(none.item(), Error);
  CHECK_THROWS_AS(none.data<float>(), StateError);
  CHECK_THROWS_AS(add(none, none), StateError);
  CHECK_THROWS_AS(none.clone(), StateError);
  CHECK(error_of([&] { reshape(none, {1}); }) == "reshape: the tensor is undefined");
  CHECK(error_of([] { Tensor::from_storage({}, 0, {}, {}, DType::Bool); }) ==
        "from_storage: the storage is undefined");
  CHECK(none.storage().data() == nullptr);
  CHECK(none.storage().bytes() == 0);
  CHECK(to_string(none) == "undefined");

  const Tensor x = ones({2, 2}), at = zeros({1}, DType::Int64);
  const Window w{2};
  const std::vector<std::function<void()>> uses = {
      [&] { none.at<float>({}); },
      [&] { none.size(0); },
      [&] { none.to_vector<float>(); },
      [&] {
        static_cast<void>(none.view({1, 1}));
      },
      [&] { transpose(none); },
      [&] { slice(none, 0, 0, 1); },
      [&] { narrow(none, 0, 0, 1); },
      [&] { select(none, 0, 0); },
      [&] { squeeze(none, 0); },
      [&] { none.to(DType::Float64); },
      [&] { none.copy_(x); },
      [&] { none.copy_(none); },
      [&] { x.copy_(none); },
      [&] { none.fill_(1); },
      [&] { mul(x, none); },
      [&] { maximum(none, x); },
      [&] { add(none, 1); },
      [&] { add_(none, none); },
      [&] { add_(x, none); },
      [&] { add_scaled_(none, none, 2); },
      [&] { mul_(none, 2); },
      [&] { neg(none); },
      [&] { exp(none); },
      [&] { relu(none); },
      [&] { pow(none, 2); },
      [&] { clamp(none, 0, 1); },
      [&] { equal(none, none); },
      [&] { less(none, 1.0); },
      [&] { logical_not(none); },
      [&] { where(none, x, x); },
      [&] { where(equal(x, x), x, none); },
      [&] { all_finite(none); },
      [&] { same_bits(none, none); },
      [&] { sum(none); },
      [&] { mean(none); },
      [&] { max(none); },
      [&] { var(none); },
      [&] { argmax(none, 0); },
      [&] { any(none); },
      [&] { cumsum(none, 0); },
      [&] { sum_to(none, {1}); },
      [&] { norm(none); },
      [&] { dot(none, none); },
      [&] { softmax(none); },
      [&] { log_softmax(none); },
      [&] { logsumexp(none); },
      [&] { matmul(none, x); },
      [&] { matmul(x, none); },
      [&] { matmul_into(none, select(x, 0, 0), select(x, 0, 0), 1, 0); },
      [&] { matmul_then(x, none, {none}); },
      [&] { matmul_by(GemmEngine::OpenBlas, none, none); },
      [&] { gather(none, 0, at); },
      [&] { gather(x, 0, none); },
      [&] {
        scatter_add(x, 0, zeros({1, 1}, DType::Int64), none);
      },
      [&] { index_select(none, 0, at); },
      [&] { index_select(x, 0, none); },
      [&] { index_add({2}, 0, at, none); },
      [&] { index_add_(none, 0, at, x); },
      [&] {
        concatenate({none, none}, 0);
      },
      [&] {
        stack({none, none}, 0);
      },
      [&] {
        stack({scalar(1), none}, 0);
      },
      [&] { split(none, 0, {1}); },
      [&] { tril(none); },
      [&] { one_hot(none, 2); },
      [&] { sort(none); },
      [&] { top_k(none, 1); },
      [&] { unfold(none, w, w); },
      [&] { fold(none, 2, 2, w, w); },
      [&] {
        write_safetensors("never", {{"x", none}});
      },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    INFO(i);
    CHECK_THROWS_AS(uses[i](), Error);
  }
}

TEST_CASE("a clone is row-major and apart", "[tensor]") {
  Dice dice(1);
  for (int round = 0; round < 300; ++round) {
    DType t = static_cast<DType>(round % 4);
    Tensor x = random_view(dice, t), y = x.clone();
    CHECK(y.is_contiguous());
    CHECK(y.shape() == x.shape());
    CHECK(elements(y) == elements(x));
    CHECK_FALSE(y.storage() == x.storage());
    CHECK(x.contiguous().is_contiguous());
    if (x.is_contiguous()) CHECK(x.contiguous().storage() == x.storage());
  }
}

TEST_CASE("dtypes convert", "[tensor]") {
  Tensor x = tensor({-1.7, -0.0, 0.4, 2.9}, DType::Float64);
  CHECK(elements(x.to(DType::Int64)) == std::vector<double>{-1, 0, 0, 2});
  CHECK(elements(x.to(DType::Bool)) == std::vector<double>{1, 0, 1, 1});
  CHECK(x.to(DType::Float32).at<float>({0}) == -1.7f);
  CHECK(elements(tensor({1, 0}, DType::Bool).to(DType::Float32)) == std::vector<double>{1, 0});
  CHECK(x.to(DType::Float64).storage() == x.storage());
}

TEST_CASE("what int64 cannot hold becomes the least integer", "[tensor]") {
  double inf = std::numeric_limits<double>::infinity();
  for (DType t : {DType::Float32, DType::Float64}) {
    Tensor x = tensor({std::nan(""), inf, -inf, 1e30, -1e30, 0x1p63, -0x1p63}, t);
    CHECK(x.to(DType::Int64).to_vector<Index>() == std::vector<Index>(7, INT64_MIN));
  }
  CHECK(full({1}, std::nan(""), DType::Int64).item() == static_cast<double>(INT64_MIN));
}

TEST_CASE("copy_ broadcasts and checks", "[tensor]") {
  Tensor x = zeros({2, 3});
  x.copy_(tensor({1, 2, 3}));
  CHECK(elements(x) == std::vector<double>{1, 2, 3, 1, 2, 3});
  transpose(x).copy_(tensor({7, 8}));
  CHECK(elements(x) == std::vector<double>{7, 7, 7, 8, 8, 8});
  slice(x, 1, 0, 3, 2).fill_(0);
  CHECK(elements(x) == std::vector<double>{0, 7, 0, 0, 8, 0});
  CHECK(error_of<DTypeError>([&] { x.copy_(zeros({3}, DType::Int64)); }) ==
        "copy_: dtypes differ\n  to (2, 3) float32\n  from (3,) int64");
  CHECK_THROWS_AS(x.copy_(zeros({2})), ShapeError);
  CHECK_THROWS_AS(x.copy_(zeros({1, 2, 3})), ShapeError);
}

TEST_CASE("a copy between overlapping views reads before it writes", "[tensor]") {
  for (Index n : {8, 50000}) {
    Tensor x = arange(0, static_cast<double>(n));
    slice(x, 0, 1, n).copy_(slice(x, 0, 0, n - 1));
    std::vector<Index> expected{0};
    for (Index i = 0; i + 1 < n; ++i) expected.push_back(i);
    CHECK(x.to_vector<Index>() == expected);
  }
  Tensor square = reshape(arange(0, 10000), {100, 100}), before = square.clone();
  square.copy_(transpose(square));
  CHECK(same_bits(square, transpose(before)));
}

TEST_CASE("an expanded tensor cannot be written", "[tensor]") {
  Tensor x = broadcast_to(zeros({3, 1}), {3, 4});
  std::string text = error_of<ValueError>([&] { x.copy_(ones({3, 4})); });
  CHECK(text == "copy_: several positions share one element\n  to (3, 4) float32");
  CHECK_THROWS_AS(x.fill_(1), ValueError);
  CHECK_THROWS_AS(add_(x, ones({3, 4})), ValueError);
  CHECK_THROWS_AS(add_scaled_(x, ones({3, 4}), 2), ValueError);
  CHECK_THROWS_AS(mul_(x, 2), ValueError);
  broadcast_to(zeros({1}), {1, 1}).fill_(1);  // nothing is shared
  Tensor none = broadcast_to(zeros({1, 0}), {4, 0});
  none.fill_(1);
  add_(none, none);
}

TEST_CASE("from_storage stays inside the storage", "[tensor]") {
  Tensor x = arange(0, 6);
  Tensor windows = Tensor::from_storage(x.storage(), 0, {4, 3}, {1, 1}, DType::Int64);
  CHECK(elements(windows) == std::vector<double>{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5});
  Tensor reversed = Tensor::from_storage(x.storage(), 5, {6}, {-1}, DType::Int64);
  CHECK(elements(add(reversed, x)) == std::vector<double>(6, 5));
  auto outside = [&](Index offset, Shape shape, Strides strides) {
    CHECK_THROWS_AS(Tensor::from_storage(x.storage(), offset, shape, strides, DType::Int64),
                    ShapeError);
  };
  outside(0, {7}, {1});
  outside(1, {6}, {1});
  outside(-1, {1}, {1});
  outside(0, {2}, {-1});
  outside(0, {2, 2}, {1});
  outside(0, {2}, {INT64_MAX});
  outside(0, {3, 3}, {INT64_MAX, INT64_MAX});
  outside(0, {INT64_MAX / 8}, {INT64_MAX / 8});
}

}  // namespace test_tensor
