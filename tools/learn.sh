# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Chapters of docs/book and ladders: lists them, or builds, tests and times one. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette

# Lists the chapters with their titles, and how to run them.
learn_list() {
  local number file ladder rung title
  say "Chapters (./plaquette learn NUMBER):"
  while read -r number file ladder rung; do
    [[ $number =~ ^[0-9]+$ ]] || continue
    title=$(sed -n '1s/^# *//p' "$root/docs/book/$file")
    case "$ladder ${rung:-0}" in
      '- 0') rung="read it: docs/book/$file" ;;
      *' 0') rung="ladder $ladder" ;;
      *) rung="ladder $ladder, rung $rung" ;;
    esac
    printf '  %-32s %s\n' "$title" "$rung"
  done <"$root/docs/book/chapters.txt"
  say
  say "Ladders (./plaquette learn LADDER [RUNG]): $(learn_ladders)"
  learn_notebook
  say "All pages as a site that reads offline (./plaquette learn book): needs python3-sphinx, python3-myst-parser and furo"
  say "A picture that moves (./plaquette learn wave): docs/book/discontinuous-galerkin.md"
  say
  learn_exercises
}

learn_ladders() {
  local folder names=()
  for folder in "$root"/ladder/*/; do names+=("$(basename "$folder")"); done
  say "${names[*]}"
}

# Lists the exercises that have patches.
learn_exercises() {
  local number name chapter rest
  say "Exercises with a common mistake and a solution (./plaquette learn exercise NUMBER):"
  while read -r number name chapter rest; do
    [[ ! $number =~ ^[0-9]+$ ]] || printf '  %s  %-14s docs/book/%s\n' "$number" "$name" "$chapter"
  done <"$root/docs/book/exercises/exercises.txt"
}

# learn_exercise [NUMBER]   Builds the mistake and the solution next to the program: the test must fail, then pass.
learn_exercise() {
  local number name chapter target rest
  if [[ $# -eq 0 ]]; then learn_exercises; return; fi
  read -r number name chapter target rest <<<"$(grep -E "^${1//[^0-9]/x} " "$root/docs/book/exercises/exercises.txt")"
  [[ -n $target ]] || fail "learn: there is no exercise $1; ./plaquette learn exercise lists them"
  preset=$(choose_preset)
  configure_once
  compile "$target"
  python3 -B "$root/tools/exercise.py" "$(build_folder)" "$root/out/exercise" "$number"
}

# learn_notebook [NAME]   Lists notebooks; makes one of its text (docs/book/notebooks) and runs it once as a program.
learn_notebook() {
  local source=$root/docs/book/notebooks/${1-}.py out=$root/out/book python
  if [[ $# -eq 0 ]]; then
    say "Notebooks (./plaquette learn notebook NAME): $(cd "$root/docs/book/notebooks" && printf '%s ' *.py | sed 's/\.py//g')"
    return
  fi
  [[ -e $source ]] || fail "learn: there is no notebook '$1'; ./plaquette learn notebook lists them"
  python=$(python_with numpy) || fail "learn notebook: Python has no numpy here"
  preset=$(choose_preset)
  configure_once
  compile plaquette_c
  mkdir -p "$out"
  PLAQUETTE_LIBRARY=$(build_folder)/bindings/libplaquette_c.so
  export PLAQUETTE_LIBRARY PYTHONPATH=$root/bindings/python PLAQUETTE_CONFIGURATION=$root/data/beta6.0_6x6x6x12.nersc
  say
  "$python" -B "$source"
  "$python" "$root/tools/notebook.py" "$source" "$out/$1.ipynb"
  say "NOTEBOOK   $out/$1.ipynb   (PYTHONPATH=$PYTHONPATH PLAQUETTE_LIBRARY=$PLAQUETTE_LIBRARY jupyter notebook ...)"
}

# learn_wave   Draws a wave between conducting walls as a picture that moves: 15 runs of nodal-dg, each to a later time.
learn_wave() {
  local out=$root/out/book frame planes=()
  python_with matplotlib PIL >/dev/null || fail "learn wave: Python has no matplotlib here"
  preset=$(choose_preset)
  configure_once
  compile plaquette-nodal-dg
  mkdir -p "$out"
  for ((frame = 1; frame <= 15; ++frame)); do
    planes+=("$out/wave-$frame.txt")
    "$(program nodal-dg)" --equations maxwell-tm --box 12x12 --order 5 --problem pulse --pulse-start=-9 \
      --sources=-0.3,0.2,0,2,1,1.2,0.8 --final-time $((frame / 5)).$((frame % 5 * 2)) --plane "${planes[-1]}" --plane-at z,0,160 \
      --force >"$out/wave.log" || fail "learn wave: a run failed its checks; see $out/wave.log"
  done
  plot dg_wave.py "${planes[@]}" --last-time 3 --output "$out/wave.webp" --force >/dev/null
  rm "${planes[@]}"
  say "PICTURE    $out/wave.webp"
}

# learn_book   Makes a site of all pages, out/book/html, and of public headers, out/book/headers. It reads offline.
learn_book() {
  local python module missing=() pages=$root/out/book/html
  for module in sphinx:python3-sphinx myst_parser:python3-myst-parser furo:furo; do
    python_with "${module%%:*}" >/dev/null || missing+=("${module#*:}")
  done
  python=$(python_with sphinx myst_parser furo) ||
    fail "learn book: one Python lacks ${missing[*]:-one of python3-sphinx, python3-myst-parser and furo}: apt-get install" \
      "--no-install-recommends ${missing[*]:-python3-sphinx python3-myst-parser furo} (docs/book reads as plain text too)"
  "$python" -B "$root/tools/book.py" "$root/out/book" || fail "learn book: Sphinx found faults, which stand above"
  say "BOOK       $pages/index.html"
  if has command:doxygen; then
    (cd "$root" && { cat docs/Doxyfile; printf '%s\n' "OUTPUT_DIRECTORY = $root/out/book" "HTML_OUTPUT = headers"; } | doxygen -)
    say "HEADERS    $root/out/book/headers/index.html"
  else
    say "no headers  doxygen was not found (Debian: doxygen); with it come pages of the public headers"
  fi
}

# learn [CHAPTER | LADDER [RUNG]] [--size nano|small|reference], or learn wave, book, notebook [NAME] or exercise [NUMBER]
learn() {
  if [[ ${1-} == notebook && $# -le 2 ]]; then
    shift
    learn_notebook "$@"
    return
  fi
  if [[ ${1-} == wave || ${1-} == book ]] && [[ $# -eq 1 ]]; then "learn_$1"; return; fi
  if [[ ${1-} == exercise ]]; then
    shift
    learn_exercise "$@"
    return
  fi
  local words=() size=small ladder rung=0 file='' status=0 number line driver=plaquette-ladder
  while [[ $# -gt 0 ]]; do
    case $1 in
      --size) size=${2-}; shift 2 || shift ;;
      -*) fail "learn: unknown argument '$1'; ./plaquette help lists them" ;;
      *) words+=("$1"); shift ;;
    esac
  done
  case $size in
    nano | small | reference) ;;
    *) fail "learn: --size is nano, small or reference, got '$size'" ;;
  esac
  if [[ ${#words[@]} -eq 0 ]]; then learn_list; return; fi
  ladder=${words[0]}
  if [[ $ladder =~ ^[0-9]+$ ]]; then
    line=$(grep -E "^$ladder " "$root/docs/book/chapters.txt") ||
      fail "learn: there is no chapter $ladder; ./plaquette learn lists them"
    [[ ${#words[@]} -eq 1 ]] || fail "learn: a chapter has no '${words[1]}'; a ladder has rungs: ./plaquette learn LADDER RUNG"
    read -r number file ladder rung <<<"$line"
    say "chapter $number   docs/book/$file"
    if [[ $ladder == - ]]; then say "no ladder   the chapter has the commands to run"; return; fi
  else
    [[ -d $root/ladder/$ladder ]] || fail "learn: there is no ladder '$ladder'; there are: $(learn_ladders)"
    rung=${words[1]-0}
    [[ $rung =~ ^[0-9]+$ ]] || fail "learn: RUNG is a number, got '$rung'"
  fi
  preset=$(choose_preset)
  if [[ $ladder == *-gpu ]]; then
    has_nvcc || fail "learn: $ladder needs nvcc and a GPU; without, ./plaquette test gpu-host runs its rungs as loops of the host"
    preset=${PLAQUETTE_PRESET:-cuda} driver=plaquette-ladder-gpu
  fi
  configure_once
  compile "$(basename "$driver")"
  local out=$root/out/book name=$ladder
  [[ $rung == 0 ]] || name=$ladder-$rung
  mkdir -p "$out"
  local arguments=("$ladder" --size "$size" --table "$out/$name.md")
  [[ $rung == 0 ]] || arguments+=(--rung "$rung")
  say
  "$(build_folder)/ladder/$driver" "${arguments[@]}" || status=$?
  [[ $status -le 1 ]] || return "$status"
  say "ROWS       $out/$name.md"
  if python_with matplotlib >/dev/null; then
    plot ladder.py "$out/$name.md" --output "$out/$name.png" && say "PICTURE    $out/$name.png"
  else
    say "no picture  Python has no matplotlib here"
  fi
  return "$status"
}
