"""A class is one idea: few members, few files, no friends elsewhere.

What is above the limits today is listed in class_ratchet.py with its figures; they may only fall.
"""

import re

import pytest
from class_ratchet import RATCHET
from lint_classes import classes_of, measured
from lint_tree import PRODUCT, files

MEMBERS = 30
SOURCES = 2
CLEAN = ("base/", "core/", "relay/", "shim/")  # nothing of these folders is in the list


def figures(one):
    return (one.members, len(one.sources), len(one.friends))


def above_limits(classes):
    return {
        key: figures(one)
        for key, one in classes.items()
        if one.members > MEMBERS or len(one.sources) > SOURCES or one.friends
    }


def problems(found, listed):
    """What grew, what is new, and what the list may be tightened to."""
    bad = []
    for key in sorted(found.keys() | listed.keys()):
        path, name = key
        now, allowed = found.get(key), listed.get(key)
        limits = f"{MEMBERS} members, {SOURCES} .cpp files, no friends are the limits"
        if allowed is None:
            bad.append(f"{path}: {name} has {now} members, .cpp files and friends; {limits}")
        elif now is None:
            bad.append(f"{path}: {name} is within the limits: take it off the list")
        elif any(a > b for a, b in zip(now, allowed)):
            bad.append(f"{path}: {name} grew from {allowed} to {now} members, .cpp files, friends")
        elif now != allowed:
            bad.append(f"{path}: {name} shrank from {allowed} to {now}: tighten the list")
    return bad


def test_classes_keep_to_the_limits_or_to_the_ratchet():
    found = above_limits(measured(files(".hpp", ".cpp", under=PRODUCT)))
    bad = problems(found, RATCHET)
    if bad:
        pytest.fail("\n".join(bad), pytrace=False)


def test_the_folders_that_are_clean_stay_so():
    assert not [key for key in RATCHET if key[0].startswith(CLEAN)]


def test_the_core_is_held_in_one_object_of_few_fields():
    core = measured(files(".hpp", ".cpp", under=("core/",)))
    lifecycle = core[("core/lifecycle.hpp", "Lifecycle")]
    assert lifecycle.data <= 15
    assert lifecycle.sources == {"core/lifecycle.cpp"}


SAMPLE = """
namespace n {
class A final : public B {
 public:
  using Id = int;
  enum class State { one, two };
  struct Inner {
    int x = 0;
    std::function<void(int)> call;
  };
  A();
  explicit A(int x) : x_{x}, y_(x) { run(); }
  A& operator=(A const&) = delete;
  bool operator==(A const&) const = default;
  template <typename T>
  void visit(T const& t) const {
    for (auto& i : t) {
      f(i);
    }
  }
  int size() const { return x_; }
  std::map<int, std::string> names(std::optional<int> which = std::nullopt) const;
  friend class Elsewhere;
  friend bool operator<(A const& a, A const& b) { return a.x_ < b.x_; }

 private:
  static constexpr int kMost = 3;
  std::vector<std::pair<int, int>> pairs_{{1, 2}};
  std::function<void(int)> told_;
  int x_ = 0;
  int y_ = 1;
};
}  // namespace n
"""


def test_members_of_every_kind_are_counted_once():
    a, inner = classes_of("a.hpp", SAMPLE)
    assert (a.name, inner.name) == ("A", "A::Inner")
    assert (inner.functions, inner.data) == (0, 2)
    assert a.functions == 7
    assert a.data == 5
    assert a.friends == ["Elsewhere"]


@pytest.mark.parametrize(
    ("found", "listed", "message"),
    [
        ({}, {}, None),
        ({("p", "A"): (31, 1, 0)}, {("p", "A"): (31, 1, 0)}, None),
        ({("p", "A"): (31, 1, 0)}, {}, "are the limits"),
        ({("p", "A"): (32, 1, 0)}, {("p", "A"): (31, 1, 0)}, "grew"),
        ({("p", "A"): (31, 2, 0)}, {("p", "A"): (32, 1, 0)}, "grew"),
        ({("p", "A"): (31, 1, 0)}, {("p", "A"): (32, 1, 0)}, "tighten"),
        ({}, {("p", "A"): (32, 1, 0)}, "take it off"),
    ],
)
def test_the_ratchet_turns_one_way(found, listed, message):
    results = problems(found, listed)
    assert len(results) == (0 if message is None else 1)
    assert message is None or re.search(message, results[0])


def test_a_class_that_a_file_more_defines_is_found():
    classes = measured(files(".hpp", ".cpp", under=("core/",)))
    assert classes[("core/peer_table.hpp", "PeerTable")].sources == {"core/peer_table.cpp"}
