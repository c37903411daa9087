// The sizes of a model of any kind: a config with its rows.
#pragma once

#include <any>
#include <utility>

#include "models/row.hpp"

namespace glim {

class ModelSizes {
 public:
  template <class Config>
  requires requires(Config c) { c.rows(); }
  ModelSizes(Config config)
      : config_(std::move(config)),
        rows_([](std::any& c) { return std::any_cast<Config&>(c).rows(); }) {}

  // The rows of these sizes; a copy has its own.
  Rows rows() { return rows_(config_); }
  // std::bad_any_cast for sizes of another kind.
  template <class Config>
  const Config& as() const {
    return std::any_cast<const Config&>(config_);
  }

 private:
  std::any config_;
  Rows (*rows_)(std::any&);
};

}  // namespace glim
