// Gradient-check specifications, run by the tests and by `glim gradcheck`.
//
// Its parts
//   spec.hpp        a Spec: one op on one set of inputs. One source file per family, after the file
//                   of the same name in autograd/ops.
//   variations.cpp  the variations of each Spec: inputs as transposed, cut or expanded views,
//                   one value used twice, each subset of the inputs needing gradients, a zero
//                   upstream gradient, a projection, the gradient of the gradient, and, for fused
//                   ops, the composition that the kernel has to equal.
//   op_specs.cpp    the list of families, and run().
//
// To add an op: a line in the file of its family. A test goes through registered_ops() and fails
// when one has no Spec.
//
// To add a layer or a model: a line in the file of its family (module_cases.hpp). Wrong ops, with which the checker
// is tested, do not belong here but in tests/autograd.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck/gradcheck.hpp"

namespace glim {

enum class CaseStatus { Pass, Fail, Undecided };
std::string_view name_of(CaseStatus status);  // "pass", "FAIL", "UNDECIDED"

struct Case {
  std::string family, op, name;
  std::function<GradcheckReport()> check;
  bool kinks = false;  // some derivative may be undecidable by design
};

struct CaseResult {
  std::string family, op, name;
  CaseStatus status = CaseStatus::Fail;
  bool kinks = false;
  Index checked = 0, undecidable = 0, low_precision = 0;  // derivatives
  std::string why;                                        // of low precision
  decltype(GradcheckEntry::by_decade) by_decade{};
  double worst = 0;    // largest |analytic - numeric|, where it was nearest to
  double excess = 0;   // its tolerance: above 1 is wrong
  std::string detail;  // the whole report, or the exception
};

// Every variation of every op. In float32 the checks compare with float64 and are fewer.
std::vector<Case> op_cases(DType dtype = DType::Float64);
// Every layer and loss of nn/ (layers.cpp).
std::vector<Case> layer_cases();
// Whole small models in their variants (models.cpp, language_models.cpp, recurrent_models.cpp).
std::vector<Case> model_cases();
void append_language_models(std::vector<Case>& cases);
void append_vision_models(std::vector<Case>& cases);
void append_recurrent_models(std::vector<Case>& cases);
// Copying, guided attention, non-autoregressive models (variants.cpp); part of model_cases.
void append_variants(std::vector<Case>& cases);
// Runs one case; exceptions become failures.
CaseResult run(const Case& c);

}  // namespace glim
