// SPDX-License-Identifier: BSD-3-Clause
#include "common/mesh/gmsh_file.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/error.hpp"
#include "common/io/text.hpp"
#include "common/mesh/mesh_contact.hpp"

namespace plaquette {

namespace {

/// Numbers and lines of a file, text or binary, from front to back. Every member that finds something else than what is
/// expected throws.
class gmsh_scanner {
 public:
  gmsh_scanner(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  [[noreturn]] void refuse(const std::string& what) const { throw input_error(name_ + ": " + what); }

  bool binary = false, swapped = false;
  double version = 0.0;
  std::string section;  ///< for messages

  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  std::string_view line() {
    skip_blanks();
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view found(text_.data() + at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return trimmed(found);
  }
  void skip_to_end_of(const std::string& name) {
    const std::size_t found = text_.find("$End" + name, at_);
    if (found == std::string::npos) truncated("$End" + name);
    at_ = found + 4 + name.size();
  }
  void expect_end_of(const std::string& name) {
    const std::string_view found = line();
    if (found != "$End" + name)
      refuse("expected $End" + name + ", found " + (found.empty() ? "the end of the file" : quoted(found)));
  }
  /// A number in text whatever the file is.
  std::int64_t text_integer() { return parsed<std::int64_t>(token()); }
  double text_real() { return parsed<double>(token()); }
  void end_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ < text_.size()) ++at_;
  }

  /// In text: the numbers that follow, until end_of_record(), stand in one line.
  void begin_record() {
    if (binary) return;
    skip_blanks();
    record_end_ = std::min(text_.find('\n', at_), text_.size());
  }
  void end_of_record(const std::string& what) {
    if (binary) return;
    const std::size_t end = std::exchange(record_end_, std::string::npos);
    const std::string_view rest = trimmed(std::string_view(text_.data() + at_, end - at_));
    if (!rest.empty()) refuse(what + " has more numbers in its line than expected: " + quoted(rest));
  }

  /// The number of a physical group; where a group turns an entity round it is negative.
  int group() {
    const std::int64_t found = integer32();
    if (found == std::numeric_limits<std::int32_t>::min())
      refuse("expected numbers of physical groups below 2^31, found " + std::to_string(found));
    return static_cast<int>(found);
  }
  std::int64_t integer32() {
    if (binary) return raw<std::int32_t>();
    const std::int64_t found = text_integer();
    if (found < std::numeric_limits<std::int32_t>::min() || found > std::numeric_limits<std::int32_t>::max())
      refuse("expected a number of 32 bits in section " + section + ", found " + std::to_string(found));
    return found;
  }
  std::int64_t integer64() { return binary ? static_cast<std::int64_t>(raw<std::uint64_t>()) : text_integer(); }
  double real() { return binary ? raw<double>() : text_real(); }
  /// Returns a number of things that are still to come. Refuses more than the rest of the file holds at `bytes` each.
  std::int64_t count(std::int64_t number, std::int64_t bytes) const {
    const std::int64_t least = binary ? bytes : 2;
    if (number < 0 || number > static_cast<std::int64_t>(text_.size() - at_) / least + 1)
      refuse("section " + section + " claims " + std::to_string(number) + " entries, more than the file can hold");
    return number;
  }
  static std::string quoted(std::string_view text) {
    return "'" + one_line(text.substr(0, std::min<std::size_t>(text.size(), 40))) + "'";
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  [[noreturn]] void truncated(const std::string& expected) const {
    refuse("the file ends where " + expected + " is expected: it is truncated");
  }
  std::string_view token() {
    skip_blanks();
    const std::size_t begin = at_;
    if (record_end_ != std::string::npos && begin >= record_end_)
      refuse("a line of section " + section + " ends where a number is expected");
    while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
    if (begin == at_) truncated("a number of section " + section);
    return {text_.data() + begin, at_ - begin};
  }
  template <class Number>
  Number parsed(std::string_view text) const {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size())
      refuse("expected a number in section " + section + ", found " + quoted(text));
    return value;
  }
  template <class Number>
  Number raw() {
    std::array<char, sizeof(Number)> bytes{};
    if (text_.size() - at_ < bytes.size()) truncated("a number of section " + section);
    std::memcpy(bytes.data(), text_.data() + at_, bytes.size());
    at_ += bytes.size();
    if (swapped) std::ranges::reverse(bytes);
    return std::bit_cast<Number>(bytes);
  }

  std::string name_, text_;
  std::size_t at_ = 0, record_end_ = std::string::npos;
};

/// Kinds of elements by Gmsh's number: dimension, nodes; 0 nodes: unknown. (Gmsh reference manual, MSH file format)
struct element_kind {
  int dimension, nodes;
};
constexpr element_kind element_kinds[] = {{0, 0},  {1, 2},  {2, 3},  {2, 4},  {3, 4},  {3, 8},  {3, 6},  {3, 5},
                                          {1, 3},  {2, 6},  {2, 9},  {3, 10}, {3, 27}, {3, 18}, {3, 14}, {0, 1},
                                          {2, 8},  {3, 20}, {3, 15}, {3, 13}, {2, 9},  {2, 10}, {2, 12}, {2, 15},
                                          {2, 15}, {2, 21}, {1, 4},  {1, 5},  {1, 6},  {3, 20}, {3, 35}, {3, 56}};
constexpr std::int64_t line_kind = 1, triangle_kind = 2, tetrahedron_kind = 4;

/// What a file says, in its own numbers of nodes.
struct gmsh_contents {
  struct simplex {
    std::array<std::int64_t, 4> nodes;
    std::int64_t number;  ///< of the element
    std::int32_t entity;  ///< of the geometry
    std::int32_t groups;  ///< number in `group_sets`
  };
  std::vector<std::array<double, 3>> vertices;
  std::vector<std::int64_t> numbers;                         ///< of the nodes
  std::unordered_map<std::int64_t, std::int32_t> vertex_of;  ///< by the file's number
  std::array<std::vector<simplex>, 4> simplices;             ///< by dimension
  std::array<std::int64_t, 4> others{};                      ///< elements that are no straight simplex
  std::vector<group_set> group_sets{group_set{}};            ///< all that occur
  std::map<group_set, std::int32_t> number_of_groups{{group_set{}, 0}};
  std::map<std::pair<int, std::int64_t>, group_set> groups_of;  ///< of an entity (dimension, tag), version 4
  bool has_entities = false;
  std::map<std::pair<int, int>, std::string> names;
  std::set<std::int64_t> partitions;  ///< that elements of the highest dimension belong to, version 2
  struct periodic_link {
    int dimension;
    std::vector<std::pair<std::int64_t, std::int64_t>> nodes;
  };
  std::vector<periodic_link> periodic;

  std::int32_t number_of(const group_set& groups) {
    const auto [at, is_new] = number_of_groups.try_emplace(groups, static_cast<std::int32_t>(group_sets.size()));
    if (is_new) group_sets.push_back(groups);
    return at->second;
  }
};

/// A name from a file: UTF-8 stays, other bytes and what a terminal would act on become question marks.
std::string readable_name(std::string_view text) {
  std::string name;
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80U   ? 1
                               : first < 0xc2U ? 0
                               : first < 0xe0U ? 2
                               : first < 0xf0U ? 3
                               : first < 0xf5U ? 4
                                               : 0;
    bool good = length > 1 || (length == 1 && first >= 0x20U && first != 0x7fU);
    for (std::size_t k = 1; k < length; ++k) good = good && (byte(i + k) & 0xc0U) == 0x80U;
    // Longer forms of shorter codes, surrogates, control characters of Latin-1, and codes above 0x10ffff.
    good = good && !(first == 0xe0U && byte(i + 1) < 0xa0U) && !(first == 0xedU && byte(i + 1) > 0x9fU) &&
           !(first == 0xf0U && byte(i + 1) < 0x90U) && !(first == 0xf4U && byte(i + 1) > 0x8fU) &&
           !(first == 0xc2U && byte(i + 1) < 0xa0U);
    if (good)
      name += text.substr(i, length);
    else
      name += '?';
    i += good ? length : 1;
  }
  return name;
}

/// Reads one file of version 2 or 4 into `gmsh_contents`, a section a member.
class gmsh_parser {
 public:
  gmsh_parser(const byte_source& source, const stop_check& stop)
      : in_(source.name(), source.read_text(0, source.size())), pace_(stop) {}

  gmsh_contents read() {
    if (in_.at_end()) in_.refuse("expected a Gmsh file, found nothing");
    while (!in_.at_end()) {
      const std::string_view found = in_.line();
      if (found.size() < 2 || found[0] != '$')
        in_.refuse("expected the beginning of a section ($Name), found " + gmsh_scanner::quoted(found));
      const std::string name(found.substr(1));
      if (in_.version == 0.0 && name != "MeshFormat" && name != "Comments")
        in_.refuse("expected a Gmsh file that begins with $MeshFormat, found " + gmsh_scanner::quoted(found));
      in_.section = "$" + name;
      if (is_known(name) && !seen_.insert(name == "ParametricNodes" ? "Nodes" : name).second)
        in_.refuse("expected one section " + in_.section + ", found two");
      if (!read_section(name))
        in_.skip_to_end_of(name);
      else
        in_.expect_end_of(name);
    }
    if (in_.version == 0.0) in_.refuse("expected a section $MeshFormat, found none");
    if (contents_.vertices.empty()) in_.refuse("expected a section $Nodes with nodes, found none");
    return std::move(contents_);
  }
  gmsh_scanner& scanner() { return in_; }

 private:
  static bool is_known(const std::string& name) {
    constexpr std::array known{"PhysicalNames", "Entities", "Nodes", "ParametricNodes", "Elements", "Periodic"};
    return std::ranges::find(known, name) != known.end();
  }
  bool read_section(const std::string& name) {
    if (name == "MeshFormat")
      read_format();
    else if (name == "PhysicalNames")
      read_names();
    else if (name == "Entities" && in_.version >= 4.0)
      read_entities();
    else if (name == "Nodes" && in_.version >= 4.0)
      read_nodes_4();
    else if ((name == "Nodes" || name == "ParametricNodes") && in_.version < 4.0)
      read_nodes_2(name == "ParametricNodes");
    else if (name == "Elements")
      in_.version < 4.0 ? read_elements_2() : read_elements_4();
    else if (name == "Periodic")
      in_.version < 4.0 ? read_periodic_2() : read_periodic_4();
    else if (name == "PartitionedEntities")
      in_.refuse("expected a mesh of one part, found one that Gmsh has partitioned: save it whole");
    else
      return false;
    return true;
  }

  void read_format() {
    if (in_.version != 0.0) in_.refuse("expected one section $MeshFormat, found two");
    const double version = in_.text_real();
    const std::int64_t kind = in_.text_integer(), size = in_.text_integer();
    if (!((version >= 2.0 && version < 3.0) || (version >= 4.0 && version < 4.2)))
      in_.refuse("expected version 2.x, 4.0 or 4.1 of the format, found another");
    if ((kind != 0 && kind != 1) || size != 8)
      in_.refuse("expected text (0) or binary (1) with numbers of 8 bytes, found kind " + std::to_string(kind) +
                 " and size " + std::to_string(size));
    in_.end_line();
    in_.version = version;
    in_.binary = kind == 1;
    if (!in_.binary) return;
    const auto one = static_cast<std::uint32_t>(in_.integer32());
    if (one != 1U && one != 0x01000000U) in_.refuse("expected the number 1 that tells the byte order, found another");
    in_.swapped = one != 1U;
  }

  void read_names() {
    const std::int64_t names = in_.count(in_.text_integer(), 2);
    in_.end_line();
    for (std::int64_t i = 0; i < names; ++i) {
      const std::string_view found = in_.line();
      const std::size_t quote = found.find('"');
      const std::size_t end = found.rfind('"');
      const std::string_view numbers = trimmed(found.substr(0, quote == std::string_view::npos ? 0 : quote));
      const std::size_t blank = numbers.find_first_of(" \t");
      const std::int64_t dimension = integer_of(numbers.substr(0, blank)).value_or(-1);
      const std::int64_t tag = blank == std::string_view::npos ? 0 : integer_of(numbers.substr(blank)).value_or(0);
      if (quote == end || end + 1 != found.size() || dimension < 0 || dimension > 3 || tag < 1 ||
          tag > std::numeric_limits<std::int32_t>::max())
        in_.refuse("expected dimension, number and \"name\" of a physical group, found " + gmsh_scanner::quoted(found));
      const bool is_new = contents_.names
                              .try_emplace({static_cast<int>(dimension), static_cast<int>(tag)},
                                           readable_name(found.substr(quote + 1, end - quote - 1)))
                              .second;
      if (!is_new)
        in_.refuse("expected one name for group " + std::to_string(tag) + " of dimension " + std::to_string(dimension) +
                   ", found two");
    }
  }

  void read_entities() {
    contents_.has_entities = true;
    std::array<std::int64_t, 4> numbers{};
    for (auto& n : numbers) n = in_.integer64();
    for (int dimension = 0; dimension < 4; ++dimension)
      for (std::int64_t i = in_.count(numbers[static_cast<std::size_t>(dimension)], 20); i > 0; --i) {
        const std::int64_t tag = in_.integer32();
        for (int k = dimension == 0 && in_.version > 4.05 ? 3 : 6; k > 0; --k) in_.real();
        group_set groups;
        for (std::int64_t k = in_.count(in_.integer64(), 4); k > 0; --k) groups.add(std::abs(in_.group()));
        if (!contents_.groups_of.try_emplace({dimension, tag}, std::move(groups)).second)
          in_.refuse("expected each entity once, found entity " + std::to_string(tag) + " of dimension " +
                     std::to_string(dimension) + " twice");
        if (dimension > 0)
          for (std::int64_t k = in_.count(in_.integer64(), 4); k > 0; --k) in_.integer32();
      }
  }

  void add_node(std::int64_t number, const std::array<double, 3>& x) {
    pace_();
    for (const double value : x)
      if (!(std::abs(value) <= 1e90))
        in_.refuse("node " + std::to_string(number) + " has a coordinate that is not finite, or above 1e90");
    if (!contents_.vertex_of.emplace(number, static_cast<std::int32_t>(contents_.vertices.size())).second)
      in_.refuse("expected each node once, found node " + std::to_string(number) + " twice");
    if (contents_.vertices.size() >= std::numeric_limits<std::int32_t>::max())
      in_.refuse("expected fewer than 2^31 nodes, found more");
    contents_.vertices.push_back(x);
    contents_.numbers.push_back(number);
  }
  std::array<double, 3> three_reals() {
    std::array<double, 3> x{};
    for (double& value : x) value = in_.real();
    return x;
  }

  /// The number of a node or an element in version 2.
  std::int64_t number_2() { return in_.binary ? in_.integer32() : in_.text_integer(); }

  /// Parametric nodes have, after their coordinates, the entity that they lie on, and their parameters on a curve (1)
  /// or a surface (2). (GModelIO_MSH2.cpp of Gmsh)
  void read_nodes_2(bool are_parametric) {
    const std::int64_t nodes = in_.count(in_.text_integer(), 28);
    in_.end_line();
    for (std::int64_t i = 0; i < nodes; ++i) {
      in_.begin_record();
      const std::int64_t number = number_2();
      add_node(number, three_reals());
      if (are_parametric) {
        const std::int64_t dimension = in_.integer32();
        if (dimension < 0 || dimension > 3)
          in_.refuse("node " + std::to_string(number) + " lies on an entity of dimension " + std::to_string(dimension));
        in_.integer32();
        for (std::int64_t k = dimension == 3 ? 0 : dimension; k > 0; --k) in_.real();
      }
      in_.end_of_record("node " + std::to_string(number));
    }
  }

  /// A number of a node or an element of version 4.
  std::int64_t tag_4() { return in_.version > 4.05 ? in_.integer64() : in_.integer32(); }

  void read_nodes_4() {
    const std::int64_t blocks = in_.count(in_.integer64(), 20);
    const std::int64_t total = in_.integer64();
    if (in_.version > 4.05) in_.integer64(), in_.integer64();  // lowest and highest number
    std::vector<std::int64_t> numbers;
    for (std::int64_t b = 0; b < blocks; ++b) {
      std::int64_t dimension = in_.integer32(), entity = in_.integer32();
      if (in_.version < 4.05) std::swap(dimension, entity);
      const std::int64_t parametric = in_.integer32();
      const std::int64_t nodes = in_.count(in_.integer64(), 28);
      const std::int64_t parameters = parametric != 0 ? std::clamp<std::int64_t>(dimension, 0, 3) : 0;
      numbers.clear();
      if (in_.version > 4.05)
        for (std::int64_t i = 0; i < nodes; ++i) numbers.push_back(tag_4());
      for (std::int64_t i = 0; i < nodes; ++i) {
        const std::int64_t number = in_.version > 4.05 ? numbers[static_cast<std::size_t>(i)] : tag_4();
        add_node(number, three_reals());
        for (std::int64_t k = 0; k < parameters; ++k) in_.real();
      }
    }
    require_total(total, static_cast<std::int64_t>(contents_.vertices.size()), "nodes");
  }
  void require_total(std::int64_t claimed, std::int64_t found, const std::string& what) const {
    if (claimed != found)
      in_.refuse("section " + in_.section + " claims " + std::to_string(claimed) + " " + what + ", its blocks hold " +
                 std::to_string(found));
  }

  element_kind kind_of(std::int64_t number) const {
    if (number < 1 || number >= static_cast<std::int64_t>(std::size(element_kinds)))
      in_.refuse("expected elements of Gmsh's types 1 to 31, found type " + std::to_string(number));
    return element_kinds[number];
  }
  void add_element(std::int64_t type, const gmsh_contents::simplex& element, const std::vector<std::int64_t>& nodes) {
    pace_();
    const auto dimension = static_cast<std::size_t>(kind_of(type).dimension);
    if (type != line_kind && type != triangle_kind && type != tetrahedron_kind) {
      ++contents_.others[dimension];
      return;
    }
    gmsh_contents::simplex& added = contents_.simplices[dimension].emplace_back(element);
    std::ranges::copy(nodes, added.nodes.begin());
  }

  /// Tags of version 2: physical group, entity, number of partitions, the partitions (negative: of another's element).
  void read_tags_2(std::int64_t tags, gmsh_contents::simplex& element, int dimension) {
    for (std::int64_t k = 0, partitions = 0; k < tags; ++k) {
      const int tag = in_.group();
      if (k == 0 && tag < 0) in_.refuse("expected numbers of physical groups from 0, found " + std::to_string(tag));
      if (k == 0) element.groups = contents_.number_of(tag);
      if (k == 1) element.entity = tag;
      if (k == 2) partitions = tag;
      if (k == 3 && partitions > 0 && dimension >= partition_dimension_) {
        if (dimension > partition_dimension_) contents_.partitions.clear();
        partition_dimension_ = dimension;
        contents_.partitions.insert(tag);
      }
    }
  }

  void read_elements_2() {
    const std::int64_t elements = in_.count(in_.text_integer(), 8);
    in_.end_line();
    std::vector<std::int64_t> nodes;
    for (std::int64_t done = 0; done < elements;) {
      std::int64_t type = 0, block = 1, tags = 0;
      if (in_.binary) {
        type = in_.integer32();
        block = in_.count(in_.integer32(), 8);
        tags = in_.integer32();
        if (block < 1 || block > elements - done)
          in_.refuse("expected a block of 1 to " + std::to_string(elements - done) + " elements, found one of " +
                     std::to_string(block));
      }
      for (std::int64_t i = 0; i < block; ++i, ++done) {
        in_.begin_record();
        gmsh_contents::simplex element{{-1, -1, -1, -1}, number_2(), 0, 0};
        if (!in_.binary) {
          type = in_.text_integer();
          tags = in_.text_integer();
        }
        const element_kind kind = kind_of(type);
        read_tags_2(in_.count(tags, 4), element, kind.dimension);
        nodes.assign(static_cast<std::size_t>(kind.nodes), 0);
        for (auto& n : nodes) n = number_2();
        in_.end_of_record("element " + std::to_string(element.number));
        add_element(type, element, nodes);
      }
    }
  }

  void read_elements_4() {
    const std::int64_t blocks = in_.count(in_.integer64(), 20), total = in_.integer64();
    if (in_.version > 4.05) in_.integer64(), in_.integer64();
    std::int64_t done = 0;
    std::vector<std::int64_t> nodes;
    for (std::int64_t b = 0; b < blocks; ++b) {
      std::int64_t dimension = in_.integer32(), entity = in_.integer32();
      if (in_.version < 4.05) std::swap(dimension, entity);
      const std::int64_t type = in_.integer32();
      const std::int64_t elements = in_.count(in_.integer64(), 8);
      const element_kind kind = kind_of(type);
      if (kind.dimension != dimension)
        in_.refuse("elements of type " + std::to_string(type) + " are claimed to have dimension " +
                   std::to_string(dimension));
      std::int32_t groups = 0;
      if (contents_.has_entities) {
        const auto found = contents_.groups_of.find({static_cast<int>(dimension), entity});
        if (found == contents_.groups_of.end())
          in_.refuse("elements belong to entity " + std::to_string(entity) + " of dimension " +
                     std::to_string(dimension) + ", which $Entities does not list");
        groups = contents_.number_of(found->second);
      }
      for (std::int64_t i = 0; i < elements; ++i, ++done) {
        const gmsh_contents::simplex element{{-1, -1, -1, -1}, tag_4(), static_cast<std::int32_t>(entity), groups};
        nodes.assign(static_cast<std::size_t>(kind.nodes), 0);
        for (auto& n : nodes) n = tag_4();
        add_element(type, element, nodes);
      }
    }
    require_total(total, done, "elements");
  }

  int periodic_dimension() {
    const std::int64_t dimension = in_.integer32();
    if (dimension < 0 || dimension > 3)
      in_.refuse("expected a periodic entity of dimension 0 to 3, found " + std::to_string(dimension));
    return static_cast<int>(dimension);
  }

  /// Version 2 writes this section as text, in binary files too.
  void read_periodic_2() {
    const bool binary = in_.binary;
    in_.binary = false;
    const std::int64_t links = in_.count(in_.text_integer(), 2);
    for (std::int64_t i = 0; i < links; ++i) {
      gmsh_contents::periodic_link link{periodic_dimension(), {}};
      in_.text_integer();
      in_.text_integer();
      in_.end_line();
      std::string_view next = in_.line();
      if (next.starts_with("Affine")) next = in_.line();
      const auto pairs = integer_of(next);
      if (!pairs) in_.refuse("expected a number of periodic nodes, found " + gmsh_scanner::quoted(next));
      for (std::int64_t k = in_.count(*pairs, 2); k > 0; --k) {
        const std::int64_t node = in_.text_integer();
        link.nodes.emplace_back(node, in_.text_integer());
      }
      contents_.periodic.push_back(std::move(link));
    }
    in_.binary = binary;
  }

  void read_periodic_4() {
    const std::int64_t links = in_.count(in_.integer64(), 12);
    for (std::int64_t i = 0; i < links; ++i) {
      gmsh_contents::periodic_link link{0, {}};
      link.dimension = periodic_dimension();
      in_.integer32();
      in_.integer32();
      if (in_.version > 4.05)
        for (std::int64_t k = in_.count(in_.integer64(), 8); k > 0; --k) in_.real();
      std::int64_t pairs = 0;
      if (in_.version < 4.05 && !in_.binary) {
        in_.end_line();
        std::string_view next = in_.line();
        if (next.starts_with("Affine")) next = in_.line();
        const auto number = integer_of(next);
        if (!number) in_.refuse("expected a number of periodic nodes, found " + gmsh_scanner::quoted(next));
        pairs = *number;
      } else {
        pairs = in_.integer64();
        if (in_.version < 4.05 && pairs < 0) {  // minus the length of an affine map
          for (std::int64_t k = in_.count(-pairs, 8); k > 0; --k) in_.real();
          pairs = in_.integer64();
        }
      }
      for (std::int64_t k = in_.count(pairs, 8); k > 0; --k) {
        const std::int64_t node = tag_4();
        link.nodes.emplace_back(node, tag_4());
      }
      contents_.periodic.push_back(std::move(link));
    }
  }

  gmsh_scanner in_;
  paced_stop pace_;
  gmsh_contents contents_;
  std::set<std::string> seen_;
  int partition_dimension_ = 0;
};

std::int32_t vertex(const gmsh_contents& contents, const gmsh_scanner& in, std::int64_t node) {
  const auto found = contents.vertex_of.find(node);
  if (found == contents.vertex_of.end())
    in.refuse("a periodic side names node " + std::to_string(node) + ", which $Nodes does not list");
  return found->second;
}

int dimension_of(const gmsh_contents& contents, const gmsh_scanner& in, int only_dimension) {
  const auto number = [&](std::size_t d) { return contents.simplices[d].size(); };
  if (contents.others[2] + contents.others[3] > 0 && number(2) + number(3) == 0)
    in.refuse("expected tetrahedra or triangles with straight edges (order 1), found none and " +
              std::to_string(contents.others[2] + contents.others[3]) + " other elements");
  if (only_dimension == 3 && number(3) == 0)
    in.refuse("expected tetrahedra, found none and " + std::to_string(number(2)) + " triangles");
  if (only_dimension == 2 && (number(2) == 0 || number(3) > 0))
    in.refuse("expected triangles alone, found " + std::to_string(number(2)) + " and " + std::to_string(number(3)) +
              " tetrahedra");
  if (number(3) + number(2) == 0) in.refuse("expected tetrahedra or triangles, found none");
  const int dimension = number(3) > 0 || contents.others[3] > 0 ? 3 : 2;
  if (const std::int64_t others = contents.others[static_cast<std::size_t>(dimension)]; others > 0)
    in.refuse("expected straight " + std::string(dimension == 3 ? "tetrahedra" : "triangles") + " alone, found " +
              std::to_string(others) + " other elements");
  return dimension;
}

void require_flat(const simplex_mesh& mesh, const gmsh_scanner& in) {
  const double most = 1e-9 * extent_of(mesh);
  for (const auto& corners : mesh.elements)
    for (std::size_t c = 0; c < 3; ++c)
      if (const double z = mesh.vertices[static_cast<std::size_t>(corners[c])][2]; !(std::abs(z) <= most))
        in.refuse("expected tetrahedra, or triangles in the plane z = 0; found triangles alone with a corner at z = " +
                  short_number(z));
}

/// Version 2 lists an element once for each of its groups, with the same nodes and entity: it becomes one element.
void join_groups(gmsh_contents& contents, std::size_t dimension, paced_stop& pace) {
  auto& elements = contents.simplices[dimension];
  const auto groups_differ = [&elements](const gmsh_contents::simplex& e) { return e.groups != elements[0].groups; };
  if (contents.has_entities || std::ranges::none_of(elements, groups_differ)) return;
  using element_key = std::pair<std::array<std::int64_t, 4>, std::int32_t>;  // nodes, ascending, and entity
  std::vector<element_key> keys;
  for (const auto& e : elements) {
    auto& key = keys.emplace_back(e.nodes, e.entity);
    std::ranges::sort(key.first);
  }
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const element_key& {
    pace();
    return keys[i];
  });
  std::vector<bool> is_again(elements.size());
  for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
    if (keys[order[i]] != keys[order[first]]) {
      first = i;
      continue;
    }
    group_set groups = contents.group_sets[static_cast<std::size_t>(elements[order[first]].groups)];
    const std::size_t before = groups.tags.size();
    for (const int tag : contents.group_sets[static_cast<std::size_t>(elements[order[i]].groups)].tags) groups.add(tag);
    if (groups.tags.size() == before) continue;  // the same again: refused as an overlap later
    elements[order[first]].groups = contents.number_of(groups);
    is_again[order[i]] = true;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (!is_again[i]) elements[kept++] = elements[i];
  elements.resize(kept);
}

void require_whole(const gmsh_contents& contents, const gmsh_scanner& in) {
  if (contents.partitions.size() != 1) return;
  in.refuse("expected a whole mesh, found elements of partition " + std::to_string(*contents.partitions.begin()) +
            " alone: save the mesh whole");
}

void note_reversed(simplex_mesh& mesh) {
  std::int64_t reversed = 0;
  for (std::int64_t e = 0; e < mesh.size(); ++e) reversed += signed_volume(mesh, e) < 0.0 ? 1 : 0;
  if (reversed > 0)
    mesh.remarks.push_back(
        std::to_string(reversed) + " of " + std::to_string(mesh.size()) +
        (mesh.dimension == 3 ? " tetrahedra have a negative volume" : " triangles are listed clockwise") +
        ": their corners were put in the other order");
}

std::int32_t known_vertex(const gmsh_contents& contents, const gmsh_scanner& in, std::int64_t element,
                          std::int64_t node) {
  const auto found = contents.vertex_of.find(node);
  if (found == contents.vertex_of.end())
    in.refuse("element " + std::to_string(element) + " names node " + std::to_string(node) +
              ", which $Nodes does not list");
  return found->second;
}

}  // namespace

simplex_mesh read_gmsh(const byte_source& source, int only_dimension, const stop_check& stop) {
  paced_stop pace(stop);
  gmsh_parser parser(source, stop);
  gmsh_contents contents = parser.read();
  const gmsh_scanner& in = parser.scanner();
  simplex_mesh mesh;
  mesh.dimension = dimension_of(contents, in, only_dimension);
  require_whole(contents, in);
  const auto dimension = static_cast<std::size_t>(mesh.dimension);
  join_groups(contents, dimension, pace);
  mesh.vertices = contents.vertices;
  mesh.names = contents.names;
  mesh_naming naming{source.name(), contents.numbers, {}};
  std::map<std::int32_t, std::int16_t> material_number{{0, 0}};
  for (const auto& simplex : contents.simplices[dimension]) {
    pace();
    std::array<std::int32_t, 4> corners{-1, -1, -1, -1};
    for (std::size_t c = 0; c <= dimension; ++c)
      corners[c] = known_vertex(contents, in, simplex.number, simplex.nodes[c]);
    mesh.elements.push_back(corners);
    naming.elements.push_back(simplex.number);
    const auto [at, is_new] =
        material_number.try_emplace(simplex.groups, static_cast<std::int16_t>(mesh.material_tags.size()));
    if (is_new) {
      if (mesh.material_tags.size() > 32000) in.refuse("more than 32000 different groups of elements");
      mesh.material_tags.push_back(contents.group_sets[static_cast<std::size_t>(simplex.groups)]);
    }
    mesh.materials.push_back(at->second);
  }
  if (mesh.dimension == 2) require_flat(mesh, in);
  note_reversed(mesh);
  std::vector<tagged_face> tagged;
  for (const auto& simplex : contents.simplices[dimension - 1])
    for (const int tag : contents.group_sets[static_cast<std::size_t>(simplex.groups)].tags) {
      tagged_face face{{-1, -1, -1}, tag};
      for (std::size_t c = 0; c < dimension; ++c)
        face.corners[c] = known_vertex(contents, in, simplex.number, simplex.nodes[c]);
      tagged.push_back(face);
    }
  for (const auto& link : contents.periodic) {
    if (link.dimension != mesh.dimension - 1) continue;
    vertex_pairs pairs;
    for (const auto& [from, to] : link.nodes)
      if (pairs.try_emplace(vertex(contents, in, from), vertex(contents, in, to)).first->second !=
          vertex(contents, in, to))
        in.refuse("expected one counterpart of each periodic node, found two of node " + std::to_string(from));
    if (!pairs.empty()) mesh.periodic.push_back(std::move(pairs));
  }
  connect(mesh, tagged, naming, stop);
  require_apart(mesh, naming, stop);
  return mesh;
}

simplex_mesh read_gmsh(const std::string& path, int only_dimension, const stop_check& stop) {
  return read_gmsh(file_source(path), only_dimension, stop);
}

std::string gmsh_text(const simplex_mesh& mesh) {
  std::string text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n";
  if (!mesh.names.empty()) {
    text += "$PhysicalNames\n" + std::to_string(mesh.names.size()) + "\n";
    for (const auto& [group, name] : mesh.names)
      text += std::to_string(group.first) + " " + std::to_string(group.second) + " \"" + name + "\"\n";
    text += "$EndPhysicalNames\n";
  }
  text += "$Nodes\n" + std::to_string(mesh.vertices.size()) + "\n";
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    text += std::to_string(v + 1);
    for (const double x : mesh.vertices[v]) {
      std::array<char, 32> digits{};
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr;
      text.append(" ").append(digits.data(), end);
    }
    text += "\n";
  }
  std::int64_t number = 0;
  std::string elements;
  const auto add = [&](int type, int tag, const auto& corners, int count) {
    elements += std::to_string(++number) + " " + std::to_string(type) + " 2 " + std::to_string(tag) + " 1";
    for (int c = 0; c < count; ++c) elements += " " + std::to_string(corners[static_cast<std::size_t>(c)] + 1);
    elements += "\n";
  };
  const bool solid = mesh.dimension == 3;
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[e][static_cast<std::size_t>(f)];
      if (!link.is_boundary() || link.boundary <= 0) continue;
      std::array<std::int32_t, 3> corners{};
      for (std::size_t i = 0; i < static_cast<std::size_t>(mesh.dimension); ++i)
        corners[i] = mesh.elements[e][static_cast<std::size_t>(corners_of_face(mesh.dimension, f)[i])];
      for (const int tag : mesh.boundary_tags[static_cast<std::size_t>(link.boundary)].tags)
        add(solid ? 2 : 1, tag, corners, mesh.dimension);
    }
    auto corners = mesh.elements[e];
    if (signed_volume(mesh, static_cast<std::int64_t>(e)) < 0.0) std::swap(corners[0], corners[1]);
    auto tags = mesh.material_tags[static_cast<std::size_t>(mesh.materials[e])].tags;
    if (tags.empty()) tags = {0};
    for (const int tag : tags) add(solid ? 4 : 2, tag, corners, mesh.dimension + 1);
  }
  text += "$EndNodes\n$Elements\n" + std::to_string(number) + "\n" + elements + "$EndElements\n";
  if (mesh.periodic.empty()) return text;
  text += "$Periodic\n" + std::to_string(mesh.periodic.size()) + "\n";
  for (const vertex_pairs& pairs : mesh.periodic) {
    text += std::to_string(mesh.dimension - 1) + " 2 1\n" + std::to_string(pairs.size()) + "\n";
    for (const auto& [from, to] : pairs) text += std::to_string(from + 1) + " " + std::to_string(to + 1) + "\n";
  }
  text += "$EndPeriodic\n";
  return text;
}

}  // namespace plaquette
