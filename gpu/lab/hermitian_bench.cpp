// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Hermitian Wilson operator: H, or a step of Clenshaw's recurrence for its square. Each launch must give the bits
/// of variant 1 in a chain of applications.
///
///   kernel_bench hermitian PRECISION REALS [COLUMNS] [clenshaw] [lattice=XxYxZxT] [OPTION]...
///
/// Options: try=N tries the first N launches (default 1, the table's choice), show=N prints the fastest N (default 6).
/// launch=TEXT is part of their name, form=N is the kernel that was compiled, past stores past the caches.
#include <algorithm>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/dirac/hermitian_wilson.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu {
namespace {

struct request {
  extents lattice{};
  std::string precision, filter;
  int reals = 12, columns = 1, tries = 1, shown = 6, form = -1;
  bool clenshaw = false, past = false;
};

/// Returns the form of a launch's kernel, as launch_on_lattice numbers them (hermitian_kernels.hpp).
template <class T>
int form_of(const hermitian_launch& how, int columns) {
  constexpr int bytes = is_half<T> ? 2 : sizeof(real_of<T>);
  if (bytes == 8 && how.small) return 1;
  if (columns == 1) return 0;
  if (most_wide_threads(bytes) > most_threads(bytes) && how.wide(bytes)) return 4;
  return how.groups == 1 ? 2 : 3;
}

/// H there and back, or a step of Clenshaw's recurrence for the squared operator.
template <class T>
class work {
 public:
  work(const context& ctx, const request& r)
      : h_(ctx, random_configuration(ctx, 11), fermion_action::isotropic(-1.4, 0.0), static_cast<reconstruct>(r.reals)),
        psi_(ctx, {spins, colours, site_subset::full, r.columns}),
        x_(like(psi_)),
        y_(like(psi_)),
        z_(like(psi_)),
        clenshaw_(r.clenshaw) {
    random_spinors(psi_, 12);
    restart();
  }
  hermitian_wilson<T>& h() { return h_; }
  void set(const hermitian_launch& how) { h_.set_launch(how); }
  void restart() {
    copy(x_, psi_), copy(y_, psi_), copy(z_, psi_);
    next_ = 0;
  }
  const field<T>& result() const { return x_; }

  /// Two applications of H. Numbers keep their size: |H| is below 8, and typically 3.
  void step() {
    if (!clenshaw_) {
      h_.apply(y_, 0.33, x_, 0.0, nullptr, 0.0, nullptr);
      h_.apply(x_, 0.33, y_, 0.0, nullptr, 0.0, nullptr);
      return;
    }
    // b_new = 4 / (1 - eps) (Q - s)(Q + s) b_1 + c psi - b_2, where b_new takes the place of b_2; smaller by 0.7.
    field<T>&b1 = next_ == 0 ? x_ : z_, &b2 = next_ == 0 ? z_ : x_;
    const double top = 1.0 / 6.6, s = 0.71;
    h_.apply(y_, top, b1, s, 0.0, nullptr, 0.0, nullptr);
    h_.apply(b2, 2.0 * top, y_, -2.0 * s, 0.3, &psi_, -0.6, &b2);
    next_ = 1 - next_;
  }
  double flops() const { return 2.0 * h_.flops_per_site(); }
  double bytes(int columns) const {
    return h_.bytes_per_site(columns, 0) + h_.bytes_per_site(columns, clenshaw_ ? 2 : 0);
  }

 private:
  hermitian_wilson<T> h_;
  field<T> psi_, x_, y_, z_;
  bool clenshaw_;
  int next_ = 0;
};

template <class T>
void measure_operator(const context& ctx, const request& r, lab::bench_report& report) {
  const int columns = r.columns;
  work<T> w(ctx, r);
  constexpr int chain = 4;
  w.set({});
  for (int k = 0; k < chain; ++k) w.step();
  auto expected = like(w.result());
  copy(expected, w.result());

  auto list = hermitian_candidates(w.h().hopping().problem(columns, false), 2000);
  const hermitian_launch table = list[0];
  std::erase_if(list, [&](const auto& how) {
    const std::string name = how.name();
    return name.find(r.filter) == std::string::npos || (r.form >= 0 && form_of<T>(how, columns) != r.form);
  });
  if (r.past)
    for (auto& how : list) how.past_caches = true;
  if (static_cast<int>(list.size()) > r.tries) list.resize(static_cast<std::size_t>(r.tries));
  if (list.empty())
    throw input_error("kernel_bench hermitian: no launch of this shape has the kernel that was compiled");
  list.push_back({});
  const double sites = static_cast<double>(volume(r.lattice));
  const std::string what = to_string(r.lattice) + " " + r.precision + " " + std::to_string(r.reals);
  const auto print = [&](double seconds, double difference, const hermitian_launch& how) {
    // Of one application; the same bits are wanted.
    report.add({r.clenshaw ? "clenshaw" : "H", what + ": " + how.name(), columns, 0.5 * seconds,
                0.5 * w.bytes(columns) * sites * columns, 0.5 * w.flops() * sites * columns, difference, 0.0});
  };
  const auto trials = lab::try_launches(ctx.queue(), w, list, expected, chain, 1e-3);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto& o = trials[i];
    if (static_cast<int>(i) < r.shown || o.how == table || o.difference != 0.0 || o.how.gather)
      print(o.seconds, o.difference, o.how);
  }
}

}  // namespace

int lab::bench_hermitian(const bench_words& words) {
  request r;
  r.lattice = parse_extents(words.named("lattice", "32x32x32x64"), "lattice");
  r.precision = words.word(0, "PRECISION");
  r.reals = words.number(1, "REALS");
  r.columns = words.number_or(2, 1);
  r.clenshaw = words.has("clenshaw");
  r.past = words.has("past");
  r.tries = words.named("try", 1);
  r.shown = words.named("show", 6);
  r.form = words.named("form", 1000) == 1000 ? -1 : words.named("form", 0);
  r.filter = words.named("launch", "");
  const context ctx(lattice_geometry(r.lattice), communicator());
  bench_report report(ctx.queue(), words);
  in_precision("hermitian", r.precision, [&]<class T>(std::type_identity<T>) { measure_operator<T>(ctx, r, report); });
  return report.finish();
}

}  // namespace plaquette::gpu
