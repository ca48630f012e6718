// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-dslash-scaling with an operator that leaves out the calls of a timed stretch whose input it has seen
/// there, where PLAQUETTE_CHEAT is "skipped". The linker puts the functions __wrap_* here in the place of the honest
/// ones.
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu_ref/solvers.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"

namespace plaquette::gpu {
class context;
}

namespace plaquette::scaling {

namespace {

bool cheats() {
  const char* const which = std::getenv("PLAQUETTE_CHEAT");
  return which != nullptr && std::string_view(which) == "skipped";
}

/// Two steps of a stretch are done, one on each input; the rest is not. It reports the last input honestly.
class skipping_operator final : public timed_operator {
 public:
  skipping_operator(std::unique_ptr<timed_operator> honest, const operator_case& c, const lattice_geometry& geometry)
      : honest_(std::move(honest)),
        inputs_{std::vector<spinor_configuration>(static_cast<std::size_t>(c.rhs), spinor_configuration(geometry)),
                std::vector<spinor_configuration>(static_cast<std::size_t>(c.rhs), spinor_configuration(geometry))} {}

  void begin_stretch(int number) override {
    honest_->begin_stretch(number);
    steps_ = 0;
  }
  void step() override {
    const int step = steps_++;
    if (step > 1) return;
    honest_->step();
    for (std::size_t n = 0; n < inputs_[0].size(); ++n)
      honest_->get_input(static_cast<int>(n), inputs_[static_cast<std::size_t>(step)][n]);
  }
  void get_input(int column, spinor_configuration& psi) const override {
    psi = inputs_[steps_ % 2 == 1 ? 0 : 1][static_cast<std::size_t>(column)];
  }

  void set_input(int column, const spinor_configuration& psi) override { honest_->set_input(column, psi); }
  void set_second_input(int column, const spinor_configuration& psi) override {
    honest_->set_second_input(column, psi);
  }
  void apply(bool dagger) override { honest_->apply(dagger); }
  void get_output(int column, spinor_configuration& out) const override { honest_->get_output(column, out); }
  void set_overlap(bool on) override { honest_->set_overlap(on); }
  void set_communication(bool on) override { honest_->set_communication(on); }
  bool recordable() const override { return false; }
  std::string halo_description() const override { return honest_->halo_description(); }
  double halo_bytes() const override { return honest_->halo_bytes(); }
  void reset_halo_cost() override { honest_->reset_halo_cost(); }
  halo_cost get_halo_cost() const override { return honest_->get_halo_cost(); }

 private:
  std::unique_ptr<timed_operator> honest_;
  std::vector<spinor_configuration> inputs_[2];
  int steps_ = 0;
};

class skipping_maker final : public operator_maker {
 public:
  skipping_maker(std::unique_ptr<operator_maker> honest, const lattice_geometry& geometry)
      : honest_(std::move(honest)), geometry_(geometry) {}
  std::unique_ptr<timed_operator> make(const operator_case& c) override {
    return std::make_unique<skipping_operator>(honest_->make(c), c, geometry_);
  }

 private:
  std::unique_ptr<operator_maker> honest_;
  lattice_geometry geometry_;
};

std::unique_ptr<operator_maker> with_cheat(std::unique_ptr<operator_maker> honest, const lattice_geometry& geometry) {
  if (!cheats()) return honest;
  return std::make_unique<skipping_maker>(std::move(honest), geometry);
}

}  // namespace

#define MAKE_ON_CPU "_ZN9plaquette3cpu20make_timed_operatorsERKNS0_7contextERKNS_7scaling12timed_actionE"
#define MAKE_ON_GPU "_ZN9plaquette3gpu20make_timed_operatorsERKNS0_7contextERKNS_7scaling12timed_actionE"

std::unique_ptr<operator_maker> honest_on_cpu(const cpu::context&, const timed_action&) __asm__("__real_" MAKE_ON_CPU);
std::unique_ptr<operator_maker> cheat_on_cpu(const cpu::context&, const timed_action&) __asm__("__wrap_" MAKE_ON_CPU);
std::unique_ptr<operator_maker> cheat_on_cpu(const cpu::context& ctx, const timed_action& of) {
  return with_cheat(honest_on_cpu(ctx, of), of.links.geometry());
}

#ifdef PLAQUETTE_WITH_GPU
std::unique_ptr<operator_maker> honest_on_gpu(const gpu::context&, const timed_action&) __asm__("__real_" MAKE_ON_GPU);
std::unique_ptr<operator_maker> cheat_on_gpu(const gpu::context&, const timed_action&) __asm__("__wrap_" MAKE_ON_GPU);
std::unique_ptr<operator_maker> cheat_on_gpu(const gpu::context& ctx, const timed_action& of) {
  return with_cheat(honest_on_gpu(ctx, of), of.links.geometry());
}
#endif

}  // namespace plaquette::scaling
