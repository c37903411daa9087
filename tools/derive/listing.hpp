// A trace as lines: which values get a name and which are written where they are read, in which part of the pass each
// line is, and which layers do the same and are written once.
//
// A value has a line of its own if its module named it, if it is read twice, or if what it is made of is long. A loop
// stands for equal layers: their lines differ in nothing but the layer's number, in values of the layer itself, and in
// values that the layer before hands on (carried).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/derive/trace.hpp"

namespace glim::derive {

struct
    Home {  // where in the model: layer `number` of `stack`, "decoder.layers"; none: an empty stack
  std::string stack, local;  // what of the path is below the layer; or the whole path
  int number = -1;
  // "self_attn" of "self_attn.out_proj.matmul".
  std::string module() const {
    const std::size_t dot = local.find('.');
    return dot == std::string::npos ? "" : local.substr(0, dot);
  }
  bool operator==(const Home& h) const { return stack == h.stack && number == h.number; }
};
Home home_of(const std::string& path);

struct Carry {
  std::string name;
  std::size_t line;  // of a layer, whose value the next layer reads
  int before;        // value that the first layer reads
  std::string port;  // where a layer keeps what it was handed, if backward reads it
};

// Lines of one layer, of several that are equal, or of what is between layers.
struct Part {
  std::string stack;
  std::vector<int> layers;  // in the order in which they run
  bool backward = false;
  std::vector<std::vector<int>> values;  // of each layer: those with a line
  std::vector<Carry> carries = {};
  // Values that the first layer reads from elsewhere, whose text follows the layer's number.
  std::set<int> locals = {};                // parameters and constants of the layer
  std::set<int> kept = {};                  // values of the forward pass's layer
  std::map<int, std::size_t> carried = {};  // -> number of the carry
  std::map<int, std::string> ports = {};    // -> carry of the forward pass
  bool loop() const { return layers.size() > 1; }
};

class Listing {
 public:
  // With `each_op` every op of the forward pass has a line, but for views.
  explicit Listing(Trace trace, bool each_op = false);
  const Trace& trace() const { return trace_; }
  const std::vector<Part>& parts() const { return parts_; }
  bool has_line(int v) const { return line_[static_cast<std::size_t>(v)]; }
  bool stored(int v) const {
    return stored_.contains(v);
  }  // read outside the layer that computes it
  const std::string& name(int v) const { return names_.at(v); }
  // The parameters whose gradient it is.
  const std::vector<int>& targets(int v) const;
  int part_of(int v) const { return part_of_.at(v); }
  // Where in its part it is: layer and line.
  std::pair<std::size_t, std::size_t> place_of(int v) const { return place_.at(v); }
  // The forward value whose gradient it is, or -1.
  int gradient_of(int v) const {
    const auto found = gradient_of_.find(v);
    return found == gradient_of_.end() ? -1 : found->second;
  }
  // The line in which a forward value is written: its own, or that of its reader.
  int line_of(int v) const;
  // How often values of the forward pass read it.
  const std::vector<int>& users(int v) const { return users_[static_cast<std::size_t>(v)]; }
  // True for a value of the last layer that a loop hands on: its variable has it afterwards.
  bool handed_on(const Part& loop, int v) const;

 private:
  void start_sums_at_zero();
  void choose_lines();
  void make_parts();
  bool fold(Part& all);
  const Part* forward_of(const Part& backward) const;
  void keep_ports(const Part& backward);
  void name_all();
  Home home(int v) const;
  void name_gradients();
  void name_forward();
  // Before others of that name; `within` a loop, or with the whole path.
  std::string own_name(int v, bool within) const;
  void signature(int v, bool root, std::string& text, std::vector<int>& refs) const;

  Trace trace_;
  bool each_op_;
  std::vector<int> order_;
  std::vector<bool> live_, line_;
  std::vector<std::vector<int>> users_;
  std::map<int, std::vector<int>> targets_;
  std::map<int, int> gradient_of_;
  std::vector<Part> parts_;
  std::map<int, int> part_of_;
  std::map<int, std::pair<std::size_t, std::size_t>> place_;
  std::set<int> stored_;
  std::map<int, std::string> names_, suffixes_;
};

// The op shows its input's elements in another shape.
bool is_view(const std::string& op);
// "decoder_layers" for "decoder.layers": a path as an identifier; "sum_" for a name that programs have already.
std::string identifier(std::string path);

}  // namespace glim::derive
